"""`new-operator` writes a package that passes its own tests at once, installed and from its folder."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands.test_describe import call
from tests.cli.commands.test_new_backend import REPOSITORY, python


@pytest.fixture
def project(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    folder = tmp_path / "echo"
    assert call(capsys, "new-operator", "echo", "-o", str(folder)) == (
        0,
        f"{folder}: an operator that works; read {folder}/README.md\n"
        f"its tests: python -m pytest {folder}/tests\n"
        f"use it: --backend-dir {folder}/src, or pip install {folder}\n",
        "",
    )
    return folder


def test_what_is_written(project: Path) -> None:
    written = {path.relative_to(project).as_posix(): path for path in project.rglob("*") if path.is_file()}
    assert sorted(written) == [
        "README.md",
        "pyproject.toml",
        "src/operators/echo/__init__.py",
        "tests/test_echo.py",
    ]
    assert not any("my_operator" in path.read_text() for path in written.values())


@pytest.mark.long
def test_its_own_tests_pass_from_its_folder_and_installed(
    project: Path, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """Without a network, and without a place in this environment: into a folder on the path."""
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'target-arch[torch]'")
    needs_tool("cc")
    tests = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(project / "tests"))
    assert "3 passed" in python(*tests)
    site = tmp_path / "site"
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    python("-m", "pip", "install", *options, "--target", str(site), str(project))
    path = os.pathsep.join((str(site), str(REPOSITORY)))
    assert "3 passed" in python(*tests, PYTHONPATH=path)


def test_a_name_that_it_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = call(capsys, "new-operator", "json", "-o", str(tmp_path / "out"))
    assert (code, err) == (
        2,
        "command line: error: `json` means something else to Python [bad-name]\nhint: name another\n",
    )
