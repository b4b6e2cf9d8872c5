"""Flat TIR expressions as C99 expressions.

C types are those of TIR: every subexpression has, after C's promotions, at least the bits TIR gives it, and
narrow results are cast back. Nothing that C leaves undefined is printed: a negative number is multiplied by a
power of two, never shifted left, and a float that an integer does not hold has a result. Right shifts of
negative numbers are arithmetic on every compiler this is meant for.

Minimum, maximum and selection name their operands twice; an operand that is more than a name is bound to
a local constant first (`Scope.bind`), except where it must not be evaluated before a condition was
tested.

Tests: `tests/relax/c/test_c_printer.py`.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm import ir, tirx

from target_arch.plan.model import C_TYPES
from target_arch.relax.c.ranges import is_within

PRIMARY, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY, BITS, CONJUNCTION, DISJUNCTION, TERNARY = range(
    10, -1, -1
)

_ARITHMETIC: Mapping[type, tuple[str, int]] = {
    tirx.Add: ("+", SUM),
    tirx.Sub: ("-", SUM),
    tirx.Mul: ("*", PRODUCT),
    tirx.Div: ("/", PRODUCT),
    tirx.Mod: ("%", PRODUCT),
    tirx.FloorDiv: ("/", PRODUCT),
    tirx.FloorMod: ("%", PRODUCT),
}
_COMPARISONS: Mapping[type, tuple[str, int]] = {
    tirx.LT: ("<", RELATION),
    tirx.LE: ("<=", RELATION),
    tirx.GT: (">", RELATION),
    tirx.GE: (">=", RELATION),
    tirx.EQ: ("==", EQUALITY),
    tirx.NE: ("!=", EQUALITY),
}
_BITWISE: Mapping[type, str] = {tirx.BitwiseAnd: "&", tirx.BitwiseOr: "|", tirx.BitwiseXor: "^"}
_COMPUTING = frozenset((*_ARITHMETIC, *_COMPARISONS, tirx.Min, tirx.Max))
_WRAPPING = {"+", "-", "*"}
_WIDER = {
    **dict.fromkeys(("int8", "uint8", "int16", "uint16"), "int32"),
    **dict.fromkeys(("uint32", "uint64"), "int64"),
}
"""The signed type through which x86-64 converts a float to another one."""

_C_MATH = frozenset(
    re.findall(
        r"\w+",
        "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf exp exp2 fabs floor fmod hypot log"
        " log10 log1p log2 nearbyint nextafter pow sin sinh sqrt tan tanh trunc",
    )
)
"""Functions of <math.h> that TIR calls by the same name and with the same meaning."""


class UnprintableError(Exception):
    """A TIR node for which there is no C. The message names the node and shows it."""

    def __init__(self, node: Any, why: str = "has no form in C") -> None:
        name = getattr(getattr(node, "op", None), "name", type(node).__name__)
        super().__init__(f"TIR node `{name}` {why}: {str(node).splitlines()[0][:120]}")


class Scope:
    """The context in which an expression is printed: the names of its variables and where locals may be
    declared.
    """

    def __init__(self, names: dict[Any, str], scalars: set[Any], *, wraps: bool) -> None:
        self.names, self.scalars, self.wraps = names, scalars, wraps
        self.read: set[str] = set()
        """Names of the buffers that were read."""
        self.declare: Callable[[str, str], str] | None = None
        """Declares a local constant of a C type and value and returns its name; None where that is not
        allowed.
        """

    def bind(self, expr: Any, level: int) -> str:
        """The expression as a name or literal, or as it is where no local may be declared."""
        text, _ = _printed(expr, self)
        if self.declare is None or is_simple(expr):
            return at_level(expr, self, level)
        return self.declare(C_TYPES[dtype_of(expr)], text)

    def guarded(self, expr: Any, level: int) -> str:
        """The expression where it is evaluated only under a condition."""
        declare, self.declare = self.declare, None
        try:
            return at_level(expr, self, level)
        finally:
            self.declare = declare


def dtype_of(expr: Any) -> str:
    """The element type of a TIR expression."""
    return str(expr.ty.dtype)


def is_simple(expr: Any) -> bool:
    """True for an expression that may be repeated in a line of C: a name, a literal, an element at a simple
    index.
    """
    if isinstance(expr, ir.TensorLoad):
        return all(isinstance(index, ir.Var | tirx.IntImm) for index in expr.indices)
    return isinstance(expr, ir.Var | tirx.IntImm | tirx.FloatImm)


def at_level(expr: Any, scope: Scope, level: int = TERNARY) -> str:
    """The expression in C, in parentheses where it binds weaker than `level`."""
    text, own = _printed(expr, scope)
    return text if own >= level else f"({text})"


def literal(value: float, dtype: str) -> str:
    """A constant as C, exact to the bit (a NaN as the quiet one)."""
    if dtype == "bool":
        return "1" if value else "0"
    if dtype.startswith("float"):
        return _float_literal(float(value), dtype)
    if dtype.startswith("uint"):
        return f"UINT64_C({value})" if dtype == "uint64" else f"{value}u"
    if -(2**31) < value < 2**31:
        return str(value)
    if value == -(2**63):
        return "(-INT64_C(9223372036854775807) - 1)"
    return "(-2147483647 - 1)" if value == -(2**31) else f"INT64_C({value})"


def _float_literal(value: float, dtype: str) -> str:
    if dtype == "float16":
        return f"{int(np.float16(value).view(np.uint16))}u"
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = str(np.float32(value)) if dtype == "float32" else repr(value)
    text = text if set(text) & set(".e") else f"{text}.0"
    return f"{text}f" if dtype == "float32" else text


def _printed(expr: Any, scope: Scope) -> tuple[str, int]:
    kind = type(expr)
    if kind in _COMPUTING and _is_half(expr.a):
        raise UnprintableError(expr, "computes with float16, which C99 lacks,")
    if kind in _ARITHMETIC:
        return _arithmetic(expr, scope)
    if kind in _COMPARISONS:
        decided = _decided(expr)
        if decided is not None:
            return literal(decided, "bool"), PRIMARY
        sign, level = _COMPARISONS[kind]
        return f"{at_level(expr.a, scope, SUM)} {sign} {at_level(expr.b, scope, SUM)}", level
    if kind in _BITWISE:
        return _bitwise(expr.a, _BITWISE[kind], expr.b, scope)
    printer = _PRINTERS.get(kind)
    if printer is None:
        raise UnprintableError(expr)
    return printer(expr, scope)


def _decided(expr: Any) -> bool | None:
    """Whether a comparison with the least or largest number of its type is always true or never; None for
    others. Compilers warn of those.
    """
    dtype, a, b = dtype_of(expr.a), expr.a, expr.b
    if isinstance(expr, tirx.EQ | tirx.NE) or not dtype.startswith(("int", "uint")):
        return None
    if isinstance(expr, tirx.GT | tirx.GE):
        a, b = b, a
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if isinstance(expr, tirx.LT | tirx.GT):
        return False if _is_number(b, low) or _is_number(a, high) else None
    return True if _is_number(a, low) or _is_number(b, high) else None


def _is_number(expr: Any, value: int) -> bool:
    return isinstance(expr, tirx.IntImm) and int(expr.value) == value


def _is_half(expr: Any) -> bool:
    """True for a float16: its C type holds bits, which no operator of C may take for the number."""
    return dtype_of(expr) == "float16"


def _arithmetic(expr: Any, scope: Scope) -> tuple[str, int]:
    sign, level = _ARITHMETIC[type(expr)]
    dtype = dtype_of(expr)
    if isinstance(expr, tirx.Mod | tirx.FloorMod) and dtype.startswith("float"):
        raise UnprintableError(expr)
    if isinstance(expr, tirx.FloorDiv | tirx.FloorMod) and not _never_negative(expr):
        raise UnprintableError(expr, "of a possibly negative number must be lowered first")
    a, b = expr.a, expr.b
    if sign == "+" and isinstance(b, tirx.IntImm) and -(2**31) < int(b.value) < 0 and not scope.wraps:
        sign, b = "-", tirx.IntImm(dtype, -int(b.value))
    if scope.wraps and sign in _WRAPPING and dtype in ("int32", "int64") and _reads(expr):
        unsigned = f"u{C_TYPES[dtype]}"
        left, right = (f"({unsigned}){at_level(side, scope, UNARY)}" for side in (a, b))
        return f"({C_TYPES[dtype]})({left} {sign} {right})", UNARY
    text = f"{at_level(a, scope, level)} {sign} {at_level(b, scope, level + 1)}"
    if dtype in ("int8", "uint8", "int16", "uint16"):
        return f"({C_TYPES[dtype]})({text})", UNARY
    return text, level


def _never_negative(expr: Any) -> bool:
    """Unsigned operands divide alike towards zero and downwards."""
    return dtype_of(expr).startswith("uint")


def _reads(expr: Any) -> bool:
    """True where the value depends on stored data, not only on loop variables."""
    if isinstance(expr, ir.TensorLoad):
        return True
    parts = [getattr(expr, name, None) for name in ("a", "b", "value", "body", "true_value", "false_value")]
    children = [*parts, *getattr(expr, "args", ())]
    return any(isinstance(child, ir.Expr) and _reads(child) for child in children)


def _bitwise(a: Any, sign: str, b: Any, scope: Scope) -> tuple[str, int]:
    return f"{at_level(a, scope, UNARY)} {sign} {at_level(b, scope, UNARY)}", BITS


def _inverted(a: Any, scope: Scope) -> tuple[str, int]:
    """C inverts all bits of an `int`: those above a bool and a short unsigned number, too."""
    dtype, text = dtype_of(a), at_level(a, scope, UNARY)
    if dtype == "bool":
        return f"!{text}", UNARY
    return f"({C_TYPES[dtype]})~{text}" if dtype in ("uint8", "uint16") else f"~{text}", UNARY


def _shift_left(a: Any, b: Any, scope: Scope) -> tuple[str, int]:
    dtype = dtype_of(a)
    if dtype.startswith("uint"):
        return f"({C_TYPES[dtype]})({at_level(a, scope, UNARY)} << {at_level(b, scope, UNARY)})", UNARY
    one = f"(({C_TYPES[dtype]})1 << {at_level(b, scope, UNARY)})"
    if isinstance(b, tirx.IntImm):
        one = literal(1 << int(b.value), "int64" if dtype == "int64" else "int32")
    if isinstance(a, tirx.IntImm) and int(a.value) == 1:
        return one, PRIMARY
    return f"{at_level(a, scope, PRODUCT)} * {one}", PRODUCT


def _shift_right(a: Any, b: Any, scope: Scope) -> tuple[str, int]:
    text, dtype = f"{at_level(a, scope, UNARY)} >> {at_level(b, scope, UNARY)}", dtype_of(a)
    return (f"({C_TYPES[dtype]})({text})", UNARY) if dtype in ("uint8", "uint16") else (text, SHIFT)


def _extremum(expr: Any, scope: Scope) -> tuple[str, int]:
    sign = "<" if isinstance(expr, tirx.Min) else ">"
    a, b = scope.bind(expr.a, UNARY), scope.bind(expr.b, UNARY)
    return f"{a} {sign} {b} ? {a} : {b}", TERNARY


def _selection(condition: Any, yes: Any, no: Any, scope: Scope) -> tuple[str, int]:
    test = at_level(condition, scope, UNARY)
    return f"{test} ? {scope.guarded(yes, UNARY)} : {scope.guarded(no, UNARY)}", TERNARY


def _logical(expr: Any, scope: Scope) -> tuple[str, int]:
    sign, level = ("&&", CONJUNCTION) if isinstance(expr, tirx.And) else ("||", DISJUNCTION)
    sides = []
    for side in (expr.a, expr.b):
        # Compilers ask for parentheses where && stands beside ||.
        own = level if type(side) is type(expr) else EQUALITY
        sides.append(at_level(side, scope, own) if side is expr.a else scope.guarded(side, own))
    return f"{sides[0]} {sign} {sides[1]}", level


def _cast(expr: Any, scope: Scope) -> tuple[str, int]:
    target = dtype_of(expr)
    if target == "bool":
        return f"{at_level(expr.value, scope, SUM)} != 0", EQUALITY
    if target not in C_TYPES or target == "float16" or _is_half(expr.value):
        raise UnprintableError(expr, f"casts {dtype_of(expr.value)} to {target}, which C99 lacks,")
    if dtype_of(expr.value).startswith("float") and "int" in target and not is_within(expr.value, target):
        return _whole(expr.value, target, scope)
    return f"({C_TYPES[target]}){at_level(expr.value, scope, UNARY)}", UNARY


def _whole(value: Any, target: str, scope: Scope) -> tuple[str, int]:
    """A float that may be outside of a type, or no number, which C leaves undefined. The result is that of
    x86-64: of a type of 8 or 16 bits, and of uint32, the low bits of the next wider signed number; of this
    one its least where it does not hold the float either.
    """
    text, wider = scope.bind(value, UNARY), _WIDER.get(target, target)
    suffix, end = "f" if dtype_of(value) == "float32" else "", 2 ** (np.iinfo(wider).bits - 1)
    inside = f"{text} >= -{end}.0{suffix} && {text} < {end}.0{suffix}"
    whole = f"{inside} ? ({C_TYPES[wider]}){text} : {literal(-end, wider)}"
    if target == wider:
        return whole, TERNARY
    narrow = f"({C_TYPES[target]})({whole})"
    if target != "uint64":
        return narrow, UNARY
    above = f"{text} >= {end}.0{suffix} && {text} < {2 * end}.0{suffix}"
    return f"{above} ? ({C_TYPES[target]}){text} : {narrow}", TERNARY


def _load(expr: Any, scope: Scope) -> tuple[str, int]:
    name = scope.names.get(expr.source)
    if name is None:
        raise UnprintableError(expr, "reads a buffer that is neither parameter nor local")
    scope.read.add(name)
    if expr.source in scope.scalars:
        return name, PRIMARY
    if len(expr.indices) != 1:
        raise UnprintableError(expr, "has several indices: flatten first")
    return f"{name}[{at_level(expr.indices[0], scope)}]", PRIMARY


def _variable(expr: Any, scope: Scope) -> tuple[str, int]:
    if expr not in scope.names:
        raise UnprintableError(expr, "is not bound")
    return scope.names[expr], PRIMARY


def _constant(expr: Any, _scope: Scope) -> tuple[str, int]:
    text = literal(expr.value, dtype_of(expr))
    return text, UNARY if text.startswith("-") else PRIMARY


def _let(expr: Any, scope: Scope) -> tuple[str, int]:
    """A local constant, or where none may be declared, the value in place of its name."""
    value = at_level(expr.value, scope, PRIMARY)
    if scope.declare is not None:
        value = scope.declare(C_TYPES[dtype_of(expr.value)], value)
    scope.names[expr.var] = value
    return _printed(expr.body, scope)


def _call(expr: Any, scope: Scope) -> tuple[str, int]:
    name = str(getattr(expr.op, "name", "")).rpartition(".")[2]
    if name == "reinterpret":
        return _reinterpreted(expr, scope)
    printer = _CALLS.get(name)
    return printer(list(expr.args), scope) if printer is not None else _math_call(expr, name, scope)


def _extern(args: list[Any], scope: Scope) -> tuple[str, int]:
    return f"{args[0].value}({', '.join(at_level(arg, scope) for arg in args[1:])})", PRIMARY


def _reinterpreted(expr: Any, scope: Scope) -> tuple[str, int]:
    """The bits of a value as another type: of C's ways the one that no optimizer may take apart."""
    (value,) = expr.args
    source, target = C_TYPES[dtype_of(value)], C_TYPES[dtype_of(expr)]
    return f"((union {{ {source} from; {target} to; }}){{{at_level(value, scope)}}}).to", PRIMARY


