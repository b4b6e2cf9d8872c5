"""What docs/several-models.md shows is what happens: its commands, its C and its Python."""

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli import main
from target_arch.resources import examples

PAGE = Path(__file__).parents[2] / "docs" / "several-models.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the example model."""
    (tmp_path / "digits_int8.onnx").symlink_to(examples() / "digits" / "digits_int8.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def block(kind: str) -> str:
    """The first block of the page of that kind."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.slow
def test_the_commands_and_the_c_program(folder: Path, needs_tool: Callable[[str], str]) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    for line in block("").splitlines():
        program, *words = shlex.split(line)
        assert program == "target-arch"
        assert main(words) == 0, line
    source = folder / "program.c"
    source.write_text(block("c"))
    subprocess.run([needs_tool("make"), "-s", "-C", "out"], check=True)
    flags = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Iout/include", "-pthread")
    library = "out/build/libmcu_m7_models.a"
    subprocess.run([needs_tool("cc"), *flags, str(source), library, "-lm", "-o", "program"], check=True)
    assert subprocess.run(["./program"], check=False).returncode == 0


def test_the_python_example(folder: Path) -> None:
    exec(compile(block("python"), PAGE.name, "exec"), {})
