"""The TE definition of an operator kind as a value, and pieces that several kinds share.

A definition computes one operator on flat shapes of its own choosing (a C function sees pointers, not
shapes), names its stages, and says how they are scheduled. Tests: `tests/backends/c/test_kernels.py`.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from attrs import frozen
from tvm import te, tirx

from target_arch.plan.model import Model, Operator, Tensor


@frozen(kw_only=True, eq=False)
class Definition:
    """`arguments` in the order of the C function: inputs, constants, packed constants, output.

    `schedule` transforms the `tvm.s_tir.Schedule` of the function made from them. `packed` are the
    constants beyond the operator's own. `stages` are those of an elementwise operator before `out`.
    """

    arguments: tuple[Any, ...]
    schedule: Callable[[Any], None]
    packed: tuple["Packed", ...] = ()
    stages: tuple[str, ...] = ()


Tail = Callable[[Any, "Axes"], Definition]
"""The operator that follows in the same function: from a stage and its axes to a definition that reads it
elementwise. The stage is no argument of that definition.
"""


@frozen(kw_only=True)
class Packed:
    """A constant that the lowering makes for an operator: `<operator id>.<suffix>`."""

    suffix: str
    dtype: str
    values: tuple[float, ...]

    def tensor(self, operator: Operator) -> Tensor:
        """The constant as a tensor of the model."""
        data = np.asarray(self.values, dtype=np.dtype(self.dtype).newbyteorder("<")).tobytes()
        return Tensor(
            name=f"{operator.id}.{self.suffix}", shape=(len(self.values),), dtype=self.dtype, data=data
        )

    def placeholder(self) -> Any:
        """The constant as an argument of a definition."""
        return te.placeholder((len(self.values),), self.dtype, name=self.suffix)


def tensor_of(model: Model, operator: Operator, index: int) -> Tensor:
    """The index-th operand of an operator: inputs first, then constants."""
    return model.tensors[(*operator.inputs, *operator.constants)[index]]


Axes = tuple[tuple[str, int], ...]
"""Name and extent of every axis of a stage; the names are those of the loops in C."""


def stage(name: str, axes: Axes, value: Callable[..., Any]) -> Any:
    """A TE stage. `value(*indices)` gives its element."""
    names = [axis for axis, _ in axes]
    shape = tuple(extent for _, extent in axes)

    def element(*index: Any) -> Any:
        return value(*index)

    return te.compute(shape, element, name=name, varargs_names=names)


def placeholder(tensor: Tensor, shape: Sequence[int], name: str) -> Any:
    """An argument with the bytes of a tensor, in the shape a definition wants it."""
    return te.placeholder(tuple(shape), tensor.dtype, name=name)


def activated(value: Any, activation: str) -> Any:
    """A float32 value after `none`, `relu` or `relu6`."""
    if activation == "none":
        return value
    value = tirx.max(value, tirx.const(0.0, "float32"))
    return tirx.min(value, tirx.const(6.0, "float32")) if activation == "relu6" else value


def activation_of(operator: Operator) -> str:
    """The float activation of an operator. ValueError for one that is not known here."""
    activation = str(operator.attributes.get("activation", "none"))
    if activation not in ("none", "relu", "relu6"):
        raise ValueError(f"`{operator.id}`: activation {activation} is not known")
    return activation


def innermost(schedule: Any, block: str) -> Any:
    """The innermost loop of a block."""
    return schedule.get_loops(schedule.get_sblock(block))[-1]


def guarded(condition: Any, value: Any, otherwise: Any) -> Any:
    """The value under a condition; the value itself where there is none."""
    return value if condition is None else tirx.if_then_else(condition, value, otherwise)


def image_axes(tensor: Tensor) -> Axes:
    """The axes of an NHWC tensor."""
    return tuple(zip(("n", "oy", "ox", "k"), tensor.shape, strict=True))


def elements(tensor: Tensor) -> int:
    """How many elements a tensor has."""
    return prod(tensor.shape)


def blocks(schedule: Any) -> list[str]:
    """Names of the blocks, in the order of computation. Stages that nothing reads have none: sums that a
    requantizer multiplies by 0 are left out by TVM.
    """
    root = schedule.get_sblock("root")
    return [str(schedule.get(block).name_hint) for block in schedule.get_child_blocks(root)]


def in_lanes(stages: Sequence[str], lanes: int) -> Callable[[Any], None]:
    """A schedule for a reduction `acc` whose last output axis is contiguous in all operands.

    Up to `lanes` neighbours are reduced side by side, in as many accumulators; `stages` follow for each
    of them.
    """

    def schedule(sch: Any) -> None:
        extent, there = int(sch.get(innermost(sch, "out")).extent), blocks(sch)
        count = max(lane for lane in range(1, lanes + 1) if extent % lane == 0)
        outer, inner = sch.split(innermost(sch, "out"), [None, count])
        for name in reversed(stages):
            if name in there:
                sch.compute_at(sch.get_sblock(name), inner)
        if "acc" not in there:
            return
        acc = sch.get_sblock("acc")
        sch.compute_at(acc, outer, preserve_unit_loops=count == 1 or sums_nothing(sch, acc))
        own = len(sch.get_loops(sch.get_sblock("out"))) - 1
        neighbours, *reduced = sch.get_loops(acc)[own:]
        sch.reorder(*reduced, neighbours)
        sch.decompose_reduction(acc, reduced[0])

    return schedule


def sums_nothing(sch: Any, block: Any) -> bool:
    """True for a reduction whose reduced axes all have extent 1: they have to remain for its start value to
    be taken out of them.
    """
    reduced = [axis for axis in sch.get(block).iter_vars if axis.iter_type == tirx.IterVar.CommReduce]
    return bool(reduced) and all(int(axis.dom.extent) == 1 for axis in reduced)


def one_by_one(stages: Sequence[str], reductions: Sequence[str]) -> Callable[[Any], None]:
    """A schedule that computes every output on its own: `stages` and `reductions` in the innermost loop
    of `out`.

    Both are in the order of computation.
    """

    def schedule(sch: Any) -> None:
        at = innermost(sch, "out")
        depth, there = len(sch.get_loops(sch.get_sblock("out"))), blocks(sch)
        for name in (stage for stage in reversed(stages) if stage in there):
            block = sch.get_sblock(name)
            sch.compute_at(block, at, preserve_unit_loops=sums_nothing(sch, block))
            if name in reductions:
                sch.decompose_reduction(block, sch.get_loops(block)[depth])

    return schedule


def row_by_row(stages: Sequence[str]) -> Callable[[Any], None]:
    """A schedule that computes `out` in rows, and for each row `stages`, in the order of computation."""

    def schedule(sch: Any) -> None:
        row = sch.get_loops(sch.get_sblock("out"))[0]
        for name in reversed(stages):
            block = sch.get_sblock(name)
            reduces = any(axis.iter_type == tirx.IterVar.CommReduce for axis in sch.get(block).iter_vars)
            sch.compute_at(block, row, preserve_unit_loops=sums_nothing(sch, block))
            if reduces:
                sch.decompose_reduction(block, sch.get_loops(block)[1])

    return schedule
