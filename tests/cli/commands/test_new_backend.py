"""`new-backend` writes a package that passes its own tests at once, installed and from its folder."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli.arguments.backend_starts import BACKEND_STARTS
from target_arch.cli.commands.new_package import files
from tests.cli.commands.test_describe import call

REPOSITORY = Path(__file__).parents[3]


def python(*arguments: str, **environment: str) -> str:
    """What Python prints; the test fails where it does not exit with 0."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def project(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    folder = tmp_path / "vecunit"
    assert call(capsys, "new-backend", "vecunit", "-o", str(folder)) == (
        0,
        f"{folder}: a backend that works; read {folder}/README.md\n"
        f"its tests: python -m pytest {folder}/tests\n"
        f"use it: --backend-dir {folder}/src, or pip install {folder}\n",
        "",
    )
    return folder


@pytest.mark.parametrize(("start", "more"), [("relu", []), ("conv2d", ["src/vecunit/layer.py"])])
def test_what_is_written(start: str, more: list[str]) -> None:
    written = files("vecunit", BACKEND_STARTS[start])
    assert sorted(written) == sorted(
        [
            "README.md",
            "pyproject.toml",
            "src/vecunit/__init__.py",
            "src/vecunit/driver.c",
            "src/vecunit/simulator.c",
            "src/vecunit/vecunit.h",
            "tests/test_vecunit.py",
            "vecunit_chip.toml",
            *more,
        ]
    )
    example = BACKEND_STARTS[start]
    assert not any(example in text or example.upper() in text for text in written.values())


def test_it_is_used_from_its_folder(
    project: Path, capsys: pytest.CaptureFixture[str], needs_tool: Callable[[str], str]
) -> None:
    """With the SoC file that it brings, and with none."""
    needs_tool("cc")
    source = ("--backend-dir", str(project / "src"))
    assert call(capsys, "check", str(project / "vecunit_chip.toml"), *source)[:2] == (
        0,
        "vecunit_chip: ok (2 instances of host_cpu, vecunit; 2 memories, 2 copy paths)\n",
    )
    code, out, _ = call(capsys, "show", "--target", "c", "--target", "vecunit,sram=4KiB,lanes=16", *source)
    assert code == 0
    assert "options = { lanes = 16 }" in out


@pytest.mark.slow
def test_its_own_tests_pass_where_it_is_installed(
    project: Path, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """Without a network, and without a place in this environment: into a folder on the path."""
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    site = tmp_path / "site"
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    python("-m", "pip", "install", *options, "--target", str(site), str(project))
    path = os.pathsep.join((str(site), str(REPOSITORY)))
    listed = python("-m", "target_arch", "backends", PYTHONPATH=path)
    assert "entry point `vecunit = vecunit:backend` of vecunit 0.1.0" in listed
    out = python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(project / "tests"), PYTHONPATH=path)
    assert "7 passed" in out


@pytest.mark.long
def test_an_int8_convolution_to_start_from(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """Its own tests pass: each operator is equal to exact arithmetic, with its sum and alone."""
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    folder = tmp_path / "convunit"
    python("-m", "target_arch", "new-backend", "convunit", "--start", "conv2d", "-o", str(folder))
    out = python("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(folder / "tests"))
    assert "6 passed" in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "My-NPU",
            "`My-NPU` is not a lower-case identifier [bad-name]\n"
            "hint: use letters a to z, digits and `_`, a letter first\n",
        ),
        ("class", "`class` means something else to Python [bad-name]\nhint: name another\n"),
        ("json", "`json` means something else to Python [bad-name]\nhint: name another\n"),
    ],
)
def test_names_it_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, said: str) -> None:
    code, out, err = call(capsys, "new-backend", name, "-o", str(tmp_path / "out"))
    assert (code, out, err) == (2, "", f"command line: error: {said}")
    assert not (tmp_path / "out").exists()


def test_a_name_that_is_taken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = call(capsys, "new-backend", "gemm_npu", "-o", str(tmp_path / "out"))
    assert code == 2
    assert err.startswith(
        "command line: error: there is a backend `gemm_npu` already: entry point `gemm_npu = "
    )
    assert err.endswith(" [bad-name]\nhint: name another\n")


def test_nothing_is_overwritten(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert call(capsys, "new-backend", "vecunit", "-o", str(tmp_path)) == (
        2,
        "",
        f"{tmp_path}: error: there is something already [output-exists]\nhint: name an empty folder\n",
    )


def test_a_place_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "below"
    assert call(capsys, "new-backend", "vecunit", "-o", str(folder)) == (
        2,
        "",
        f"{folder}: error: cannot be written: Not a directory [output-unwritable]\n"
        "hint: name a place that you may write to\n",
    )
