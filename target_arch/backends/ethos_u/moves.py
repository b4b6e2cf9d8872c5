"""Operators that move elements, as operators of TFLite: the values stay as they are."""

from typing import Any

from target_arch.backends.ethos_u.drawing import Drawing, Unwritable
from target_arch.backends.ethos_u.tflite_file import SubgraphOperator
from target_arch.plan.model import Operator


def reshape(operator: Operator, drawing: Drawing) -> None:
    """The same elements in another shape."""
    drawing.tensor(operator.output)
    source = drawing.tensor(operator.inputs[0])
    drawing.reshape(source, operator.output, drawing.model.tensors[operator.output].shape)


def concat(operator: Operator, drawing: Drawing) -> None:
    """Tensors one behind the other along an axis."""
    axis: Any = operator.attributes["axis"]
    node = SubgraphOperator(
        code="CONCATENATION",
        version=2,
        inputs=tuple(drawing.tensor(name) for name in operator.inputs),
        output=drawing.tensor(operator.output),
        options="ConcatenationOptions",
        fields={"Axis": int(axis)},
    )
    drawing.nodes.append(node)


def cut(operator: Operator, drawing: Drawing) -> None:
    """A slice whose elements follow each other. Raises Unwritable for other steps."""
    begin: Any = operator.attributes["begin"]
    step: Any = operator.attributes["step"]
    if any(each != 1 for each in step):
        raise Unwritable(f"steps of {tuple(step)}, the unit takes elements that follow each other")
    output = drawing.tensor(operator.output)
    places = drawing.numbers(f"{output}.begin", begin)
    sizes = drawing.numbers(f"{output}.size", drawing.tensors[output].shape)
    node = SubgraphOperator(
        code="SLICE",
        version=2,
        inputs=(drawing.tensor(operator.inputs[0]), places, sizes),
        output=output,
        options="SliceOptions",
    )
    drawing.nodes.append(node)


def transpose(operator: Operator, drawing: Drawing) -> None:
    """Two neighbouring dimensions in the other order. Raises Unwritable for all others."""
    axes: Any = operator.attributes["axes"]
    shape = drawing.model.tensors[operator.inputs[0]].shape
    if not _swaps_neighbours(tuple(axes), shape):
        raise Unwritable(f"axes {tuple(axes)} of {' x '.join(map(str, shape))}, the unit swaps two")
    output = drawing.tensor(operator.output)
    node = SubgraphOperator(
        code="TRANSPOSE",
        version=2,
        inputs=(drawing.tensor(operator.inputs[0]), drawing.numbers(f"{output}.axes", axes)),
        output=output,
        options="TransposeOptions",
    )
    drawing.nodes.append(node)


def _swaps_neighbours(axes: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether Vela takes the order of dimensions: it swaps height and width, and of a line its elements and
    channels. A dimension of one element in front counts as none.
    """
    if len(axes) == 4:
        if axes[0] != 0:
            return False
        axes, shape = tuple(axis - 1 for axis in axes[1:]), shape[1:]
    if len(axes) == 2:
        return axes == (1, 0)
    return axes == (1, 0, 2) or (axes == (0, 2, 1) and shape[0] == 1) or (axes == (2, 1, 0) and shape[1] == 1)
