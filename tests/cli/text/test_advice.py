"""Hints name options as each reader writes them: keywords in Python, arguments on the command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

import target_arch
from target_arch.api.bundle import Bundle, VerifyOptions
from target_arch.api.tuning import TuneOptions
from target_arch.cli.arguments.parser import parser
from target_arch.cli.text.advice import worded
from target_arch.cli.text.output import as_json, rendered
from target_arch.diagnostics import Blank, Entries, Keyword, advice, refusal
from target_arch.pipeline.request import ModelsRequest

ROOT = Path(target_arch.__file__).parent
FLAG = re.compile(r"(?:^|[\s`(])--[a-z]")
OF_OTHERS = (
    ROOT / "cli",
    ROOT / "api" / "model_outcome.py",
    ROOT / "emit" / "programs",
    ROOT / "explore" / "shown.py",
    ROOT / "run" / "tools" / "toolchain.py",
)
"""The command line itself, its text in Python, programs of bundles, commands that a page shows, and the
command line of compilers.
"""


@pytest.mark.parametrize(
    ("keyword", "python", "arguments"),
    [
        (Keyword("targets"), "targets", "--target"),
        (Keyword("targets", ("npu", "dsp")), "targets=('npu', 'dsp')", "--target npu,dsp"),
        (Keyword("arenas", "shared"), "arenas='shared'", "--arenas shared"),
        (Keyword("batch", 1), "batch=1", "--batch 1"),
        (Keyword("name", Blank("NAME")), "name=NAME", "--name NAME"),
        (Keyword("model.name", Blank("NAME")), "model.name=NAME", "NAME=FILE"),
        (Keyword("forbid", Entries((("*", "npu"),))), "forbid={'*': 'npu'}", "--forbid '*=npu'"),
        (
            Keyword("forbid", Entries(((Blank("OPERATOR"), Blank("TARGET")),))),
            "forbid={OPERATOR: TARGET}",
            "--forbid OPERATOR=TARGET",
        ),
        (
            Keyword("input_shapes", Entries((("x", (1, Blank("H"))), ("m", Blank("SHAPE"))))),
            "input_shapes={'x': (1, H), 'm': SHAPE}",
            "--input-shape x=1xH --input-shape m=SHAPE",
        ),
        (Keyword("__cause__"), "__cause__", "--traceback"),
        (Keyword("compiler"), "compiler", "--cc"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_option_in_both_words(keyword: Keyword, python: str, arguments: str) -> None:
    assert (str(keyword), worded(keyword)) == (python, arguments)


def test_what_is_printed_and_what_python_sees() -> None:
    error = refusal("rule", "here", "it is wrong", advice("add ", Keyword("batch", 1), ", or not"))
    assert str(error).endswith("\nhint: add `batch=1`, or not")
    assert rendered(error).endswith("\nhint: add `--batch 1`, or not")
    (found,) = as_json(error.diagnostics)
    assert found["hint"] == "add `--batch 1`, or not"


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        if not any(path.is_relative_to(other) for other in OF_OTHERS):
            yield path, ast.parse(path.read_text())


def messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of one line and several words, but for documentation."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            words = node.value.replace("`", " ")
            if " " in words and "\n" not in words:
                yield node


@pytest.mark.slow
def test_no_message_below_the_command_line_names_its_options() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path, tree in trees()
        for node in messages(tree)
        if FLAG.search(str(node.value))
    ]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_options_in_hints_exist() -> None:
    named = {
        str(node.args[0].value)
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Keyword"
        if isinstance(node.args[0], ast.Constant)
    }
    python = {"__cause__", "model.name", *TuneOptions.__annotations__, *VerifyOptions.__annotations__}
    for of in (Bundle, ModelsRequest):
        python |= {field.name for field in attrs.fields(of)}
    known = {"NAME=FILE", "--traceback"}
    known |= {text for command in parser()[1].values() for text in command._option_string_actions}
    assert named <= python
    assert {worded(Keyword(name, Blank("NAME"))).split()[0] for name in named} <= known
