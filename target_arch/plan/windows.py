"""The windows of an operator over its image, by its kind and its attributes."""

from typing import Any

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.window import Window

Windows = tuple[Window, Window]
"""Along the rows and along the columns."""


def windows_of(operator: Operator, model: Model) -> Windows | None:
    """The windows of an operator from an image NHWC to an image; None where its kind has none."""
    kernel = _kernel(operator, model)
    return None if kernel is None else windows_with(kernel, operator, model)


def windows_with(kernel: tuple[int, int], operator: Operator, model: Model) -> Windows:
    """The windows of a kernel of so many rows and columns over the image of an operator."""
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    strides, dilation = attributes.get("strides", (1, 1)), attributes.get("dilation", (1, 1))
    padding = attributes.get("padding", (0, 0, 0, 0))

    def along(axis: int) -> Window:
        return Window(
            extent=x[1 + axis],
            out=out[1 + axis],
            kernel=kernel[axis],
            stride=strides[axis],
            dilation=dilation[axis],
            before=padding[axis],
            after=padding[2 + axis],
        )

    return along(0), along(1)


def written_windows(operator: Operator, model: Model) -> Windows:
    """The windows in the output of a transposed convolution that the elements of its input are added to."""
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    kernel = model.tensors[operator.constants[0]].shape[1:3]

    def along(axis: int) -> Window:
        return Window(
            extent=out[1 + axis],
            out=x[1 + axis],
            kernel=kernel[axis],
            stride=attributes["strides"][axis],
            dilation=attributes["dilation"][axis],
            before=attributes["padding"][axis],
            after=attributes["padding"][2 + axis],
        )

    return along(0), along(1)


def required_windows(operator: Operator, model: Model) -> Windows:
    """The same of an operator whose kind has windows. Raises ValueError for any other."""
    windows = windows_of(operator, model)
    if windows is None:
        raise ValueError(f"`{operator.id}`: kind {operator.kind} has no windows over an image")
    return windows


def _kernel(operator: Operator, model: Model) -> tuple[int, int] | None:
    if operator.facts.kernel_axes is not None:
        weights = model.tensors[operator.constants[0]].shape
        rows, columns = operator.facts.kernel_axes
        return weights[rows], weights[columns]
    if operator.facts.structure is Structure.POOL:
        kernel: Any = operator.attributes["kernel"]
        return kernel[0], kernel[1]
    return None
