"""The layers: imports go down, packages of one layer do not import each other, sub-packages have no cycle."""

import ast
import re
import tomllib

import networkx
import pytest

from conformance.floors import (
    ENTRY_FILES,
    FILES,
    FLOORS,
    PACKAGE,
    ROOT,
    imports,
    module_name,
    own_imports,
    room,
)
from conformance.syntax import statements, tree

TVM_ROOMS = {"relax", "backends"}
TVM_PACKAGES = {"tvm", "tvm_ffi"}
LONG_FUNCTION = 30
SHARE_OF_SHORT_FUNCTIONS = 0.9


def test_every_room_has_a_floor() -> None:
    assert {room(module_name(path)) for path in FILES if path not in ENTRY_FILES} <= set(FLOORS)


def test_imports_go_down_and_rooms_on_a_floor_do_not_know_each_other() -> None:
    wrong = {
        (module_name(path), name)
        for path in FILES
        if path not in ENTRY_FILES
        for name in own_imports(path)
        if room(name) != room(module_name(path)) and FLOORS[room(name)] >= FLOORS[room(module_name(path))]
    }
    assert wrong == set()


def test_modules_have_no_cycle() -> None:
    graph = networkx.DiGraph()
    for path in FILES:
        graph.add_edges_from((module_name(path), name) for name in own_imports(path))
    assert list(networkx.simple_cycles(graph)) == []


CLI_ROOMS = {"cli", "api", "registry", "backend", "plan", "soc", "diagnostics", "resources"}
"""The rooms that the command line may know: the API, and what its arguments and results are made of:
plug-ins, plans, chips and messages."""


def test_the_command_line_is_written_on_the_api() -> None:
    """Nothing that places, compiles, tunes, builds, runs, verifies or draws is called but through the API."""
    wrong = {
        (module_name(path), name)
        for path in (PACKAGE / "cli").rglob("*.py")
        for name in own_imports(path)
        if room(name) not in CLI_ROOMS
    }
    assert wrong == set()


def sub_room(module: str) -> str:
    """The folder of a module; what is directly in a room is a sub-room of its own."""
    return module if is_package(module) else module.rpartition(".")[0]


def is_package(name: str) -> bool:
    return (ROOT.joinpath(*name.split(".")) / "__init__.py").is_file()


@pytest.mark.parametrize("name", sorted(FLOORS))
def test_sub_rooms_have_no_cycle(name: str) -> None:
    """Files directly in a room stand between its sub-rooms, so each of them is a node of its own."""
    top = f"target_arch.{name}"
    nodes = {path: module_name(path) for path in FILES if within(module_name(path), top)}
    graph = networkx.DiGraph()
    for path, module in nodes.items():
        if path.name == "__init__.py" and module == top:
            continue
        here = module if sub_room(module) == top else sub_room(module)
        for other in own_imports(path):
            there = other if sub_room(other) == top else sub_room(other)
            if within(other, top) and there not in {here, top}:
                graph.add_edge(here, there)
    assert list(networkx.simple_cycles(graph)) == []


def test_the_table_of_sub_rooms_has_all_of_them() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE))
    for name in sorted(FLOORS):
        folders = {path.parent.name for path in (ROOT / "target_arch" / name).glob("*/**/__init__.py")}
        assert folders <= set(re.findall(r"`([\w.]+)`", rows.get(name, ""))), name


def test_only_relax_and_plug_ins_import_tvm() -> None:
    wrong = {
        (module_name(path), name)
        for path in FILES
        if path in ENTRY_FILES or room(module_name(path)) not in TVM_ROOMS
        for name in imports(path)
        if name.split(".")[0] in TVM_PACKAGES
    }
    assert wrong == set()


@pytest.mark.parametrize("plug_ins", ["backends", "ports"])
def test_built_in_plug_ins_are_imported_by_nobody(plug_ins: str) -> None:
    importers = {
        module_name(path)
        for path in FILES
        if path in ENTRY_FILES or room(module_name(path)) != plug_ins
        if any(room(name) == plug_ins for name in own_imports(path))
    }
    assert importers == set()


def test_plug_ins_do_not_import_each_other() -> None:
    """A built-in backend is on its own, as a stranger's would be."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plug_ins = {value.split(":")[0] for value in project["entry-points"]["target_arch.backends"].values()}
    wrong = {
        (module_name(path), name)
        for path in (PACKAGE / "backends").rglob("*.py")
        for name in own_imports(path)
        for plug_in in plug_ins
        if within(name, plug_in) and not within(module_name(path), plug_in)
    }
    assert wrong == set()


def within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def test_no_module_is_called_utils() -> None:
    assert [path for path in FILES if path.stem in {"utils", "util", "helpers", "misc", "common"}] == []


def test_nine_functions_in_ten_are_short() -> None:
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in FILES
        for node in statements(tree(path))
        if isinstance(node, ast.FunctionDef)
    ]
    assert sum(length < LONG_FUNCTION for length in lengths) >= SHARE_OF_SHORT_FUNCTIONS * len(lengths)


def test_every_folder_of_source_is_a_package() -> None:
    """Setuptools finds packages: a folder without `__init__.py` would be missing from the wheel."""
    assert [
        folder for folder in {path.parent for path in FILES} if not (folder / "__init__.py").is_file()
    ] == []


BESIDE = {
    "conformance": {"target_arch", "conformance"},
    "benchmarks": {"target_arch", "conformance", "benchmarks"},
    "tests": {"target_arch", "conformance", "tests"},
}
"""The folders beside the package, and those that their files may import from."""


@pytest.mark.parametrize("folder", sorted(BESIDE))
def test_tests_and_benchmarks_do_not_know_each_other(folder: str) -> None:
    wrong = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / folder).rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in {"target_arch", *BESIDE} - BESIDE[folder]
    }
    assert wrong == set()
