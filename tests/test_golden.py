"""A golden that no test reads fails a run of all tests of its folder, in one process and in several."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEST = """\
def test_{name}(golden):
    golden("{name}", "said\\n")
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", *arguments)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tests in two files, and their two goldens."""
    goldens = tmp_path / "tests" / "room" / "golden"
    goldens.mkdir(parents=True)
    for name in ("conftest.py", "earlier_run.py"):
        shutil.copy(Path(__file__).with_name(name), tmp_path / "tests")
    for name in ("one", "two"):
        (goldens / f"{name}.txt").write_text("said\n")
        (goldens.parent / f"test_{name}.py").write_text(TEST.format(name=name))
    return tmp_path


@pytest.mark.slow
def test_a_golden_that_no_test_reads(folder: Path) -> None:
    assert run(folder).returncode == 0
    orphan(folder)
    require_told(run(folder))
    assert run(folder, "-k", "one").returncode == 0


@pytest.mark.slow
def test_what_two_workers_read_is_put_together(folder: Path) -> None:
    pytest.importorskip("xdist", reason="needs pytest-xdist: pip install 'target-arch[test]'")
    orphan(folder)
    require_told(run(folder, "-n", "2"))


@pytest.mark.slow
def test_a_later_run_leaves_out_the_tests_that_passed(folder: Path) -> None:
    assert run(folder, "-k", "one", "--record=earlier.json").returncode == 0
    done = run(folder, "--after=earlier.json")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True)
    orphan(folder)
    require_told(run(folder, "--after=earlier.json"), passed=1)


def orphan(folder: Path) -> None:
    (folder / "tests" / "room" / "golden" / "three.txt").write_text("said\n")


def require_told(done: subprocess.CompletedProcess[str], passed: int = 2) -> None:
    assert done.returncode == 1
    assert "goldens that no test reads" in done.stdout
    assert [line for line in done.stdout.splitlines() if "golden/" in line] == ["tests/room/golden/three.txt"]
    assert f"{passed} passed" in done.stdout
