"""conv2d of several groups of channels and conv2d_transpose, as convolutions of `s8_conv2d.h` and
`f32_conv2d.h`: one for each group, or for each phase.

A phase is the outputs whose rows, and those whose columns, are as far from a multiple of the stride: they are
sums over the same elements of the kernel.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels import products, reals, weighted
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.backends.plain_c.kernels.products import Sizes
from target_arch.backends.plain_c.kernels.scale import GROUP, PreparedWeights
from target_arch.backends.plain_c.kernels.sums import Sum
from target_arch.backends.plain_c.kernels.text import Made, braced, struct
from target_arch.backends.plain_c.work.forms import KernelTile, Work
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import groups_of


@frozen(kw_only=True)
class PartialConvolution:
    """A convolution of one group or phase, and its weights [outputs, products]."""

    sizes: Sizes
    rows: Any


def are_of(operator: Operator, model: Model) -> bool:
    """Whether an operator with weights is a transposed convolution, or one of several groups of channels."""
    return operator.kind is OperatorKind.CONV2D_TRANSPOSE or groups_of(operator, model) > 1


def refusal(operator: Operator, model: Model, layout: WeightLayout, *, bounded: bool = True) -> str | None:
    """Why an operator in integers is no such calls, None where it is if `products.proven`. Unless `bounded`,
    packed weights may take any size.
    """
    reason = weighted.refusal(operator, model, grouped=True) or _unfit(operator, model)
    if reason is not None or not bounded:
        return reason
    w = model.tensors[operator.constants[0]]
    size = sum(layout.size(*part.rows.shape) for part in _parts(operator, model))
    return products.outgrown(w, layout, size)


def real_refusal(operator: Operator, model: Model, *, bounded: bool = True) -> str | None:
    """The same of an operator in float32."""
    reason = reals.unfit(operator, model, grouped=True) or _unfit(operator, model)
    if reason is not None or not bounded:
        return reason
    added = sum(-len(part.rows) % reals.BLOCK * part.rows.shape[1] * 4 for part in _parts(operator, model))
    within = reals.within_growth(model.tensors[operator.constants[0]], added)
    return None if within else "packed weights would take more than 1.1 times the plain ones"


def work(operator: Operator, model: Model, layout: WeightLayout, tile: KernelTile) -> Work:
    """The work of an operator that `refusal` accepts."""
    return _total(products.work_of(part.sizes, layout, tile) for part in _parts(operator, model))


def real_work(operator: Operator, model: Model, tile: KernelTile) -> Work:
    """The work of an operator that `real_refusal` accepts."""
    return _total(reals.work_of(part.sizes, tile) for part in _parts(operator, model))


def made(
    operator: Operator, model: Model, layout: WeightLayout, apart: int = 0, after: Sum | None = None
) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart. Raises
    OutOfRange.
    """
    x, w = model.tensors[operator.inputs[0]], model.tensors[operator.constants[0]]
    whole = np.frombuffer(w.data or b"", np.int8).reshape(w.shape[0], -1)
    values = weighted.prepare(operator, model, whole, products.LOW)
    parts = _parts(operator, model, values.rows)
    first, last = _ends(operator, model, apart)
    numbers = products.numbers_of(first, x, last, layout)
    own = (*numbers, int((values.rows != -128).all()))
    groups = groups_of(operator, model)
    transposed = operator.kind is OperatorKind.CONV2D_TRANSPOSE
    name, header = ("transposed", "s8_transposed.h") if transposed else ("groups", "s8_grouped.h")
    call = weighted.DriverCall(
        driver=f"ta_s8_convolve_{name}",
        sizes="ta_s8_conv2d" if transposed else "ta_s8_groups",
        headers=(layout.header, f"kernels/{header}"),
        numbers=own if transposed else (braced(own), groups),
        weights=b"".join(layout.packed(part.rows) for part in parts),
    )
    spread = _in_phases(operator, model, values, parts) if transposed else _in_groups(values, groups)
    return weighted.made(weighted.Weighed(operator=operator, values=spread, call=call), model, after)


def real_made(operator: Operator, model: Model, apart: int = 0, after: reals.RealSum | None = None) -> Made:
    """The call of an operator that `real_refusal` accepts, as `made`."""
    first, last = _ends(operator, model, apart)
    members: tuple[int | str, ...] = (*reals.numbers_of(first, last), *reals.range_in_c(operator))
    groups, name, kind = groups_of(operator, model), "transposed", "ta_f32_conv2d"
    if operator.kind is not OperatorKind.CONV2D_TRANSPOSE:
        name, kind, members = "groups", "ta_f32_groups", (braced(members), groups)
    header = "f32_transposed.h" if name == "transposed" else "f32_grouped.h"
    bias = reals.array(model.tensors[operator.constants[1]]).reshape(groups, -1)
    weights = [reals.packed(part.rows).ravel() for part in _parts(operator, model)]
    return reals.called(
        operator,
        model,
        reals.RealCall(
            driver=f"ta_f32_convolve_{name}",
            header=f"kernels/{header}",
            sizes=struct(kind, "sizes", members),
            packed=(
                reals.constant(operator, "packed", np.concatenate(weights)),
                reals.constant(operator, "biases", _padded(bias, reals.BLOCK)),
            ),
        ),
        after,
    )


