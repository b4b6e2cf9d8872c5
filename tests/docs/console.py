"""`console` blocks of a page: what their commands print is what stands below them."""

import re
import shlex
from pathlib import Path

import pytest

from target_arch.cli import main

BY_MACHINE = re.compile(r"(?m)^(  (?:bit-equal|largest difference|reference) +).*$")
"""How far onnxruntime's modes are apart depends on the processor, and its version on what is installed."""


def printed(block: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The block with what its commands print now."""
    lines = []
    for command in (line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")):
        program, *arguments = shlex.split(command)
        assert program == "target-arch"
        code = main(arguments)
        out, err = capsys.readouterr()
        assert code == 0, f"{command}\n{out}{err}"
        lines.append(f"$ {command}\n{out}")
    return "```console\n" + "\n".join(lines) + "```"


def check_page(page: Path, text: str, config: pytest.Config) -> None:
    """The page says the same; `--update-golden` writes it."""
    if config.getoption("--update-golden"):
        page.write_text(text)
    assert BY_MACHINE.sub(r"\1", text) == BY_MACHINE.sub(r"\1", page.read_text())
