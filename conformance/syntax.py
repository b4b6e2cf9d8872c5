"""Syntax trees of Python files, and their statements without the expressions, which are most of a tree."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def statements(module: ast.Module) -> Iterator[ast.stmt]:
    """Every statement of a module, also of classes, functions and branches, in no particular order."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        for block in _BLOCKS:
            waiting += getattr(node, block, ())
        if isinstance(node, ast.stmt):
            yield node


def documented(module: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """What may have a docstring: the module, its classes and its functions."""
    yield module
    yield from (node for node in statements(module) if isinstance(node, ast.ClassDef | ast.FunctionDef))
