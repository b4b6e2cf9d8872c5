"""The shape of the source in numbers: how long its files, classes and functions are, and who imports whom.

    python -m benchmarks.house [--before FOLDER]

Counted in `target_arch/`: lines of code of each room, source files of each folder, the longest files, classes
and functions, functions with the most parameters (`self` and `cls` aside), string literals that are the name
of an operator kind and stand outside the table of kinds, and imports that go up or across a floor
(`tests/test_floors.py` refuses these one by one). `--before` is a checkout of an earlier version, whose lines
of code stand beside today's.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from target_arch.plan.printed.text import table

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "target_arch"
SHOWN = 8
"""Rows of each list."""
MOST_PARAMETERS = 7
MOST_LITERALS = 52
"""Most of them are names of Relax operators and attributes that are spelled as a kind is; two are a command
and its extra."""

NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
)  # fmt: skip
"""Tokens of which a line may have any number without a line of code."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Defined = Function | ast.ClassDef
Row = tuple[str, str]


def trees() -> dict[Path, ast.Module]:
    """Every source file, parsed."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def code_lines(text: str) -> int:
    """How many lines of a source file have code: not those that are empty, comments or docstrings."""
    spans = [
        (token.start[0], token.end[0])
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
    ]
    documented = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return len({line for first, last in spans for line in range(first, last + 1)} - documented)


def lines_by_room(checkout: Path) -> Counter[str]:
    """Lines of code by package of `target_arch`; `.` has the files beside the packages."""
    package, lines = checkout / PACKAGE.name, Counter[str]()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        lines[parts[0] if len(parts) > 1 else "."] += code_lines(path.read_text())
    return lines


def lines_of_code(before: Path | None) -> list[tuple[str, ...]]:
    """The lines of code of every room and of all, beside those of an earlier version if there is one."""
    now = lines_by_room(REPOSITORY)
    then = now if before is None else lines_by_room(before)
    rows = [(name, then[name], now[name]) for name in sorted({*now, *then})]
    rows.append(("all", then.total(), now.total()))
    if before is None:
        return [(name, f"{lines:,}") for name, _, lines in rows]
    return [(name, f"{old:,}", f"{lines:,}", f"{lines - old:+,}") for name, old, lines in rows]


def files_per_folder(found: dict[Path, ast.Module]) -> list[Row]:
    """How many source files each folder has, `__init__.py` aside; the fullest first."""
    count = Counter(path.parent for path in found if path.name != "__init__.py")
    return [(_name(folder), str(number)) for folder, number in _most(count)]


def longest_files(found: dict[Path, ast.Module]) -> list[Row]:
    """Files by lines."""
    count = Counter({path: len(path.read_text().splitlines()) for path in found})
    return [(_name(path), str(lines)) for path, lines in _most(count)]


def longest(found: dict[Path, ast.Module], *kinds: type[Defined]) -> list[Row]:
    """Classes or functions by lines."""
    count = Counter({name: node.end_lineno - node.lineno + 1 for name, node in _definitions(found, *kinds)})
    return [(name, str(lines)) for name, lines in _most(count)]


def most_parameters(found: dict[Path, ast.Module]) -> list[Row]:
    """Functions by parameters."""
    count = Counter(
        {name: parameters(node) for name, node in _definitions(found, ast.FunctionDef, ast.AsyncFunctionDef)}
    )
    return [(name, str(number)) for name, number in _most(count)]


def parameters(function: Function) -> int:
    """How many parameters a function has, `self` and `cls` aside."""
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return sum(argument.arg not in ("self", "cls") for argument in every)


def kind_literals(found: dict[Path, ast.Module]) -> Counter[Path]:
    """String literals outside the table that are an operator kind's name."""
    from target_arch.plan.operators import kinds

    names = {str(kind) for kind in kinds.OperatorKind}
    inside = {path for path in found if path.is_relative_to(Path(kinds.__file__).parent)}
    return Counter(
        path
        for path in sorted(found.keys() - inside)
        for node in ast.walk(found[path])
        if isinstance(node, ast.Constant) and node.value in names
    )


def upward_imports(found: dict[Path, ast.Module]) -> list[Row]:
    """Imports of a room on the same or a higher floor."""
    from conformance.floors import ENTRY_FILES, FLOORS, module_name, own_imports, room

    wrong = []
    for path in found:
        if path in ENTRY_FILES:
            continue
        here = room(module_name(path))
        for name in sorted(own_imports(path)):
            if room(name) != here and FLOORS[room(name)] >= FLOORS[here]:
                wrong.append((_name(path), name))
    return wrong


def _definitions(found: dict[Path, ast.Module], *kinds: type[Defined]) -> Iterator[tuple[str, Defined]]:
    for path, tree in found.items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield f"{_name(path)}:{node.lineno} {node.name}", node


def _most(count: Counter) -> list[tuple]:
    ordered = sorted(count.items(), key=lambda item: (-item[1], str(item[0])))
    return ordered[:SHOWN]


def _name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def main() -> int:
    """Print all lists; 1 where a limit is not kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="a checkout of an earlier version")
    before = parser.parse_args().before
    found = trees()
    literals, upward = kind_literals(found), upward_imports(found)
    code = lines_of_code(before)
    print(f"lines of code of a room\n{table(code[0], code[1:], right=range(1, len(code[0])))}")
    lists = {
        "source files in a folder": files_per_folder(found),
        "lines of a file": longest_files(found),
        "lines of a class": longest(found, ast.ClassDef),
        "lines of a function": longest(found, ast.FunctionDef, ast.AsyncFunctionDef),
        "parameters of a function": most_parameters(found),
        f"operator kinds as literals outside the table: {literals.total()}": [
            (_name(path), str(number)) for path, number in _most(literals)
        ],
        f"imports upward: {len(upward)}": upward,
    }
    for title, rows in lists.items():
        print(f"{title}\n{table(rows[0], rows[1:]) if rows else ''}")
    over = int(lists["parameters of a function"][0][1]) > MOST_PARAMETERS
    return 1 if over or literals.total() > MOST_LITERALS or upward else 0


if __name__ == "__main__":
    sys.exit(main())
