"""The axis of what an operator writes that has the count of one that it reads."""

from collections.abc import Mapping
from math import prod
from typing import Any

from onnx import TensorProto

from target_arch.relax.readers.onnx.rewriting.bounded_extents import (
    counted_up,
    elements_of,
    extents_of,
    meet,
    reshaped,
    sliced,
    spread,
)
from target_arch.relax.readers.onnx.rewriting.bounded_joining import joined
from target_arch.relax.readers.onnx.rewriting.bounded_marks import (
    ALONG,
    TWO,
    WHOLE,
    Rule,
    Walk,
    attribute,
    axis_of,
)
from target_arch.relax.readers.onnx.rewriting.graph import TensorKind
from target_arch.relax.site import NotConverted

_SOFTMAX_OF_ONE_AXIS = 13


def _element_by_element(walk: Walk, node: Any) -> None:
    meet(walk, node, [name for name in node.input if name])


def _first_alone(walk: Walk, node: Any) -> None:
    """Other operands are scales, types, or numbers."""
    mark = walk.marks.get(node.input[0])
    if mark is None or any(name in walk.marks for name in node.input[1:]):
        raise NotConverted(TWO)
    walk.mark(node, mark.axis, mark.count)


def _quantized(walk: Walk, node: Any) -> None:
    mark = walk.marks.get(node.input[0])
    scales = prod(walk.shape(node.input[1]))
    if mark is not None and scales > 1 and axis_of(node, len(walk.shape(node.input[0])), 1) == mark.axis:
        raise NotConverted(ALONG)
    _first_alone(walk, node)


def _transposed(walk: Walk, node: Any) -> None:
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
    order = list(attribute(node, "perm", range(rank)[::-1]))
    walk.mark(node, order.index(mark.axis), mark.count)


def _axes(walk: Walk, node: Any, rank: int) -> list[int]:
    """The axes that an attribute or, in later versions, an operand names."""
    named = attribute(node, "axes", None)
    if named is None and len(node.input) > 1 and node.input[1]:
        named = walk.numbers(node.input[1], "axes")
    return [int(axis) % rank for axis in named or ()]


def _squeezed(walk: Walk, node: Any) -> None:
    mark, shape = walk.marks[node.input[0]], walk.shape(node.input[0])
    axes = _axes(walk, node, len(shape)) or [at for at, extent in enumerate(shape) if extent == 1]
    if mark.axis in axes:
        raise NotConverted(ALONG)
    walk.mark(node, mark.axis - sum(axis < mark.axis for axis in axes), mark.count)


def _unsqueezed(walk: Walk, node: Any) -> None:
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
    axes = _axes(walk, node, rank + len(_raw_axes(walk, node)))
    kept = [axis for axis in range(rank + len(axes)) if axis not in axes]
    walk.mark(node, kept[mark.axis], mark.count)


def _raw_axes(walk: Walk, node: Any) -> list[int]:
    return _axes(walk, node, 1 << 30)


def _gathered(walk: Walk, node: Any) -> None:
    data, places = walk.marks.get(node.input[0]), walk.marks.get(node.input[1])
    shape = walk.shape(node.input[0])
    axis = axis_of(node, len(shape), 0)
    if data is not None and data.axis == axis:
        _from_start(walk, node, data.count)
    elif data is not None:
        if places is not None:
            raise NotConverted(TWO)
        more = len(walk.shape(node.input[1])) - 1 if data.axis > axis else 0
        walk.mark(node, data.axis + more, data.count)
    if places is not None:
        walk.mark(node, axis + places.axis, places.count)


def _from_start(walk: Walk, node: Any, count: str) -> None:
    """Places that are counted from the end are counted from that of what is there."""
    places = walk.constant(node.input[1])
    if places is not None:
        if (places < 0).any():
            raise NotConverted("it counts from the end of a dimension whose size depends on values")
        return
    name = node.input[1]
    kind = walk.types[name]
    node.input[0] = walk.filled(node.input[0], "zero")
    flags = TensorKind(TensorProto.BOOL, kind.shape)
    same = count
    if kind.elements != WHOLE:
        same = walk.add(
            "Cast", [count], f"{count}/{kind.elements}", TensorKind(kind.elements, (1,)), to=kind.elements
        )
    if not kind.shape:
        same = walk.add(
            "Reshape",
            [same, walk.number("counts/scalar", [])],
            f"{same}/scalar",
            TensorKind(kind.elements, ()),
        )
    nought = walk.add("Sub", [same, same], f"{same}/nought", TensorKind(kind.elements, walk.shape(same)))
    base = f"{node.output[0]}"
    below = walk.add("Less", [name, nought], f"{base}/below", flags)
    ahead = walk.add("Add", [name, same], f"{base}/ahead", kind)
    node.input[1] = walk.add("Where", [below, ahead, name], f"{base}/from_start", kind)


