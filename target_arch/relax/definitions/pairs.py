"""Two tensors element by element, each repeated along dimensions where its extent is 1: LiteRT's arithmetic.

Attributes: `swapped` is 1 where the second operand comes first; `offset0` and `offset1` are added to stored
values, `multiplier_*` and `shift_*` scale them, `offset`, `low` and `high` finish the result.
"""

import operator as operators
from collections.abc import Callable, Mapping
from typing import Any

from tvm import tirx

from target_arch.plan.arithmetic import Rounding
from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions.operands import Operands, operands_of
from target_arch.relax.te.definition import Definition, stage
from target_arch.relax.te.fixed_point import Scale, bound, wide
from target_arch.relax.te.scaling import clamped, rounded_shift, scaled_product

Combine = Callable[[Any, Any], Any]

COMPARISONS: Mapping[str, Combine] = {
    "equal": tirx.EQ,
    "not_equal": tirx.NE,
    "less": operators.lt,
    "less_equal": operators.le,
    "greater": operators.gt,
    "greater_equal": operators.ge,
}


def scaled_sum(operator: Operator, model: Model) -> Definition:
    """Both operands shifted to the left and scaled by themselves, their sum (difference, square of the
    difference) scaled again.
    """
    given = operands_of(operator, model)
    combine = _SUMS[given.text("combine")]

    def element(*i: Any) -> Any:
        total = combine(*(_scaled(given, side, i) for side in (0, 1)))
        return _finished(given, _scale(given, "out").of(total))

    return given.finished(element)


def product(operator: Operator, model: Model) -> Definition:
    """The product of both operands, scaled."""
    given = operands_of(operator, model)

    def element(*i: Any) -> Any:
        product = _stored(given, 0, i) * _stored(given, 1, i)
        return _finished(given, _scale(given, "out").of(product))

    return given.finished(element)


def quotient(operator: Operator, model: Model) -> Definition:
    """Stored values of eight bits over others, by tables (`plan.quotients`): the first two of the dividend
    plus its largest magnitude, the others of the magnitude of the divisor.
    """
    given = operands_of(operator, model)
    shifted, headrooms, reciprocals, bits = given.data[2:]
    largest = (given.tensors[2].shape[0] - 1) // 2

    def signed(*i: Any) -> Any:
        p, q = (_stored(given, side, i) for side in (0, 1))
        return bound(p, lambda value: tirx.Select(q < wide(0), -value, value) + wide(largest))

    def magnitude_of_divisor(*i: Any) -> Any:
        return bound(_stored(given, 1, i), lambda q: tirx.Select(q < wide(0), -q, q))

    top = stage("top", given.axes, signed)
    bottom = stage("bottom", given.axes, magnitude_of_divisor)

    def element(*i: Any) -> Any:
        one = wide(1)
        above, below = shifted[top(*i)].astype("int64"), reciprocals[bottom(*i)].astype("int64")
        whole = scaled_product(Rounding.TFLITE, above, below, one, 1)
        high = scaled_product(Rounding.TFLITE, whole, wide(given.number("multiplier_out")), one, 1)
        bits_of_all = headrooms[top(*i)].astype("int64") + bits[bottom(*i)].astype("int64")
        right = bits_of_all - wide(given.number("shift_out"))
        rounded = bound(high, lambda h: bound(right, lambda r: rounded_shift(Rounding.TFLITE, h, r, 0)))
        return _finished(given, rounded)

    return given.finished(element, before=("top", "bottom"))


def scaled_comparison(operator: Operator, model: Model) -> Definition:
    """Both operands scaled by themselves and compared."""
    given = operands_of(operator, model)
    compare = COMPARISONS[given.text("combine")]
    return given.finished(lambda *i: compare(*(_scaled(given, side, i) for side in (0, 1))))


def shifted_sum(operator: Operator, model: Model) -> Definition:
    """int16 values whose scales are powers of two: one operand is shifted to the right, rounded half away
    from zero, and the sum (difference) saturates.
    """
    given = operands_of(operator, model)
    combine = _SUMS[given.text("combine")]

    def side(index: int, i: tuple[Any, ...]) -> Any:
        return _halved(_stored(given, index, i), given.number(f"right{index}"))

    def element(*i: Any) -> Any:
        total = clamped(combine(side(0, i), side(1, i)), -(2**15), 2**15 - 1)
        return clamped(total, given.number("low"), given.number("high")).astype(given.out.dtype)

    return given.finished(element)


