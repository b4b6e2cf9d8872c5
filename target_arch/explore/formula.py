"""Formulas over the keys of a SoC file and the names of a space: prices, ties and constraints.

The text is Python's for arithmetic, comparisons, `and`, `or`, `not`, `min`, `max`, `ceil` and `floor`. Names
are those of a space, dotted paths are keys of the SoC file in base units (bytes, bytes per second, seconds,
hertz), and text in quotes is a quantity, `"64 KiB"`, or a word. Nothing else is executed.

Tests: `tests/explore/test_formula.py`.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from target_arch.soc.units import BANDWIDTH, FREQUENCY, SIZE, TIME, split

Number = float | int | str | bool
Names = Callable[[str], Number]
"""The value of a name or dotted path. KeyError where there is none."""

_Read = Callable[[Names], Any]
"""An expression, ready to be computed with the values of names."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
}
_LONGEST = 1000
_UNITS = {**SIZE, **BANDWIDTH, **TIME, **FREQUENCY}


class FormulaError(ValueError):
    """A mistake in a formula, or a value that there is not; `hint` says what to write."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@frozen
class Formula:
    """A formula that was read. `names` are the names and paths in it, each once."""

    text: str
    names: tuple[str, ...] = field(repr=False, eq=False)
    _read: _Read = field(repr=False, eq=False)

    def value(self, names: Names) -> Number:
        """Its value. FormulaError where it has none: a division by zero, words that are added."""
        try:
            value: Number = self._read(names)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise FormulaError(f"`{self.text}` has no value here: {error}") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise FormulaError(f"`{self.text}` has no value here: it is {value}")
        return value


def formula(text: str) -> Formula:
    """The formula of a text. FormulaError for anything that is none."""
    if len(text) > _LONGEST:
        raise FormulaError(f"a formula has at most {_LONGEST:,} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"`{text}` is no formula", "such as `2 * tcm <= sram`") from None
    return Formula(text.strip(), tuple(dict.fromkeys(_names(tree))), _read(tree))


def _read(tree: ast.expr) -> _Read:
    """The expression. FormulaError for one that formulas do not have."""
    build = _FORMS.get(type(tree))
    built = None if build is None else build(tree)
    if built is None:
        hint = "formulas have numbers, names, keys of the SoC file, + - * / // %, comparisons, and, or, not, "
        said = f"`{ast.unparse(tree)}` is nothing that a formula has"
        raise FormulaError(said, f"{hint}min, max, ceil, floor")
    return built


def _constant(tree: Any) -> _Read | None:
    if not isinstance(tree.value, bool | int | float | str):
        return None
    value = _quantity(tree.value) if isinstance(tree.value, str) else tree.value
    return lambda names: value


def _named(tree: Any) -> _Read | None:
    path = _path(tree)
    return None if path is None else lambda names: names(path)


def _binary(tree: Any) -> _Read | None:
    compute = _BINARY.get(type(tree.op))
    if compute is None:
        return None
    left, right = _read(tree.left), _read(tree.right)
    return lambda names: compute(_number(left(names)), _number(right(names)))


def _unary(tree: Any) -> _Read | None:
    value = _read(tree.operand)
    if isinstance(tree.op, ast.USub):
        return lambda names: -_number(value(names))
    return (lambda names: not value(names)) if isinstance(tree.op, ast.Not) else None


def _all_or_any(tree: Any) -> _Read | None:
    values = [_read(each) for each in tree.values]
    judge = all if isinstance(tree.op, ast.And) else any
    return lambda names: judge(value(names) for value in values)


def _comparison(tree: Any) -> _Read | None:
    if not all(type(sign) in _COMPARED for sign in tree.ops):
        return None
    signs = [_COMPARED[type(sign)] for sign in tree.ops]
    sides = [_read(each) for each in (tree.left, *tree.comparators)]

    def holds(names: Names) -> bool:
        values = [side(names) for side in sides]
        return all(sign(one, other) for sign, one, other in zip(signs, values, values[1:], strict=False))

    return holds


def _call(tree: Any) -> _Read | None:
    function = _FUNCTIONS.get(tree.func.id) if isinstance(tree.func, ast.Name) else None
    if function is None or tree.keywords or not tree.args:
        return None
    arguments = [_read(each) for each in tree.args]
    return lambda names: function(*(_number(each(names)) for each in arguments))


_FORMS: Mapping[type, Callable[[Any], _Read | None]] = {
    ast.Constant: _constant,
    ast.Name: _named,
    ast.Attribute: _named,
    ast.Subscript: _named,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _all_or_any,
    ast.Compare: _comparison,
    ast.Call: _call,
}


def _names(tree: ast.expr) -> Iterator[str]:
    path = _path(tree)
    if path is not None:
        yield path
        return
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.expr) and not (isinstance(tree, ast.Call) and child is tree.func):
            yield from _names(child)


def _path(tree: ast.expr) -> str | None:
    """The name or dotted path, `copy[2].bandwidth`; None for another expression."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=key) if (before := _path(value)) is not None:
            return f"{before}.{key}"
        case ast.Subscript(value=value, slice=ast.Constant(value=int() as index)):
            before = _path(value)
            return None if before is None else f"{before}[{index}]"
    return None


def _number(value: Any) -> Any:
    if isinstance(value, str):
        raise TypeError(f"`{value}` is no number")
    return value


def _quantity(text: str) -> Number:
    """The number of a quantity in its base unit; other text is a word."""
    parts = split(text)
    if parts is None or parts[1] not in _UNITS:
        return text
    exact = parts[0] * _UNITS[parts[1]]
    return int(exact) if exact.denominator == 1 else float(exact)
