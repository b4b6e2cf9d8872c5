"""A divided model against the model that was imported: every tensor that both have holds the same values.

Each tensor of the divided model is proven to be a part of one of the imported model: places along one axis.
The proof goes by what elements are computed from, operator by operator, and shares nothing with the
rewriting. Which operator a slice is of, and which places it computes, is what the divided model claims
(`Model.slices`).
"""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from attrs import evolve, frozen

from target_arch.diagnostics import Diagnostic
from target_arch.plan.division import SliceOf
from target_arch.plan.model import DTYPE_BYTES, Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import DEFINITION_NAME, Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import groups_of, is_hybrid
from target_arch.stages.check.rules.faults import Fault, at


@frozen(kw_only=True)
class _Part:
    """Places of a tensor of the imported model along an axis; all of it where there is no axis."""

    of: str
    axis: int | None = None
    places: range = range(0)

    def __str__(self) -> str:
        return (
            f"`{self.of}`" if self.axis is None else f"`{self.of}` [{self.places.start}:{self.places.stop}]"
        )


def division_faults(imported: Model, divided: Model) -> Iterator[Diagnostic]:
    """Everything by which the divided model does not compute what the imported one computes."""
    proof = _Proof(imported, divided)
    yield from at("the divided model", proof.ends())
    for operator in divided.operators:
        yield from at(f"operator {operator.id}", proof.operator(operator))
    for name in imported.kept:
        if proof.whole(name) is None:
            yield from at("the divided model", (("wrong-join", f"`{name}` is not whole"),))