def _unfit(operator: Operator, model: Model) -> str | None:
    """Why neither driver takes a transposed convolution; None for others."""
    if operator.kind is not OperatorKind.CONV2D_TRANSPOSE:
        return None
    sizes = products.sizes_of_image(operator, model)
    if sizes.dilation != (1, 1):
        return "a transposed convolution with a dilated kernel"
    if any(taps < stride for taps, stride in zip(sizes.kernel, sizes.stride, strict=True)):
        return "a transposed convolution with a kernel smaller than its stride"
    return None


def _parts(operator: Operator, model: Model, rows: Any = None) -> list[PartialConvolution]:
    """The convolutions of an operator, with its weights or with others in their place."""
    w = model.tensors[operator.constants[0]]
    values = np.frombuffer(w.data or b"", w.dtype) if rows is None else rows
    sizes = products.sizes_of_image(operator, model)
    split = _phases if operator.kind is OperatorKind.CONV2D_TRANSPOSE else _groups
    return list(split(sizes, values.reshape(w.shape), groups_of(operator, model)))


def _groups(sizes: Sizes, w: Any, groups: int) -> Iterator[PartialConvolution]:
    for own in np.split(w, groups):
        yield PartialConvolution(sizes=_of_group(sizes, groups), rows=own.reshape(len(own), -1))


def _of_group(sizes: Sizes, groups: int) -> Sizes:
    """The convolution of one group, over an image with as many columns more as there are groups."""
    batch, height, width, channels = sizes.image
    return Sizes(
        image=(batch, height, width * groups, channels // groups),
        out=(*sizes.out[:2], sizes.out[2] // groups),
        kernel=sizes.kernel,
        stride=(sizes.stride[0], sizes.stride[1] * groups),
        dilation=(sizes.dilation[0], sizes.dilation[1] * groups),
        padding=(sizes.padding[0], sizes.padding[1] * groups),
    )


def _phases(sizes: Sizes, w: Any, groups: int) -> Iterator[PartialConvolution]:
    """Phases with their rows first. Their outputs are as many as fit at most."""
    assert groups == 1
    (down, across), (height, width, outputs) = sizes.stride, sizes.out
    for y in range(down):
        for x in range(across):
            own = w[:, y::down, x::across][:, ::-1, ::-1]
            yield PartialConvolution(
                sizes=Sizes(
                    image=sizes.image,
                    out=(-(-height // down), -(-width // across), outputs),
                    kernel=own.shape[1:3],
                    stride=(1, 1),
                    dilation=(1, 1),
                    padding=(own.shape[1] - 1, own.shape[2] - 1),
                ),
                rows=own.reshape(len(own), -1),
            )


def _ends(operator: Operator, model: Model, apart: int) -> tuple[Sizes, int]:
    """The sizes that a driver is given, and the elements from an output pixel to the next."""
    sizes = products.sizes_of_image(operator, model)
    whole = apart or sizes.out[2]
    groups = groups_of(operator, model)
    return (_of_group(sizes, groups) if groups > 1 else sizes), whole


def _in_groups(values: PreparedWeights, groups: int) -> PreparedWeights:
    """Bias, multipliers and shifts of each group in whole groups of 16."""
    outputs, scale = len(values.rows), values.scale

    def spread(each: Any) -> tuple[int, ...]:
        return tuple(_padded(np.array(each[:outputs]).reshape(groups, -1), GROUP).tolist())

    if scale.each:
        scale = evolve(scale, multipliers=spread(scale.multipliers), shifts=spread(scale.shifts))
    return evolve(values, bias=np.array(spread(values.bias), np.int64), scale=scale)


def _in_phases(
    operator: Operator, model: Model, values: PreparedWeights, parts: Iterable[PartialConvolution]
) -> PreparedWeights:
    """The bias of each phase: the zero point is added for its own weights."""
    offset = weighted.offset(operator, model, products.LOW)
    plain = values.bias - offset * values.rows.astype(np.int64).sum(axis=1)
    own = [plain + offset * part.rows.astype(np.int64).sum(axis=1) for part in parts]
    return evolve(values, bias=_padded(np.stack(own), GROUP))


def _padded(rows: Any, size: int) -> Any:
    """Rows one after the other, each with zeros up to a multiple of this size."""
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % size))).ravel()


def _total(works: Iterable[Work]) -> Work:
    total: dict[Any, float] = {}
    for each in works:
        for unit, count in each.items():
            total[unit] = total.get(unit, 0.0) + count
    return total
