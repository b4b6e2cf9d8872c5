"""Operators that kernels compute for any rows: convolutions of 8-bit images, and the sum after one."""

from typing import Any

from attrs import frozen

from target_arch.backends.plain_c.kernels import depthwise, products
from target_arch.backends.plain_c.kernels.layout import Layout
from target_arch.backends.plain_c.kernels.scale import OutOfRange
from target_arch.backends.plain_c.kernels.sums import Sum, sum_after
from target_arch.backends.plain_c.kernels.weighted import Weighed
from target_arch.backends.plain_c.stripes.schedule import Unit
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.regions.stripes import Image, Window


@frozen(kw_only=True)
class Rowwise:
    """A unit as C calls it: what it computes, and the addition after it."""

    unit: Unit
    operator: Operator
    weighed: Weighed
    after: Sum | None

    @property
    def depthwise(self) -> bool:
        """Whether it is a depthwise convolution."""
        return self.operator.kind is OperatorKind.DEPTHWISE_CONV2D

    @property
    def driver(self) -> str:
        """The C function that computes some rows."""
        return f"{self.weighed.call.driver}_rows"

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers of that function."""
        own = "kernels/s8_depthwise_rows.h" if self.depthwise else "kernels/s8_conv2d_rows.h"
        return (*self.weighed.call.headers, own)


def image_of(tensor: Tensor) -> Image:
    """The rows of an image NHWC."""
    return Image(name=tensor.name, rows=tensor.shape[1], row_bytes=tensor.bytes // tensor.shape[1])


def rowwise(operator: Operator, after: Operator | None, model: Model, layout: Layout) -> Rowwise | None:
    """One operator, or it and the addition `after` it; None where no kernel computes some rows of it."""
    added = None if after is None else sum_after(after, operator.output, model)
    if (added is None) != (after is None) or not _is_image(operator, model):
        return None
    try:
        weighed = _weighed(operator, model, layout)
    except OutOfRange:
        return None
    if weighed is None:
        return None
    names = (operator.id,) if after is None else (operator.id, after.id)
    output = operator.output if after is None else after.output
    unit = Unit(operators=names, reads=_reads(operator, added, model), image=image_of(model.tensors[output]))
    return Rowwise(unit=unit, operator=operator, weighed=weighed, after=added)


def _weighed(operator: Operator, model: Model, layout: Layout) -> Weighed | None:
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        return None if depthwise.refusal(operator, model) else depthwise.weighed(operator, model)
    if operator.kind is not OperatorKind.CONV2D or products.refusal(operator, model, layout):
        return None
    return products.weighed(operator, model, layout, products.sizes_of_image(operator, model))


def _is_image(operator: Operator, model: Model) -> bool:
    """Whether input and output are one image each, in the shape that the kernel walks."""
    x, out = (model.tensors[name].shape for name in (operator.inputs[0], operator.output))
    return len(x) == len(out) == 4 and x[0] == out[0] == 1


def _reads(operator: Operator, added: Sum | None, model: Model) -> tuple[Window, ...]:
    attributes: Any = operator.attributes
    w = model.tensors[operator.constants[0]].shape
    taps = w[0] if operator.kind is OperatorKind.DEPTHWISE_CONV2D else w[1]
    window = Window(
        tensor=image_of(model.tensors[operator.inputs[0]]),
        height=(taps - 1) * attributes.get("dilation", (1, 1))[0] + 1,
        stride=attributes.get("strides", (1, 1))[0],
        before=attributes.get("padding", (0, 0, 0, 0))[0],
    )
    return (window,) if added is None else (window, Window(tensor=image_of(added.other)))
