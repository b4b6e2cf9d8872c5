"""conv2d and dense with 8-bit values as calls of `s8_conv2d.h`."""

from math import ceil, prod
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels import weighted
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.backends.plain_c.kernels.sums import Sum
from target_arch.backends.plain_c.kernels.text import Made
from target_arch.backends.plain_c.work.forms import KernelTile, Work, WorkUnit
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/s8_conv2d.h"
_SLACK = 16384
"""Bytes that packing may add to weights however few they are."""
LOW = -128
"""The driver takes uint8 less 128."""


@frozen(kw_only=True)
class Sizes:
    """A convolution as `ta_s8_conv2d` has it; pairs are (rows, columns)."""

    image: tuple[int, int, int, int]
    out: tuple[int, int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]

    @property
    def upright(self) -> "Sizes":
        """The same convolution with rows and columns exchanged: an image of one row has the same bytes as
        one of one column.
        """
        images, *image, channels = self.image
        *out, outputs = self.out
        kernel, dilation = self.kernel[::-1], self.dilation[::-1]
        return Sizes(
            image=(images, image[1], image[0], channels),
            out=(out[1], out[0], outputs),
            kernel=kernel,
            stride=self.stride[::-1],
            dilation=dilation if kernel[1] > 1 else (dilation[0], 1),
            padding=self.padding[::-1],
        )

    @property
    def pixels(self) -> int:
        """Pixels of the output, in all images."""
        return self.image[0] * self.out[0] * self.out[1]

    @property
    def are_pixels(self) -> bool:
        """Whether windows are the pixels of the image, one after the other."""
        alone = self.kernel == self.stride == (1, 1) and self.padding == (0, 0)
        return alone and self.out[:2] == self.image[1:3]

    @property
    def runs(self) -> int:
        """Runs of consecutive values in a window."""
        return self.kernel[0] * (1 if self.dilation[1] == 1 else self.kernel[1])


def refusal(operator: Operator, model: Model, layout: WeightLayout, *, bounded: bool = True) -> str | None:
    """Why an operator is no such call, None where it is one if `made` can prove the range of its sums. Unless
    `bounded`, packed weights may take any size.
    """
    if operator.kind not in (OperatorKind.CONV2D, OperatorKind.DENSE):
        return f"no kernel for {operator.kind}"
    reason = weighted.refusal(operator, model)
    if reason is not None:
        return reason
    return outgrown(model.tensors[operator.constants[0]], layout) if bounded else None


def outgrown(w: Tensor, layout: WeightLayout, size: int | None = None) -> str | None:
    """Why weights are not packed that would take too many bytes then: `size`, or those of one matrix."""
    packed = layout.size(w.shape[0], prod(w.shape[1:])) if size is None else size
    if packed <= layout.growth * w.bytes + _SLACK:
        return None
    return f"packed weights would take more than {layout.growth:g} times the plain ones"


def proven(operator: Operator, model: Model) -> bool:
    """Whether `made` can prove the range of the sums of an operator that `refusal` accepts."""
    return weighted.proven(operator, model, _rows, LOW)


def work(operator: Operator, model: Model, layout: WeightLayout, tile: KernelTile) -> Work:
    """The work of an operator that `refusal` accepts."""
    return work_of(sizes_of(operator, model), layout, tile)


def work_of(sizes: Sizes, layout: WeightLayout, tile: KernelTile) -> Work:
    """The work of a call for an image of these sizes."""
    pixels, outputs = sizes.pixels, sizes.out[2]
    products = prod(sizes.kernel) * sizes.image[3]
    depth, blocks = layout.depth(products), ceil(outputs / layout.block)
    whole = pixels - pixels % tile.rows
    windows = _gathered(sizes, depth, tile)
    turns = windows * tile.turns(outputs, depth)
    tiles, apart = ceil(pixels / tile.rows), ceil(windows / tile.rows)
    return {
        WorkUnit.PRODUCT: whole * blocks * layout.block * depth,
        WorkUnit.LONE_PRODUCT: (pixels - whole) * blocks * layout.block * depth,
        WorkUnit.GATHERED: turns * products,
        WorkUnit.RUN: turns * sizes.runs,
        WorkUnit.BLOCK: (tiles - apart + apart * ceil(depth / tile.panel)) * blocks,
        WorkUnit.OUTPUT: pixels * outputs,
        WorkUnit.CALL: 1,
    }


