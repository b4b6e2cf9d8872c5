"""What docs/workloads.md shows is what happens: its file, its command and its C."""

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli import main
from target_arch.resources import examples

PAGE = Path(__file__).parents[2] / "docs" / "workloads.md"


def block(kind: str) -> str:
    """The first block of the page of that kind."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.slow
def test_the_page(
    needs_tool: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits_int8.onnx").symlink_to(examples() / "digits" / "digits_int8.onnx")
    (tmp_path / "workload.toml").write_text(block("toml"))
    command, *shown = block("console").splitlines()
    assert main(shlex.split(command)[2:]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line != "…" and line not in said] == []
    (tmp_path / "program.c").write_text(block("c"))
    subprocess.run([needs_tool("make"), "-s", "-C", "out"], check=True)
    flags = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Iout/include")
    library = "out/build/libzynq_edge_models.a"
    subprocess.run(
        (needs_tool("cc"), *flags, "program.c", library, "-o", "program", "-lm", "-pthread"), check=True
    )
    done = subprocess.run(("./program",), capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout[:6]) == (0, "late: ")
