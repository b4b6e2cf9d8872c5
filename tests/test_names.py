"""Names in back quotes, in pages and docstrings, resolve: files, modules, attributes of classes."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from conformance.syntax import documented, statements, tree

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "target_arch"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")])
ROOMS = ("target_arch", "tests", "benchmarks", "conformance", "examples")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
MODULES = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
HISTORY = ROOT / "CHANGELOG.md"
"""It names what was there once."""

ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"].keys()

QUOTED = re.compile(r"`([^`\n]+)`")
FOLDERS = "target_arch|tests|docs|runtime_c|soc_configs|benchmarks|conformance|examples|rtl"
FILE = re.compile(rf"(?:{FOLDERS})/[\w./-]*\w")
MODULE = re.compile(r"target_arch(?:\.\w+)+")
PYTHON_FILE = re.compile(r"[a-z_]\w*\.py")
ATTRIBUTE = re.compile(r"([A-Z]\w*[a-z]\w*)\.(\w+)")
MENTIONED = re.compile(r"\((?:see )?`(\w+)`\)")
"""In a docstring: a module, or a name of the code below."""


def module_path(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def defined(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements define or import."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.If):  # imports for type checkers
            yield from defined(node.body)


def resolves(name: str) -> bool:
    """True for a module, a name in one, and a group of entry points. Folders of data travel as packages."""
    if (
        module_path(name) is not None
        or name in ENTRY_POINTS
        or (ROOT / name.removeprefix("target_arch.")).is_dir()
    ):
        return True
    module, _, attribute = name.rpartition(".")
    path = module_path(module)
    return path is not None and attribute in {*defined(tree(path).body)}


@cache
def classes() -> dict[str, set[str]]:
    """The names of every class of the package, inherited ones too; classes of one name share an entry.

    A class with a base from elsewhere has no entry, as its names are not known.
    """
    found: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in statements(tree(path)):
            if isinstance(node, ast.ClassDef):
                own = {*defined(node.body)} | {
                    target.attr
                    for child in ast.walk(node)
                    if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store)
                    for target in (child,)
                }
                found.setdefault(node.name, set()).update(own)
                names = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                bases.setdefault(node.name, set()).update(names)
    for _ in range(3):
        for name, above in bases.items():
            for base in above:
                found[name] |= found.get(base, set())
    return {name: own for name, own in found.items() if bases[name] <= found.keys() | {"object", "Protocol"}}


def wrong(text: str, folder: Path) -> list[str]:
    """The names that lead nowhere. Paths begin at the repository or at the folder of the text."""
    return [quoted for quoted in QUOTED.findall(text) if not right(quoted, folder)]


def right(quoted: str, folder: Path) -> bool:
    word = re.split(r"::|\(", quoted, maxsplit=1)[0].strip().removesuffix("/")
    if FILE.fullmatch(word):
        return any(ROOT.glob(word)) or any(folder.glob(word))
    if MODULE.fullmatch(word):
        return resolves(word)
    if PYTHON_FILE.fullmatch(word):
        return word.removesuffix(".py") in MODULES
    match = ATTRIBUTE.fullmatch(word)
    known = None if match is None else classes().get(match[1])
    return match is None or known is None or match[2] in known


def names_of_code(path: Path) -> set[str]:
    nodes = list(ast.walk(tree(path)))
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    found |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    found |= {node.arg or "" for node in nodes if isinstance(node, ast.keyword)}
    found |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return found | {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}


@pytest.mark.parametrize("page", [p for p in PAGES if p != HISTORY], ids=lambda path: path.name)
def test_names_in_pages(page: Path) -> None:
    assert wrong(page.read_text(), page.parent) == []


def test_names_in_docstrings() -> None:
    assert {str(path.relative_to(ROOT)): found for path in SOURCES if (found := lost(path))} == {}


def lost(path: Path) -> list[str]:
    texts = [ast.get_docstring(node) or "" for node in documented(tree(path))]
    mentioned = [name for text in texts for name in MENTIONED.findall(text) if name not in MODULES]
    if mentioned:
        known = names_of_code(path)
        mentioned = [name for name in mentioned if name not in known]
    return [name for text in texts for name in wrong(text, path.parent)] + mentioned


def test_no_two_public_classes_share_a_name() -> None:
    """A reader knows a class by its name, without the module."""
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