def _gathered_elements(walk: Walk, node: Any) -> None:
    data, places = walk.marks.get(node.input[0]), walk.marks.get(node.input[1])
    axis = axis_of(node, len(walk.shape(node.input[0])), 0)
    if data is not None and data.axis == axis:
        _from_start(walk, node, data.count)
    elif data is not None and data != places:
        raise NotConverted(TWO)
    if places is not None:
        walk.mark(node, places.axis, places.count)


def _gathered_places(walk: Walk, node: Any) -> None:
    """GatherND without dimensions of a batch."""
    data, places = walk.marks.get(node.input[0]), walk.marks.get(node.input[1])
    indices = walk.shape(node.input[1])
    if attribute(node, "batch_dims", 0) or data is not None:
        raise NotConverted(TWO)
    if places is None or places.axis == len(indices) - 1:
        raise NotConverted(ALONG)
    walk.mark(node, places.axis, places.count)


_NEUTRAL = {
    "ReduceSum": "zero",
    "ReduceL1": "zero",
    "ReduceL2": "zero",
    "ReduceSumSquare": "zero",
    "ReduceProd": "one",
    "ReduceMax": "lowest",
    "ReduceMin": "highest",
}
"""What adds nothing to a result."""


def _reduced(walk: Walk, node: Any) -> None:
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
    axes = _axes(walk, node, rank)
    if not axes and attribute(node, "noop_with_empty_axes", 0):
        walk.mark(node, mark.axis, mark.count)
        return
    if not axes or mark.axis in axes:
        if node.op_type not in _NEUTRAL:
            raise NotConverted(ALONG)
        node.input[0] = walk.filled(node.input[0], _NEUTRAL[node.op_type])
        return
    kept = attribute(node, "keepdims", 1)
    walk.mark(node, mark.axis - (0 if kept else sum(axis < mark.axis for axis in axes)), mark.count)


def _greatest(walk: Walk, node: Any) -> None:
    """ArgMax and ArgMin."""
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
    axis = axis_of(node, rank, 0)
    if axis == mark.axis:
        node.input[0] = walk.filled(node.input[0], "lowest" if node.op_type == "ArgMax" else "highest")
        return
    kept = attribute(node, "keepdims", 1)
    walk.mark(node, mark.axis - (axis < mark.axis and not kept), mark.count)


def _along_another(otherwise: int) -> Rule:
    """Of operators that work along one axis, from the first place on or along another one."""

    def rule(walk: Walk, node: Any) -> None:
        mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
        old = node.op_type in ("Softmax", "LogSoftmax") and walk.opset < _SOFTMAX_OF_ONE_AXIS
        if old or axis_of(node, rank, otherwise) == mark.axis:
            raise NotConverted(ALONG)
        _first_alone(walk, node)

    return rule


def _running(walk: Walk, node: Any) -> None:
    """CumSum: what is behind the count is not in a sum before it."""
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
    (axis,) = walk.numbers(node.input[1], "axis")
    if axis % rank == mark.axis and attribute(node, "reverse", 0):
        raise NotConverted(ALONG)
    walk.mark(node, mark.axis, mark.count)


def _normalized(walk: Walk, node: Any) -> None:
    """Layers of normalization, along an axis and all after it."""
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
    if axis_of(node, rank, -1) <= mark.axis or len(node.output) > 1:
        raise NotConverted(ALONG)
    _first_alone(walk, node)


def _multiplied(walk: Walk, node: Any) -> None:
    """Products of matrices: rows of the first, columns of the second."""
    shapes = [walk.shape(name) for name in node.input[:2]]
    marks = [walk.marks.get(name) for name in node.input[:2]]
    rank = max(map(len, shapes))
    if all(marks) or min(map(len, shapes)) < 2:
        raise NotConverted(TWO)
    side = 0 if marks[0] is not None else 1
    mark, shape = marks[side], shapes[side]
    assert mark is not None
    summed = len(shape) - 1 if side == 0 else len(shape) - 2
    if mark.axis == summed:
        raise NotConverted(ALONG)
    at = rank - len(shape) + mark.axis
    other = shapes[1 - side]
    place = at - rank + len(other)
    if at < rank - 2 and place >= 0 and other[place] != 1:
        raise NotConverted(f"the size of one operand depends on values, the other has {other[place]}")
    walk.mark(node, at, mark.count)


