"""Rows of floats with a mean of zero and a variance of one, and rows of stored values divided by their
Euclidean norm, as LiteRT computes them in integers.

Sources: LiteRT `kernels/internal/reference/integer_ops/l2normalization.h` (int8) and
`reference/l2normalization.h` (uint8), `kernels/internal/common.h` (GetInvSqrtQuantizedMultiplierExp), and
gemmlowp `fixedpoint/fixedpoint.h`.
"""

from math import prod
from typing import Any

from tvm import te, tirx

from target_arch.plan.arithmetic import DTYPE_RANGE, Rounding
from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.te.definition import Axes, Definition, stage
from target_arch.relax.te.fixed_point import scaled, wide
from target_arch.relax.te.scaling import clamped

_OUTPUT_BITS = 7
"""The output counts steps of 2**-7."""
_ONE = 1 << 28
"""One with three integer bits, the unit of Newton's iteration."""
_HALF_ROOT_OF_TWO = 1518500250
"""sqrt(2) / 2 without integer bits."""
_ITERATIONS = 5
_MOST_PAIRS = 14
_STAGES = (
    "total",
    "pairs",
    "half",
    *(f"{name}{number}" for number in range(_ITERATIONS) for name in ("square", "cube", "root")),
    "inverse",
)


def layer_norm(operator: Operator, model: Model) -> Definition:
    """Rows of `length` floats, each less its mean and divided by the root of its variance plus `epsilon`,
    times the first constant plus the second one, place by place. The variance is the mean of squared
    differences from the mean: that of squares less the square of the mean is wrong of values far from zero.
    """
    given = operands_of(operator, model)
    length = given.number("length")
    rows = prod(given.out.shape) // length
    x = te.placeholder((rows, length), "float32", name="x0")
    scale, offset = (te.placeholder((length,), "float32", name=name) for name in ("x1", "x2"))
    mean, inverse = _moments(x, (("k", length),), given.real("epsilon"))
    axes = (("row", rows), ("k", length))
    out = stage("out", axes, lambda i, k: (x[i, k] - mean[i]) * inverse[i] * scale[k] + offset[k])
    return Definition(arguments=(x, scale, offset, out), schedule=_layer_by_layer)


def _moments(x: Any, within: Axes, epsilon: float) -> tuple[Any, Any]:
    """The mean of each row, which has these axes, and one over the root of its variance plus `epsilon`."""
    row = (("row", x.shape[0]),)
    first, second = ([te.reduce_axis((0, extent), name=name) for name, extent in within] for _ in range(2))
    share = tirx.const(1 / prod(extent for _, extent in within), "float32")
    total = stage("total", row, lambda i: te.sum(x[(i, *first)], axis=first))
    mean = stage("mean", row, lambda i: total[i] * share)

    def squared(i: Any) -> Any:
        less = x[(i, *second)] - mean[i]
        return te.sum(less * less, axis=second)

    apart, one = stage("apart", row, squared), tirx.const(1.0, "float32")
    added = tirx.const(epsilon, "float32")
    return mean, stage("inverse", row, lambda i: one / tirx.sqrt(apart[i] * share + added))


def group_norm(operator: Operator, model: Model) -> Definition:
    """Images [N,C,...] in `groups` of channels, each group as a row of `layer_norm`; a channel has an element
    of both constants.
    """
    given = operands_of(operator, model)
    images, channels, *places = given.out.shape
    groups, run = given.number("groups"), prod(places)
    each, rows = channels // groups, images * groups
    x = te.placeholder((rows, each, run), "float32", name="x0")
    scale, offset = (te.placeholder((channels,), "float32", name=name) for name in ("x1", "x2"))
    mean, inverse = _moments(x, (("c", each), ("k", run)), given.real("epsilon"))

    def element(i: Any, c: Any, k: Any) -> Any:
        channel = tirx.floormod(i, groups) * each + c
        return (x[i, c, k] - mean[i]) * inverse[i] * scale[channel] + offset[channel]

    out = stage("out", (("row", rows), ("c", each), ("k", run)), element)
    return Definition(arguments=(x, scale, offset, out), schedule=_layer_by_layer)


def batch_norm(operator: Operator, model: Model) -> Definition:
    """Images [N,C,...], each channel times its element of the first constant plus that of the second: mean
    and variance, which are known, are in both.
    """
    images, channels, *places = operands_of(operator, model).out.shape
    x = te.placeholder((images, channels, prod(places)), "float32", name="x0")
    scale, offset = (te.placeholder((channels,), "float32", name=name) for name in ("x1", "x2"))
    axes = (("n", images), ("c", channels), ("k", prod(places)))
    out = stage("out", axes, lambda n, c, k: x[n, c, k] * scale[c] + offset[c])
    return Definition(arguments=(x, scale, offset, out), schedule=lambda _: None)


