"""Images of another size: the nearest pixel, or some of them weighed."""

from functools import reduce
from itertools import product
from operator import add
from typing import Any

from tvm import tirx

from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.te.definition import Definition
from target_arch.relax.te.fixed_point import bound, truncated_quotient, wide

FRACTION = 10
"""Bits below the binary point of a place in the image."""


def nearest(operator: Operator, model: Model) -> Definition:
    """Pixel (`constant0[y]`, `constant1[x]`) of the image."""
    given = operands_of(operator, model)
    x, rows, columns = given.data
    return given.finished(lambda b, i, j, k: x[b, rows[i].astype("int32"), columns[j].astype("int32"), k])


def bilinear(operator: Operator, model: Model) -> Definition:
    """Stored pixels of two rows and two columns, weighed in fixed point and rounded half away from zero.

    Constants: the upper row of each output row, the lower one, the weight of the lower one in 1/1024, and the
    same for columns.
    """
    given = operands_of(operator, model)
    x, *tables = given.data
    one = wide(1 << FRACTION)

    def element(b: Any, i: Any, j: Any, k: Any) -> Any:
        rows, columns = (
            [table[index].astype("int32") for table in tables[first : first + 2]]
            for first, index in ((0, i), (3, j))
        )
        down, right = tables[2][i].astype("int64"), tables[5][j].astype("int64")
        total = wide(0)
        for row, high in zip(rows, (one - down, down), strict=True):
            for column, long in zip(columns, (one - right, right), strict=True):
                total = total + x[b, row, column, k].astype("int64") * high * long
        return _rounded(total).astype(given.out.dtype)

    return given.finished(element)


def _rounded(total: Any) -> Any:
    half = wide(1 << (2 * FRACTION - 1))

    def nudged(value: Any) -> Any:
        return truncated_quotient(
            tirx.Select(value > wide(0), value + half, value - half), 1 << (2 * FRACTION)
        )

    return bound(total, nudged)


def bilinear_real(operator: Operator, model: Model) -> Definition:
    """Stored pixels, none of them negative, weighed in float32 and rounded half up, in LiteRT's order of
    operations. Constants as for `bilinear`, with weights in float32.

    Source: LiteRT `kernels/internal/reference/resize_bilinear.h`.
    """
    given = operands_of(operator, model)
    x, *tables = given.data
    one = tirx.const(1.0, "float32")

    def element(b: Any, i: Any, j: Any, k: Any) -> Any:
        rows, columns = (
            [table[index].astype("int32") for table in tables[first : first + 2]]
            for first, index in ((0, i), (3, j))
        )
        down, right = tables[2][i], tables[5][j]
        parts = [
            x[b, row, column, k].astype("float32") * high * long
            for column, long in zip(columns, (one - right, right), strict=True)
            for row, high in zip(rows, (one - down, down), strict=True)
        ]
        total = parts[0] + parts[1] + parts[2] + parts[3] + tirx.const(0.5, "float32")
        return total.astype(given.out.dtype)

    return given.finished(element)


def weighed(operator: Operator, model: Model) -> Definition:
    """Sums of pixels of some rows and columns, each times the weights of its row and of its column, in the
    order of rows.

    Constants: the rows for each output row and their weights, and the same for columns, as [places, taps].
    Channels are innermost and share their weights, so that compilers compute several at once.
    """
    given = operands_of(operator, model)
    x, rows, down, columns, right = given.data
    taps = [*product(range(given.tensors[1].shape[1]), range(given.tensors[3].shape[1]))]

    def element(b: Any, i: Any, j: Any, k: Any) -> Any:
        parts = [x[b, rows[i, r], columns[j, c], k] * (down[i, r] * right[j, c]) for r, c in taps]
        return reduce(add, parts)

    return given.finished(element)


DEFINITIONS = {
    "nearest": nearest,
    "bilinear": bilinear,
    "bilinear_real": bilinear_real,
    "weighed": weighed,
}
