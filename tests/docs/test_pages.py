"""What the pages on placement, orders and memory tell a reader to type, typed in.

`MODEL` and `model.onnx` are the digits model. The example of the cost file has a test where costs are read.
"""

import re
import shlex
from pathlib import Path

import pytest

from target_arch.cli import main
from tests.slow import slow_except

DOCS = Path(__file__).parents[2] / "docs"
DIGITS = DOCS.parent / "examples" / "digits" / "digits_int8.onnx"
PAGES = ("c-first", "lowering-orders", "memory", "placement")
"""The last takes longest."""
COMMENT = re.compile(r"  # (.*)$", re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text()
    found = re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)
    return [block for name, block in found if name == language]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a model in it."""
    (tmp_path / "model.onnx").symlink_to(DIGITS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", slow_except(PAGES[:-1], PAGES))
def test_commands(folder: Path, capsys: pytest.CaptureFixture[str], page: str) -> None:
    pytest.importorskip("ortools", reason="needs the extra `exact`: pip install 'target-arch[exact]'")
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    for line in lines:
        program, *arguments = shlex.split(line.replace("MODEL", "model.onnx"), comments=True) or [""]
        if program == "target-arch":
            assert main(arguments) == 0, (line, capsys.readouterr().err)


@pytest.mark.parametrize(("page", "number"), [("lowering-orders", 0), ("lowering-orders", 1), ("memory", 0)])
def test_python(folder: Path, capsys: pytest.CaptureFixture[str], page: str, number: int) -> None:
    """A comment at the end of a line that prints is what it prints."""
    code = blocks(page, "python")[number]
    exec(compile(code, f"docs/{page}.md", "exec"), {})
    said = capsys.readouterr().out
    assert said
    assert all(comment in said for comment in COMMENT.findall(code))


def test_every_python_block_has_its_turn() -> None:
    assert {page: len(blocks(page, "python")) for page in PAGES} == {
        "c-first": 0,
        "lowering-orders": 2,
        "memory": 1,
        "placement": 0,
    }


def test_the_table_of_orders_in_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (table,) = blocks("lowering-orders", "toml")
    shipped = (DOCS.parent / "soc_configs" / "zynq_edge.toml").read_text()
    before, _, after = shipped.partition("[lowering]\n")
    left = after.partition("\n[")[2]
    (folder / "chip.toml").write_text(before + table + (f"\n[{left}" if left else ""))
    arguments = ["compile", "model.onnx", "--soc", "chip.toml", "-o", "out", "--dump", "lowering"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(
        "lowering order: graph: c-first, s-tir: program, ns-tir: c-first, codegen: c-first\n"
    )