def _math_call(expr: Any, name: str, scope: Scope) -> tuple[str, int]:
    args = list(expr.args)
    dtype = dtype_of(args[0]) if args else ""
    suffix = {"float32": "f", "float64": ""}.get(dtype)
    if suffix is None:
        raise UnprintableError(expr)
    if name in ("isnan", "isinf", "isfinite"):
        return f"{name}({at_level(args[0], scope)})", PRIMARY
    one = literal(1.0, dtype)
    if name == "rsqrt":
        return f"{one} / sqrt{suffix}({at_level(args[0], scope)})", PRODUCT
    if name == "sigmoid":
        return f"{one} / ({one} + exp{suffix}(-{at_level(args[0], scope, UNARY)}))", PRODUCT
    name = "nearbyint" if name == "round" else name
    if name not in _C_MATH:
        raise UnprintableError(expr)
    return f"{name}{suffix}({', '.join(at_level(arg, scope) for arg in args)})", PRIMARY


_CALLS: Mapping[str, Callable[[list[Any], Scope], tuple[str, int]]] = {
    "if_then_else": lambda args, scope: _selection(args[0], args[1], args[2], scope),
    "likely": lambda args, scope: _printed(args[0], scope),
    "bitwise_and": lambda args, scope: _bitwise(args[0], "&", args[1], scope),
    "bitwise_or": lambda args, scope: _bitwise(args[0], "|", args[1], scope),
    "bitwise_xor": lambda args, scope: _bitwise(args[0], "^", args[1], scope),
    "bitwise_not": lambda args, scope: _inverted(args[0], scope),
    "shift_left": lambda args, scope: _shift_left(args[0], args[1], scope),
    "shift_right": lambda args, scope: _shift_right(args[0], args[1], scope),
    "call_pure_extern": _extern,
    "call_extern": _extern,
}
_PRINTERS: Mapping[type, Callable[[Any, Scope], tuple[str, int]]] = {
    ir.Var: _variable,
    tirx.IntImm: _constant,
    tirx.FloatImm: _constant,
    tirx.Cast: _cast,
    ir.TensorLoad: _load,
    ir.Call: _call,
    tirx.Let: _let,
    tirx.Min: _extremum,
    tirx.Max: _extremum,
    tirx.And: _logical,
    tirx.Or: _logical,
    tirx.Not: lambda expr, scope: (f"!{at_level(expr.a, scope, UNARY)}", UNARY),
    tirx.Select: lambda expr, scope: _selection(expr.condition, expr.true_value, expr.false_value, scope),
    tirx.LShift: lambda expr, scope: _shift_left(expr.a, expr.b, scope),
    tirx.RShift: lambda expr, scope: _shift_right(expr.a, expr.b, scope),
    tirx.BitwiseNot: lambda expr, scope: _inverted(expr.a, scope),
}
