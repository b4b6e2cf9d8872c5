"""Kinds are types: no code compares a field of a fixed choice with the text of one of its members, and a
table by such a choice has all of it.
"""

import ast
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType, ModuleType

import attrs
import pytest

import target_arch
from conformance.syntax import statements
from target_arch.registry import PlugIns

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


def plug_ins() -> dict[str, set[str]]:
    """The names of shipped plug-ins by the fields that hold them: code knows them by constants."""
    found = PlugIns.discover()
    return {"process": {*found.load_processes}, "port": {*found.ports}, "policy": {*found.policies}}


def literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for each in node.elts:
            yield from literals(each)


def named(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.id if isinstance(node, ast.Name) else None


def compared(
    text: str, known: Mapping[str, set[str]], plug_ins: Mapping[str, set[str]] = MappingProxyType({})
) -> list[str]:
    """Lines that compare a field with a literal text of its choice, or pass it one, and those that compare a
    field with the name of a plug-in.
    """
    found, every = [], {**plug_ins, **known}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            names = {name for side in sides if (name := named(side)) in every}
            words = {word for side in sides for word in literals(side)}
        elif isinstance(node, ast.keyword) and node.arg in known:
            names, words = {node.arg}, set(literals(node.value))
        else:
            continue
        found += [f"{node.lineno}: {name} and '{word}'" for name in names for word in words & every[name]]
    return found


def test_the_test_sees_them() -> None:
    known = choices()
    assert known["access"] == {"r", "w", "rw"}
    assert known.keys() >= {"kind", "codegen", "arithmetic", "rounding", "cache", "operands", "arenas"}
    text = 'a = load.process == "f"\nb = m["port"] != "p"\nf(port="p")\n'
    assert len(compared(text, known, {"process": {"f"}, "port": {"p"}})) == 2
    text = 'a = b.access == "r"\nc = "w" in d.access\nassert kind in ("x", "local")\nf(codegen="c")\n'
    assert [each.partition(":")[0] for each in sorted(compared(text, known))] == ["1", "2", "3", "4"]


def test_no_field_of_a_fixed_choice_meets_a_literal() -> None:
    known, names = choices(), plug_ins()
    found = [
        f"{path.relative_to(ROOT)}:{each}"
        for path in sorted(ROOT.rglob("*.py"))
        for each in compared(path.read_text(), known, names)
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


CHANGEABLE = {"Counter", "bytearray", "defaultdict", "deque", "dict", "list", "set"}
CHANGES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update"}
OPEN = {
    "LoweringRequest.kept": "the store of a backend, which outlives requests",
    "LoweringRequest.shared": "the store of a backend, which outlives compilations",
    "PlacementTask.shared": "the store that its questions get",
    "Planner.known": "the store of plans, which outlives compilations",
    "PreparedModel.shared": "the store that its lowering requests get",
    "Question.shared": "the store of a backend, which outlives compilations",
}
"""Fields of frozen classes that change, and the reason."""


def frozen_classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    for node in statements(tree):
        if isinstance(node, ast.ClassDef):
            words = {named(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list}
            if "frozen" in words:
                yield node


def of_self(node: ast.expr) -> str | None:
    """The field that an expression begins with: `held` of `self.held.items[0]`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return node.attr
        node = node.value
    return None


def changed(node: ast.AST) -> Iterator[str | None]:
    """The fields whose content a statement or a call changes."""
    if isinstance(node, ast.Assign | ast.Delete):
        yield from (of_self(target) for target in node.targets)
    elif isinstance(node, ast.AugAssign):
        yield of_self(node.target)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
        yield of_self(node.func.value)


def open_fields(text: str) -> set[str]:
    """The fields of frozen classes that can change, by their annotation, or that a method changes."""
    found = set()
    for known in frozen_classes(ast.parse(text)):
        for field in known.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                words = {named(each) for each in ast.walk(field.annotation) if isinstance(each, ast.expr)}
                if words & CHANGEABLE or any(str(word).startswith("Mutable") for word in words):
                    found.add(f"{known.name}.{field.target.id}")
        found |= {f"{known.name}.{name}" for node in ast.walk(known) for name in changed(node) if name}
    return found


def test_the_test_sees_open_fields() -> None:
    text = """
@attrs.frozen(kw_only=True)
class A:
    one: Mapping[str, list[int]]
    two: MutableMapping[str, int]
    three: Mapping[str, int]
    four: Writer
    five: frozenset[str]

    def change(self):
        self.three[0] = 1
        self.four.lines.append("")
        self.five.union(())
        del self.six[0]

@define
class B:
    one: list[int]
"""
    assert open_fields(text) == {f"A.{name}" for name in ("one", "two", "three", "four", "six")}


def test_frozen_values_do_not_change() -> None:
    found = {field for path in sorted(ROOT.rglob("*.py")) for field in open_fields(path.read_text())}
    assert found == OPEN.keys()