def _dense(walk: Walk, node: Any) -> None:
    """Gemm: rows of the first, columns of the second."""
    marks = [walk.marks.get(name) for name in node.input]
    marked = [index for index, mark in enumerate(marks) if mark is not None]
    if marked not in ([0], [1]):
        raise NotConverted(TWO)
    (index,) = marked
    mark = marks[index]
    assert mark is not None
    turned = bool(attribute(node, ("transA", "transB")[index], 0))
    if mark.axis != (index if not turned else 1 - index):
        raise NotConverted(ALONG)
    if len(node.input) > 2 and node.input[2]:
        bias = (1, 1, *walk.shape(node.input[2]))[-2:]
        if bias[index] != 1:
            raise NotConverted(f"the size of one operand depends on values, the other has {bias[index]}")
    walk.mark(node, index, mark.count)


def _images(walk: Walk, node: Any) -> None:
    """Operators that take the images of a batch one by one."""
    mark = walk.marks.get(node.input[0])
    if mark is None or mark.axis != 0 or any(name in walk.marks for name in node.input[1:]):
        raise NotConverted(ALONG)
    walk.mark(node, 0, mark.count)


def _regions(walk: Walk, node: Any) -> None:
    """RoiAlign: of each region."""
    marks = {walk.marks.get(name) for name in node.input[1:3]}
    if node.input[0] in walk.marks or len(marks) > 1 or None in marks:
        raise NotConverted(TWO)
    ((mark),) = marks
    assert mark is not None
    walk.mark(node, 0, mark.count)


def _one_hot(walk: Walk, node: Any) -> None:
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0])) + 1
    axis = axis_of(node, rank, -1)
    walk.mark(node, mark.axis + (axis <= mark.axis), mark.count)


def _divided(walk: Walk, node: Any) -> None:
    """Split, along another axis."""
    _along_another(0)(walk, node)


def _repeated(walk: Walk, node: Any) -> None:
    mark, repeats = walk.marks[node.input[0]], walk.numbers(node.input[1], "repeats")
    if repeats[mark.axis] != 1:
        raise NotConverted(ALONG)
    walk.mark(node, mark.axis, mark.count)


def _padded(walk: Walk, node: Any) -> None:
    mark, rank = walk.marks[node.input[0]], len(walk.shape(node.input[0]))
    pads = walk.numbers(node.input[1], "pads")
    axes = walk.numbers(node.input[3], "axes") if len(node.input) > 3 and node.input[3] else range(rank)
    for index, axis in enumerate(axes):
        if axis % rank == mark.axis and (pads[index] or pads[index + len(axes)]):
            raise NotConverted(ALONG)
    walk.mark(node, mark.axis, mark.count)


_ELEMENTWISE = frozenset(
    (
        "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift", "BitwiseAnd",
        "BitwiseNot", "BitwiseOr", "BitwiseXor", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Div", "Elu",
        "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish",
        "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min",
        "Mish", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu",
        "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish",
        "Tan", "Tanh", "ThresholdedRelu", "Where", "Xor",
    )
)  # fmt: skip
_OF_IMAGES = (
    "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool",
    "GlobalMaxPool", "InstanceNormalization", "MaxPool", "Resize", "SpaceToDepth",
)  # fmt: skip

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _element_by_element),
    **dict.fromkeys(_OF_IMAGES, _images),
    **dict.fromkeys((*_NEUTRAL, "ReduceMean", "ReduceLogSum", "ReduceLogSumExp"), _reduced),
    "ArgMax": _greatest,
    "ArgMin": _greatest,
    "Cast": _first_alone,
    "CastLike": _first_alone,
    "Concat": joined,
    "CumSum": _running,
    "DequantizeLinear": _quantized,
    "Expand": spread,
    "Flatten": reshaped,
    "Gather": _gathered,
    "GatherElements": _gathered_elements,
    "GatherND": _gathered_places,
    "Gemm": _dense,
    "LayerNormalization": _normalized,
    "LogSoftmax": _along_another(-1),
    "MatMul": _multiplied,
    "OneHot": _one_hot,
    "Pad": _padded,
    "QuantizeLinear": _quantized,
    "Reshape": reshaped,
    "RoiAlign": _regions,
    "Shape": extents_of,
    "Size": elements_of,
    "Slice": sliced,
    "Softmax": _along_another(-1),
    "Split": _divided,
    "Squeeze": _squeezed,
    "Tile": _repeated,
    "Transpose": _transposed,
    "Unsqueeze": _unsqueezed,
}
"""Of operators that read a tensor with a count."""

BY_SIZES: Mapping[str, Rule] = {
    "ConstantOfShape": spread,
    "Expand": spread,
    "Range": counted_up,
    "Reshape": reshaped,
    "Slice": sliced,
}
"""Of operators that read a count as an extent."""
