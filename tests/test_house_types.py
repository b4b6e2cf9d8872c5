"""Kinds are types: no code compares a field of a fixed choice with the text of one of its members, and a
table by such a choice has all of it.
"""

import ast
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import attrs
import pytest

import target_arch

ROOT = Path(target_arch.__file__).parent
ROOMS = ("soc", "plan", "backend", "registry", "stages", "emit")
"""Where frozen values with such fields are, and what can be imported without TVM."""


def modules() -> Iterator[ModuleType]:
    for room in ROOMS:
        package = importlib.import_module(f"target_arch.{room}")
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def choices() -> dict[str, set[str]]:
    """The texts of the members by the names of the fields that hold them."""
    found: dict[str, set[str]] = {}
    for module in modules():
        for value in vars(module).values():
            if not (isinstance(value, type) and attrs.has(value)):
                continue
            for field in attrs.fields(value):
                if isinstance(field.type, type) and issubclass(field.type, StrEnum):
                    found.setdefault(field.name, set()).update(field.type)
    return found


def literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for each in node.elts:
            yield from literals(each)


def named(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def compared(text: str, known: Mapping[str, set[str]]) -> list[str]:
    """Lines that compare a field with a literal text of its choice, or pass it one."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            names = {name for side in sides if (name := named(side)) in known}
            words = {word for side in sides for word in literals(side)}
        elif isinstance(node, ast.keyword) and node.arg in known:
            names, words = {node.arg}, set(literals(node.value))
        else:
            continue
        found += [f"{node.lineno}: {name} and '{word}'" for name in names for word in words & known[name]]
    return found


def test_the_test_sees_them() -> None:
    known = choices()
    assert known["access"] == {"r", "w", "rw"}
    assert known.keys() >= {"kind", "codegen", "arithmetic", "rounding", "cache", "operands", "arenas"}
    text = 'a = b.access == "r"\nc = "w" in d.access\nassert kind in ("x", "local")\nf(codegen="c")\n'
    assert [each.partition(":")[0] for each in sorted(compared(text, known))] == ["1", "2", "3", "4"]


def test_no_field_of_a_fixed_choice_meets_a_literal() -> None:
    known = choices()
    found = [
        f"{path.relative_to(ROOT)}:{each}"
        for path in sorted(ROOT.rglob("*.py"))
        for each in compared(path.read_text(), known)
    ]
    assert not found, "use the members of the enums:\n" + "\n".join(found)


def tables() -> Iterator[tuple[str, Mapping[StrEnum, object]]]:
    """Tables of modules whose keys are members of one choice."""
    for module in (*modules(), importlib.import_module("target_arch.backends.quantized")):
        for name, value in vars(module).items():
            if isinstance(value, Mapping) and value and all(isinstance(key, StrEnum) for key in value):
                yield f"{module.__name__}.{name}", value


@pytest.mark.parametrize(
    ("name", "table"), tuple(tables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_table_by_a_choice_has_all_of_it(name: str, table: Mapping[StrEnum, object]) -> None:
    (kind,) = {type(key) for key in table}
    assert set(table) == set(kind), name