def _layer_by_layer(sch: Any) -> None:
    row = sch.get_loops(sch.get_sblock("out"))[0]
    for name in ("inverse", "apart", "mean", "total"):
        sch.compute_at(sch.get_sblock(name), row, preserve_unit_loops=True)
    for name in ("total", "apart"):
        block = sch.get_sblock(name)
        sch.decompose_reduction(block, sch.get_loops(block)[1])


def unit_rows(operator: Operator, model: Model) -> Definition:
    """Stored int8 or uint8 values plus `offset0`, each divided by the norm of its row (the last axis); the
    result counts 1/128 from `offset`. A row of zeros stays one.
    """
    given = operands_of(operator, model)
    length = prod(given.out.shape[-1:])
    rows = prod(given.out.shape) // length
    x = te.placeholder((rows, length), given.out.dtype, name="x0")
    row, axes = (("row", rows),), (("row", rows), ("k", length))
    index = te.reduce_axis((0, length), name="k")

    def centred(i: Any, k: Any) -> Any:
        return x[i, k].astype("int32") + given.number("offset0")

    total = stage("total", row, lambda i: te.sum(centred(i, index) * centred(i, index), axis=[index]))
    pairs = stage("pairs", row, lambda i: _pairs_of_bits(total[i]))
    root = _root(total, pairs)
    inverse = stage("inverse", row, lambda i: _multiplier(total[i], pairs[i], root[i]))

    def element(i: Any, k: Any) -> Any:
        value, right = centred(i, k).astype("int64"), _right(total[i], pairs[i])
        if given.out.dtype == "uint8":
            quotient = scaled(Rounding.TFLITE, value * wide(1 << _OUTPUT_BITS), inverse[i], right, 0)
        else:
            fewer = right - wide(_OUTPUT_BITS)
            quotient = scaled(Rounding.TFLITE, value, inverse[i], fewer, -_OUTPUT_BITS)
        stored = quotient + wide(given.number("offset"))
        return clamped(stored, *DTYPE_RANGE[given.out.dtype]).astype(given.out.dtype)

    out = stage("out", axes, element)
    return Definition(arguments=(x, out), schedule=_row_by_row)


def _pairs_of_bits(total: Any) -> Any:
    """j where 2 * 4**j <= total < 8 * 4**j; 0 for less than two."""
    return sum((total >= 1 << (2 * pair + 1)).astype("int64") for pair in range(1, _MOST_PAIRS + 1))


def _right(total: Any, pairs: Any) -> Any:
    """How far a product with the inverse root is shifted to the right."""
    return tirx.Select(total > 1, tirx.max(pairs - wide(2), wide(0)), wide(0))


def _root(total: Any, pairs: Any) -> Any:
    """1 / sqrt of the totals, each times a power of four: a stage for each step of Newton's iteration, from
    one.
    """
    row = (("row", int(total.shape[0])),)

    def scaled_half(i: Any) -> Any:
        moved = total[i].astype("int64") * wide(1 << 26)
        return (tirx.shift_right(moved, wide(2) * pairs[i] + wide(1)) + wide(1)) >> wide(1)

    half = stage("half", row, scaled_half)
    found = None
    for number in range(_ITERATIONS):
        found = _iterated(f"{number}", row, half, found)
    return found


def _iterated(number: str, row: Axes, half: Any, before: Any) -> Any:
    """The following approximation: x * (3/2 - half * x**2)."""

    def x(i: Any) -> Any:
        return wide(_ONE) if before is None else before[i]

    square = stage(f"square{number}", row, lambda i: _product(x(i), x(i)))
    cube = stage(f"cube{number}", row, lambda i: _times(_product(square[i], x(i)), 6))

    def following(i: Any) -> Any:
        return _times(_product(wide(_ONE + _ONE // 2), x(i)) - _product(half[i], cube[i]), 3)

    return stage(f"root{number}", row, following)


def _multiplier(total: Any, pairs: Any, root: Any) -> Any:
    """1 / sqrt(total) as an int32 multiplier, held in int64. LiteRT takes 0 and 1 for the greatest one."""
    less = tirx.max(wide(2) - pairs, wide(0))
    found = tirx.shift_left(_product(root, wide(_HALF_ROOT_OF_TWO)), less)
    return tirx.Select(total > 1, found, wide(2**31 - 1))


def _product(a: Any, b: Any) -> Any:
    """a * b / 2**31, rounded half up."""
    return (a * b + wide(1 << 30)) >> wide(31)


def _times(value: Any, bits: int) -> Any:
    """value * 2**bits within int32."""
    return clamped(value * wide(1 << bits), -(2**31), 2**31 - 1)


def _row_by_row(sch: Any) -> None:
    row = sch.get_loops(sch.get_sblock("out"))[0]
    for name in reversed(_STAGES):
        sch.compute_at(sch.get_sblock(name), row, preserve_unit_loops=True)
    total = sch.get_sblock("total")
    sch.decompose_reduction(total, sch.get_loops(total)[1])


DEFINITIONS = {
    "batch_norm": batch_norm,
    "group_norm": group_norm,
    "layer_norm": layer_norm,
    "unit_rows": unit_rows,
}
