"""The layers of the source, and which module imports which."""

import ast
from functools import cache
from pathlib import Path

from conformance.syntax import statements, tree

ROOT = Path(__file__).parents[1]
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
    "calibrate": 7,
    "tune": 7,
    "explore": 7,
    "quantize": 8,
    "api": 9,
    "cli": 10,
}
FILES = sorted(PACKAGE.rglob("*.py"))
ENTRY_FILES = {PACKAGE / "__init__.py", PACKAGE / "__main__.py"}
"""The package's front door: it may only lead to rooms lazily, and belongs to none of them."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    return module.split(".")[1]


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module the file imports, at the top or inside a function, as absolute dotted names."""
    package = (
        module_name(path).split(".") if path.name == "__init__.py" else module_name(path).split(".")[:-1]
    )
    found: set[str] = set()
    for node in statements(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            names = {f"{source}.{alias.name}" for alias in node.names}
            found |= {name if is_module(name) else source for name in names}
    return frozenset(found)


@cache
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def own_imports(path: Path) -> set[str]:
    return {name for name in imports(path) if name.startswith("target_arch.")}
