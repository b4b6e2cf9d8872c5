"""The forms in C: a TE definition over the same packed operands, one output after the other."""

from collections.abc import Callable
from typing import Any

from tvm import te, tirx

from target_arch.backends.cores.hvx.requantizer import Requantizer
from target_arch.backends.cores.hvx.windows import ImageWindows
from target_arch.relax.te.definition import Definition, guarded, one_by_one, stage
from target_arch.relax.te.windows import all_inside, under

Terms = Callable[[Any, Any, tuple[Any, ...]], Any]
"""A sum for output (image, row, column, channel) of the operands x and w."""


def behaviour(
    at: ImageWindows,
    outputs: int,
    packed: tuple[tuple[int, ...], int],
    requantizer: Requantizer,
    terms: Terms,
    lane: Callable[[Any], Any] = lambda channel: channel,
) -> Definition:
    """The definition of a form whose weights and scales are `packed`: the shape of weights, and how many
    scales there are in each of three rows.
    """
    shape, lanes = packed
    x = te.placeholder((at.batch, *at.image, at.channels), "int8", name="x")
    w = te.placeholder(shape, "int8", name="w")
    scales = te.placeholder((3, lanes), "int32", name="scales")
    axes = (("n", at.batch), ("oy", at.out[0]), ("ox", at.out[1]), ("k", outputs))
    acc = stage("acc", axes, lambda *index: terms(x, w, index))

    def output(b: Any, i: Any, j: Any, k: Any) -> Any:
        return requantizer.element(acc(b, i, j, k) + scales[0, lane(k)], scales, lane(k), "int8")

    out = stage("out", axes, output)
    return Definition(arguments=(x, w, scales, out), schedule=one_by_one(("acc",), ("acc",)))


def summed_over(**extents: int) -> list[Any]:
    """Axes to sum over, by their names."""
    return [te.reduce_axis((0, extent), name=name) for name, extent in extents.items()]


def seen(
    at: ImageWindows, x: Any, index: tuple[Any, ...], tap: tuple[Any, Any], channel: Any, pad: int
) -> Any:
    """The value of a channel at element `tap` (row, column) of the kernel; `pad` outside the image."""
    image, *spot, _ = index
    position = under(at.axes, spot, tap)
    value = x[image, *position, channel].astype("int32")
    return guarded(all_inside(at.axes, position), value, tirx.const(pad, "int32"))