def chosen(operator: Operator, model: Model) -> Definition:
    """The greater (or the less) of two values of one type, or whether they compare."""
    given = operands_of(operator, model)
    combine = {"maximum": tirx.max, "minimum": tirx.min, **COMPARISONS}[given.text("combine")]
    return given.finished(lambda *i: combine(_at(given, 0, i), _at(given, 1, i)))


def selected(operator: Operator, model: Model) -> Definition:
    """The second operand where the first, a bool, is true, else the third."""
    given = operands_of(operator, model)
    return given.finished(lambda *i: tirx.Select(*(_repeated(given, number, i) for number in range(3))))


def leaky(operator: Operator, model: Model) -> Definition:
    """Values from zero on scaled by `multiplier0`, negative ones times the second operand, scaled by
    `multiplier1` (PRELU), or alone (LEAKY_RELU).
    """
    given = operands_of(operator, model)

    def either(x: Any, i: tuple[Any, ...]) -> Any:
        negative = x * _stored(given, 1, i) if len(given.data) > 1 else x
        scaled = _scale(given, "0").of(x), _scale(given, "1").of(negative)
        return bound(scaled[0], lambda p: bound(scaled[1], lambda n: tirx.Select(x >= wide(0), p, n)))

    return given.finished(lambda *i: _finished(given, bound(_stored(given, 0, i), lambda x: either(x, i))))


def magnitude(operator: Operator, model: Model) -> Definition:
    """Absolute values, scaled by `multiplier_0`."""
    given = operands_of(operator, model)

    def scaled(x: Any) -> Any:
        return _scale(given, "0").of(tirx.Select(x >= wide(0), x, -x))

    return given.finished(lambda *i: _finished(given, bound(_stored(given, 0, i), scaled)))


def _halved(value: Any, right: int) -> Any:
    """value / 2**right, rounded half away from zero."""
    if right == 0:
        return value
    return bound(value, lambda v: (v + wide(1 << (right - 1)) - (v < wide(0)).astype("int64")) >> wide(right))


def _scale(given: Operands, which: str) -> Scale:
    rounding = Rounding(str(given.operator.attributes.get("rounding", "tflite")))
    return Scale(
        multiplier=given.number(f"multiplier_{which}"),
        shift=given.number(f"shift_{which}"),
        rounding=rounding,
    )


def _at(given: Operands, side: int, i: tuple[Any, ...]) -> Any:
    """The element of operand `side`; a constant comes last, so that the first one may be the second here."""
    return _repeated(given, side ^ given.number("swapped"), i)


def _repeated(given: Operands, number: int, i: tuple[Any, ...]) -> Any:
    shape = given.tensors[number].shape or (1,)
    last = i[len(i) - len(shape) :]
    return given.data[number](
        *(0 if extent == 1 else index for index, extent in zip(last, shape, strict=True))
    )


def _stored(given: Operands, side: int, i: tuple[Any, ...]) -> Any:
    offset = given.number(f"offset{side}")
    value = _at(given, side, i).astype("int64")
    return value + wide(offset) if offset else value


def _scaled(given: Operands, side: int, i: tuple[Any, ...]) -> Any:
    value = _stored(given, side, i) * wide(1 << given.number("left_shift"))
    return _scale(given, str(side)).of(value)


def _finished(given: Operands, value: Any) -> Any:
    value = value + wide(given.number("offset"))
    return clamped(value, given.number("low"), given.number("high")).astype(given.out.dtype)


_SUMS: Mapping[str, Combine] = {
    "add": operators.add,
    "sub": operators.sub,
    "squared_difference": lambda a, b: bound(a - b, lambda d: d * d),
}

DEFINITIONS = {
    "scaled_sum": scaled_sum,
    "scaled_product": product,
    "quotient": quotient,
    "scaled_comparison": scaled_comparison,
    "shifted_sum": shifted_sum,
    "chosen": chosen,
    "selected": selected,
    "leaky": leaky,
    "magnitude": magnitude,
}