class _Proof:
    def __init__(self, imported: Model, divided: Model) -> None:
        self._imported, self._divided = imported, divided
        self._parts = {name: _Part(of=name) for name in imported.given}
        constants = (name for name, each in imported.tensors.items() if each.data is not None)
        self._parts |= {name: _Part(of=name) for name in constants}

    def ends(self) -> Iterator[Fault]:
        """Inputs, outputs and states are the same, and tensors that both have."""
        one, other = self._imported, self._divided
        if (one.inputs, one.outputs, one.states) != (other.inputs, other.outputs, other.states):
            yield "wrong-slice", "its inputs, outputs or states are not those of the model"
        for name, tensor in one.tensors.items():
            if other.tensors.get(name) != tensor:
                yield "wrong-slice", f"`{name}` is another tensor than that of the model"

    def whole(self, name: str) -> str | None:
        """The tensor of the imported model that a tensor is; None where it is no whole one."""
        part = self._parts.get(name)
        return None if part is None or part.axis is not None else part.of

    def operator(self, operator: Operator) -> Iterator[Fault]:
        """The tensor that the output of an operator is a part of, from those that its inputs are parts of."""
        missing = [name for name in operator.inputs if name not in self._parts]
        if missing:
            yield "wrong-slice", f"`{missing[0]}` is no part of a tensor of the model"
        elif operator.output in self._parts:
            yield "wrong-join", f"`{operator.output}` is written twice"
        elif operator.id in self._imported.numbers:
            yield from self._same(operator)
        elif operator.id in self._divided.slices:
            yield from self._slice(operator, self._divided.slices[operator.id])
        elif operator.kind is OperatorKind.SLICE and operator.inputs:
            yield from self._view(operator)
        elif operator.kind is OperatorKind.CONCAT:
            yield from self._join(operator)
        else:
            yield "wrong-slice", "it is neither an operator of the model nor a slice of one"

    def _same(self, operator: Operator) -> Iterator[Fault]:
        if operator != self._imported.operator(operator.id):
            yield "wrong-slice", "it is another operator than that of the model"
        for name in operator.inputs:
            if self.whole(name) != name:
                yield "wrong-slice", f"it reads {self._parts[name]} for the whole"
        self._parts[operator.output] = _Part(of=operator.output)

    def _view(self, operator: Operator) -> Iterator[Fault]:
        """A slice with every element from its place on."""
        attributes: Any = operator.attributes
        x, out = (self._divided.tensors[name] for name in (operator.inputs[0], operator.output))
        begin, part = attributes.get("begin", (-1,)), self._parts[x.name]
        axes = [axis for axis, (own, all_) in enumerate(zip(out.shape, x.shape, strict=False)) if own != all_]
        one = len(axes) == 1 and len(out.shape) == len(x.shape) == len(begin)
        plain = one and set(attributes.get("step", ())) == {1} and _alike(x, out)
        if not plain or any(first and axis not in axes for axis, first in enumerate(begin)):
            yield "wrong-slice", "it is no view of places along one axis"
            return
        (axis,) = axes
        places = range(begin[axis], begin[axis] + out.shape[axis])
        if places.start < 0 or places.stop > x.shape[axis] or part.axis not in (None, axis):
            yield "wrong-slice", f"it has places {places.start} to {places.stop} of {part}"
            return
        first = part.places.start if part.axis is not None else 0
        shifted = range(places.start + first, places.stop + first)
        self._parts[out.name] = _Part(of=part.of, axis=axis, places=shifted)

    def _join(self, operator: Operator) -> Iterator[Fault]:
        """Parts of one tensor, one after the other, each place once."""
        out, axis = operator.output, operator.attributes.get("axis")
        parts = [self._parts[name] for name in operator.inputs]
        done = 0
        for part in parts:
            if part.of != out or part.axis != axis or part.places.start != done:
                said = ", ".join(map(str, parts))
                yield "wrong-join", f"`{out}` is not {said} along axis {axis}, one after the other"
                return
            done = part.places.stop
        whole = self._imported.tensors.get(out)
        if whole is None or not isinstance(axis, int) or done != whole.shape[axis]:
            yield "wrong-join", f"`{out}` ends with place {done}"
            return
        self._parts[out] = _Part(of=out)

    def _slice(self, operator: Operator, claim: SliceOf) -> Iterator[Fault]:
        if claim.operator not in self._imported.numbers:
            yield "wrong-slice", f"`{claim.operator}` is no operator of the model"
            return
        whole = self._imported.operator(claim.operator)
        out, own = self._divided.tensors[operator.output], self._imported.tensors[whole.output]
        padded = _window(whole, self._imported, claim.axis) is not None
        if not _within(claim, own) or not _alike(own, out) or out.shape != _shape_of(claim, own):
            yield "wrong-slice", f"`{out.name}` is not {claim}"
        elif not _like(operator, whole, padded=padded):
            yield "wrong-slice", f"it is not of the kind of `{whole.id}`, or has other attributes"
        else:
            yield from self._operands(operator, whole, claim)
        self._parts[out.name] = _Part(of=own.name, axis=claim.axis, places=claim.places)

    def _operands(self, operator: Operator, whole: Operator, claim: SliceOf) -> Iterator[Fault]:
        names = (*operator.inputs, *operator.constants)
        wanted = (*whole.inputs, *whole.constants)
        if len(names) != len(wanted):
            yield "wrong-slice", f"it has {len(names)} operands, `{whole.id}` has {len(wanted)}"
            return
        for number, (name, theirs) in enumerate(zip(names, wanted, strict=True)):
            yield from self._operand(operator, whole, claim, number, name, theirs)

    def _operand(
        self, operator: Operator, whole: Operator, claim: SliceOf, number: int, name: str, theirs: str
    ) -> Iterator[Fault]:
        """One operand has what the places need, all places where the elements need all."""
        axis = _operand_axis(whole, self._imported, claim.axis, number)
        if axis is None:
            yield "wrong-slice", f"`{whole.kind}` has no slices along axis {claim.axis}"
        elif axis < 0:
            if self.whole(name) != theirs:
                yield "wrong-slice", f"it reads {self._said(name)} for the whole `{theirs}`"
        elif self._imported.tensors[theirs].data is not None:
            if not _is_cut(self._divided.tensors[name], self._imported.tensors[theirs], axis, claim.places):
                yield "wrong-slice", f"`{name}` is not `{theirs}` [{claim.start}:{claim.stop}]"
        else:
            part = self._parts[name]
            extent = self._imported.tensors[theirs].shape[axis]
            there = range(extent) if part.axis is None else part.places
            if part.of != theirs or part.axis not in (None, axis):
                yield "wrong-slice", f"it reads {part} for places of `{theirs}` along axis {axis}"
            elif not _reads(operator, whole, self._imported, claim, axis, there):
                yield "wrong-slice", f"places {claim} are not computed from {part} with its padding"

    def _said(self, name: str) -> str:
        return str(self._parts.get(name, f"`{name}`"))


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether values of one mean the same in the other: of one type, and with one scale for all places."""
    grid = one.quantization
    single = grid is None or len(grid.scale) == len(grid.zero_point) == 1
    return single and (one.dtype, one.quantization) == (other.dtype, other.quantization)


def _within(claim: SliceOf, own: Tensor) -> bool:
    return 0 <= claim.axis < len(own.shape) and 0 <= claim.start < claim.stop <= own.shape[claim.axis]


def _shape_of(claim: SliceOf, own: Tensor) -> tuple[int, ...]:
    return (*own.shape[: claim.axis], len(claim.places), *own.shape[claim.axis + 1 :])


def _like(operator: Operator, whole: Operator, *, padded: bool) -> bool:
    """The same but for names, and for padding where windows go along the axis of the slice."""
    one, other = dict(operator.attributes), dict(whole.attributes)
    if padded:
        one.pop("padding", None)
        other.pop("padding", None)
    same = (operator.kind, operator.arithmetic, operator.relax_ops)
    return same == (whole.kind, whole.arithmetic, whole.relax_ops) and one == other


def _operand_axis(whole: Operator, model: Model, axis: int, number: int) -> int | None:
    """The axis of an operand along which places of the result need places; -1 where they need all of it, None
    where nothing is known.
    """
    if whole.kind is OperatorKind.CONCAT:
        return None if axis == whole.attributes.get("axis") else axis
    if whole.kind is OperatorKind.RESIZE:
        return _resized_axis(whole, axis, number - len(whole.inputs))
    return _computed_axis(whole, model, axis, number)


def _computed_axis(whole: Operator, model: Model, axis: int, number: int) -> int | None:
    """The same for operators of which the structure says it."""
    out = model.tensors[whole.output].shape
    own = model.tensors[(*whole.inputs, *whole.constants)[number]].shape
    inner, constant = axis < len(out) - 1, number >= len(whole.inputs)
    structure = whole.facts.structure
    if structure is Structure.PRODUCTS:
        return (
            _product_axis(whole, model, axis, constant=constant)
            if inner
            else (_channel_axis(whole, model, constant=constant))
        )
    if structure is Structure.POOL:
        return axis if inner else None
    if structure is Structure.MATRICES:
        return _matrix_axis(own, out, axis, second=number == 1) if inner and not constant else None
    if structure is Structure.BROADCAST and own != out:
        right = len(own) - (len(out) - axis)
        return -1 if right < 0 or own[right] == 1 else None
    if structure is Structure.ELEMENTWISE and constant:
        return -1
    able = whole.facts.elementwise or (structure is Structure.ROWS and inner)
    return axis if able and own == out else None


def _resized_axis(whole: Operator, axis: int, table: int) -> int | None:
    """The same for images of another size, whose constants have a place for each row, and then for each
    column. Of the image itself, for which `table` is below 0, rows and columns need all.
    """
    if DEFINITION_NAME not in whole.attributes:
        return None
    if axis not in (1, 2):
        return axis if table < 0 else -1
    half = len(whole.constants) // 2
    return 0 if (axis - 1) * half <= table < axis * half else -1


def _product_axis(whole: Operator, model: Model, axis: int, *, constant: bool) -> int | None:
    """The same for places of sums of products that are no channels."""
    if is_hybrid(whole, model) or whole.kind is OperatorKind.CONV2D_TRANSPOSE:
        return None
    if whole.kind is OperatorKind.DENSE and not _has_whole_rows(whole, model, axis):
        return None
    return -1 if constant else axis


def _has_whole_rows(whole: Operator, model: Model, axis: int) -> bool:
    """Whether places of a dense layer's input and of its result are as many whole rows, which may be several
    dimensions.
    """
    x, out = model.tensors[whole.inputs[0]].shape, model.tensors[whole.output].shape
    channels = model.tensors[whole.constants[0]].shape[0]
    return x[: axis + 1] == out[: axis + 1] and prod(out[axis + 1 :]) % channels == 0


def _channel_axis(whole: Operator, model: Model, *, constant: bool) -> int | None:
    """The same for channels of sums over all channels of the input."""
    apart = (OperatorKind.DEPTHWISE_CONV2D, OperatorKind.CONV2D_TRANSPOSE)
    if whole.kind in apart or groups_of(whole, model) > 1 or is_hybrid(whole, model):
        return None
    weights, out = model.tensors[whole.constants[0]].shape, model.tensors[whole.output].shape
    if out[-1] != weights[0]:
        return None
    return 0 if constant else -1


def _matrix_axis(own: tuple[int, ...], out: tuple[int, ...], axis: int, *, second: bool) -> int | None:
    """The same for rows and outer places of products of two matrices, right-aligned as in NumPy."""
    place = axis - len(out) + len(own)
    if place < 0 or (second and place == len(own) - 2) or own[place] == 1 != out[axis]:
        return -1
    return place if own[place] == out[axis] else None


def _is_cut(tensor: Tensor, whole: Tensor, axis: int, places: range) -> bool:
    """Whether a constant is those places of another along an axis."""
    if whole.data is None or tensor.data is None or tensor.dtype != whole.dtype:
        return False
    size = DTYPE_BYTES[whole.dtype]
    values = np.frombuffer(whole.data, dtype=f"V{size}").reshape(whole.shape)
    cut = values.take(np.asarray(places), axis=axis)
    same = tensor.shape == cut.shape and tensor.data == cut.tobytes()
    return same and tensor.quantization == _scales(whole.quantization, axis, places)


def _scales(quantization: Quantization | None, axis: int, places: range) -> Quantization | None:
    if quantization is None or quantization.axis != axis or len(quantization.scale) == 1:
        return quantization
    zeros = quantization.zero_point
    return evolve(
        quantization,
        scale=tuple(quantization.scale[place] for place in places),
        zero_point=zeros if len(zeros) == 1 else tuple(zeros[place] for place in places),
    )


def _reads(
    operator: Operator, whole: Operator, model: Model, claim: SliceOf, axis: int, there: range
) -> bool:
    """Whether every place of the slice reads the elements that it reads in the whole operator, from the
    places that are there: those, and no padding for them.
    """
    window = _window(whole, model, axis)
    if window is None:
        return there == claim.places
    kernel, stride, dilation, before = window
    own: Any = operator.attributes.get("padding", (0, 0, 0, 0))
    theirs: Any = whole.attributes.get("padding", (0, 0, 0, 0))
    if min(own) < 0 or any(own[side] != theirs[side] for side in range(4) if side % 2 != axis - 1):
        return False
    extent = model.tensors[whole.inputs[0]].shape[axis]
    taps = np.arange(kernel) * dilation
    read = np.asarray(claim.places)[:, None] * stride - before + taps
    local = np.arange(len(claim.places))[:, None] * stride - own[axis - 1] + taps
    inside, found = (read >= 0) & (read < extent), (local >= 0) & (local < len(there))
    return bool((inside == found).all() and (read == local + there.start)[inside].all())


def _window(whole: Operator, model: Model, axis: int) -> tuple[int, int, int, int] | None:
    """Kernel, stride, dilation and padding before, along an axis of an image; None where places are computed
    from the same places.
    """
    image = whole.facts.kernel_axes is not None or whole.facts.structure is Structure.POOL
    if not image or axis not in (1, 2):
        return None
    attributes: Any = whole.attributes
    if whole.facts.kernel_axes is None:
        kernel = attributes["kernel"][axis - 1]
    else:
        kernel = model.tensors[whole.constants[0]].shape[whole.facts.kernel_axes[axis - 1]]
    strides, dilation = attributes.get("strides", (1, 1)), attributes.get("dilation", (1, 1))
    padding = attributes.get("padding", (0, 0, 0, 0))
    return kernel, strides[axis - 1], dilation[axis - 1], padding[axis - 1]
