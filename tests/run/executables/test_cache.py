"""The shared folder of builds: entries in use stay, others are removed when they are old."""

import os
import time
from pathlib import Path

import pytest

from target_arch.run.executables.cache import KEPT_DAYS, remove_unused, use

ROOT = Path(__file__).parents[3]


def aged(path: Path, days: float) -> Path:
    then = time.time() - days * 24 * 3600
    os.utime(path, (then, then))
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with an old object with its part, an old folder, and a new object."""
    for name in ("old.o", "old.ci", "new.o"):
        (tmp_path / name).write_text(name)
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "model.o").write_text("")
    for name in ("old.o", "old.ci", "engine"):
        aged(tmp_path / name, KEPT_DAYS + 1)
    aged(tmp_path / "new.o", KEPT_DAYS - 1)
    return tmp_path


def test_what_no_build_used_for_some_time_is_removed(old: Path) -> None:
    remove_unused(old)
    assert [path.name for path in old.iterdir()] == ["new.o"]


def test_an_entry_that_was_used_again_stays_with_its_parts(old: Path) -> None:
    assert use(old / "old.o", old / "old.ci", old / "missing.ci")
    assert use(old / "engine")
    remove_unused(old)
    assert {path.name for path in old.iterdir()} == {"old.o", "old.ci", "engine", "new.o"}


def test_an_entry_that_is_not_there_is_not_used(tmp_path: Path) -> None:
    assert not use(tmp_path / "new.o")


def test_the_documented_age_is_the_one_that_counts() -> None:
    assert f"no build used for {KEPT_DAYS} days" in (ROOT / "docs" / "manifest.md").read_text()
