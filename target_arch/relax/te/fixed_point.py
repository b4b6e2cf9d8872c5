"""LiteRT's fixed-point steps as TE expressions on int64, for definitions that write them out.

A value that is named twice is bound to a local constant first (`bound`).
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.plan.arithmetic import Rounding
from target_arch.relax.te.scaling import right_shift, rounded_shift, scaled_product


def wide(value: int) -> Any:
    """An int64 constant."""
    return tirx.const(value, "int64")


def bound(value: Any, use: Callable[[Any], Any]) -> Any:
    """`use` of a local constant that holds the value."""
    name = tirx.Var("value", str(value.ty.dtype))
    return tirx.Let(name, value, use(name))


@frozen(kw_only=True)
class Scale:
    """A real multiplier in fixed point; `shift` is positive to the left, as `plan.arithmetic` states it."""

    multiplier: int
    shift: int
    rounding: Rounding = Rounding.TFLITE

    def of(self, value: Any) -> Any:
        """The scaled value, int64."""
        right = right_shift(self.rounding, self.shift)
        return scaled(self.rounding, value, wide(self.multiplier), wide(right), right)


def scaled(rounding: Rounding, value: Any, multiplier: Any, right: Any, least: int) -> Any:
    """An int64 value times a multiplier; `right` is how far its requantizer shifts, `least` a bound of it."""
    product = scaled_product(rounding, value, multiplier, right, least)
    return bound(product, lambda high: rounded_shift(rounding, high, right, least))


def truncated_quotient(value: Any, divisor: int) -> Any:
    """C's division of an int64 by a positive number: towards zero."""
    return bound(
        value,
        lambda v: tirx.Select(
            v >= wide(0), tirx.floordiv(v, wide(divisor)), -tirx.floordiv(-v, wide(divisor))
        ),
    )
