"""What the README shows is what happens.

Every `console` block is run, line by line, in one empty folder with the repository's `examples` in it, and
compared; `pytest --update-golden` writes what was printed into the README. How far onnxruntime's modes are
apart depends on the processor, so those numbers are not compared.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli import main

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
BY_PROCESSOR = re.compile(r"(?m)^(  (?:bit-equal|largest difference) +).*$")


def commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def test_the_example_prints_what_it_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
    needs_tool: Callable[[str], str],
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(README.parent / "examples")

    def ran(found: re.Match[str]) -> str:
        lines: list[str] = []
        for command in commands(found[1]):
            program, *arguments = shlex.split(command)
            assert program == "target-arch"
            assert main(arguments) == 0, command
            lines.append(f"$ {command}\n{capsys.readouterr().out}")
        return "```console\n" + "\n".join(lines) + "```"

    text = BLOCK.sub(ran, README.read_text())
    if pytestconfig.getoption("--update-golden"):
        README.write_text(text)
    assert BY_PROCESSOR.sub(r"\1", text) == BY_PROCESSOR.sub(r"\1", README.read_text())


def test_the_python_example_holds() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})


def test_links_lead_somewhere() -> None:
    for page in (README, *(README.parent / "docs").glob("*.md"), README.parent / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