def _gathered(sizes: Sizes, depth: int, tile: KernelTile) -> int:
    """The windows that are gathered: where others are read in place, those of the last tile may be, since it
    would read behind the image.
    """
    if not (tile.in_place and sizes.are_pixels):
        return sizes.pixels
    last = sizes.pixels % tile.rows or tile.rows
    exact = last in (1, tile.rows) and depth == sizes.image[3]
    return 0 if exact else last


def made(
    operator: Operator, model: Model, layout: WeightLayout, apart: int = 0, after: Sum | None = None
) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart. Raises
    OutOfRange.
    """
    return weighted.made(weighed(operator, model, layout, sizes_of(operator, model), apart), model, after)


def weighed(
    operator: Operator, model: Model, layout: WeightLayout, sizes: Sizes, apart: int = 0
) -> weighted.Weighed:
    """The operator as a call of its driver for an image of these sizes. Raises OutOfRange."""
    x = model.tensors[operator.inputs[0]]
    values = weighted.prepare(operator, model, _rows(model.tensors[operator.constants[0]]), LOW)
    call = weighted.DriverCall(
        driver="ta_s8_convolve",
        sizes="ta_s8_conv2d",
        headers=(layout.header, _HEADER),
        numbers=(*numbers_of(sizes, x, apart or sizes.out[2], layout), int((values.rows != -128).all())),
        weights=layout.packed(values.rows),
    )
    return weighted.Weighed(operator=operator, values=values, call=call)


def sizes_of(operator: Operator, model: Model) -> Sizes:
    """The sizes of a convolution; those of a dense layer, and of a kernel of 1x1 that steps over every pixel,
    are of an image with one column.
    """
    attributes: Any = operator.attributes
    x, w = model.tensors[operator.inputs[0]].shape, model.tensors[operator.constants[0]].shape
    kernel = w[1:3] if len(w) == 4 else (1, 1)
    stride = tuple(attributes.get("strides", (1, 1)))
    if (*kernel, *stride) != (1, 1, 1, 1) or any(attributes.get("padding", (0, 0, 0, 0))):
        return sizes_of_image(operator, model)
    return _pointwise(operator, model, prod(x) // w[-1])


def sizes_of_image(operator: Operator, model: Model) -> Sizes:
    """The sizes of a convolution of an image as it is."""
    attributes: Any = operator.attributes
    x, w = model.tensors[operator.inputs[0]].shape, model.tensors[operator.constants[0]].shape
    height, width, outputs = model.tensors[operator.output].shape[1:]
    kernel, stride = w[1:3], attributes.get("strides", (1, 1))
    dilation, padding = attributes.get("dilation", (1, 1)), attributes.get("padding", (0, 0, 0, 0))
    return Sizes(
        image=(x[0], x[1], x[2], x[3]),
        out=(height, width, outputs),
        kernel=(kernel[0], kernel[1]),
        stride=(stride[0], stride[1]),
        dilation=(dilation[0], dilation[1]) if kernel[1] > 1 else (dilation[0], 1),
        padding=(padding[0], padding[1]),
    )


def sizes_of_rows(operator: Operator, model: Model, rows: int) -> Sizes:
    """The sizes of a convolution of an image as it is; of a dense layer, those of an image of `rows`."""
    if operator.kind is not OperatorKind.DENSE:
        return sizes_of_image(operator, model)
    return _pointwise(operator, model, rows)


def _pointwise(operator: Operator, model: Model, rows: int) -> Sizes:
    """The sizes of an image of so many rows, whose pixels are multiplied by one matrix."""
    outputs, *_, inputs = model.tensors[operator.constants[0]].shape
    columns = prod(model.tensors[operator.inputs[0]].shape) // (inputs * rows)
    return Sizes(
        image=(1, rows, columns, inputs),
        out=(rows, columns, outputs),
        kernel=(1, 1),
        stride=(1, 1),
        dilation=(1, 1),
        padding=(0, 0),
    )


def numbers_of(sizes: Sizes, x: Tensor, apart: int, layout: WeightLayout) -> tuple[int, ...]:
    """The members of `ta_s8_conv2d`, in order, up to `narrow`."""
    unsigned = x.dtype == "uint8"
    outside = weighted.zero_point(x) - (128 if unsigned else 0)
    depth = layout.depth(prod(sizes.kernel) * sizes.image[3])
    windows = (*sizes.kernel, *sizes.stride, *sizes.dilation, *sizes.padding)
    return (*sizes.image, *sizes.out, *windows, outside, int(unsigned), apart, depth)


def _rows(w: Tensor) -> Any:
    """Weights as int8 [N, K]."""
    return np.frombuffer(w.data or b"", np.int8).reshape(w.shape[0], -1)
