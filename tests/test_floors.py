"""The layers: imports go down, packages of one layer do not import each other, sub-packages have no cycle."""

import ast
import re
import tomllib
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "target_arch"

FLOORS = {
    "diagnostics": 0,
    "resources": 0,
    "soc": 1,
    "plan": 2,
    "backend": 3,
    "relax": 4,
    "stages": 4,
    "emit": 4,
    "report": 4,
    "run": 5,
    "backends": 5,
    "ports": 5,
    "registry": 5,
    "pipeline": 6,
    "tune": 7,
    "api": 8,
    "cli": 9,
}
TVM_ROOMS = {"relax", "backends"}
TVM_PACKAGES = {"tvm", "tvm_ffi"}
LONG_FUNCTION = 30
SHARE_OF_SHORT_FUNCTIONS = 0.9

FILES = sorted(PACKAGE.rglob("*.py"))
ENTRY_FILES = {PACKAGE / "__init__.py", PACKAGE / "__main__.py"}
"""The package's front door: it may only lead to rooms lazily, and belongs to none of them."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    """Every module the file imports, at the top or inside a function, as absolute dotted names."""
    package = (
        module_name(path).split(".") if path.name == "__init__.py" else module_name(path).split(".")[:-1]
    )
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            names = {f"{source}.{alias.name}" for alias in node.names}
            found |= {name if is_module(name) else source for name in names}
    return found


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def own_imports(path: Path) -> set[str]:
    return {name for name in imports(path) if name.startswith("target_arch.")}


def test_every_room_has_a_floor() -> None:
    assert {room(module_name(path)) for path in FILES if path not in ENTRY_FILES} <= set(FLOORS)


@pytest.mark.parametrize("path", [path for path in FILES if path not in ENTRY_FILES], ids=module_name)
def test_imports_go_down_and_rooms_on_a_floor_do_not_know_each_other(path: Path) -> None:
    here = room(module_name(path))
    wrong = {name for name in own_imports(path) if room(name) != here and FLOORS[room(name)] >= FLOORS[here]}
    assert wrong == set()


def test_modules_have_no_cycle() -> None:
    graph = networkx.DiGraph()
    for path in FILES:
        graph.add_edges_from((module_name(path), name) for name in own_imports(path))
    assert list(networkx.simple_cycles(graph)) == []


CLI_ROOMS = {"cli", "api", "registry", "backend", "plan", "soc", "diagnostics", "resources"}
"""The rooms that the command line may know: the API, and what its arguments and results are made of:
plug-ins, plans, chips and messages."""


@pytest.mark.parametrize("path", sorted((PACKAGE / "cli").rglob("*.py")), ids=module_name)
def test_the_command_line_is_written_on_the_api(path: Path) -> None:
    """Nothing that places, compiles, tunes, builds, runs, verifies or draws is called but through the API."""
    assert {name for name in own_imports(path) if room(name) not in CLI_ROOMS} == set()


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


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_only_relax_and_plug_ins_import_tvm(path: Path) -> None:
    if path not in ENTRY_FILES and room(module_name(path)) in TVM_ROOMS:
        return
    assert {name for name in imports(path) if name.split(".")[0] in TVM_PACKAGES} == set()


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
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    assert sum(length < LONG_FUNCTION for length in lengths) >= SHARE_OF_SHORT_FUNCTIONS * len(lengths)


def test_every_folder_of_source_is_a_package() -> None:
    """Setuptools finds packages: a folder without `__init__.py` would be missing from the wheel."""
    assert [
        folder for folder in {path.parent for path in FILES} if not (folder / "__init__.py").is_file()
    ] == []
