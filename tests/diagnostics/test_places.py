"""An error raised outside `cli` names a place that a caller in Python knows, never the command line."""

import ast
from pathlib import Path

import pytest

import target_arch

ROOT = Path(target_arch.__file__).parent


@pytest.mark.slow
def test_only_the_command_line_is_called_so() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] != "cli"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == "command line"
    ]
    assert found == []
