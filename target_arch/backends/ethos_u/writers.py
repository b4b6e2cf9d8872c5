"""Sums of products, pairs, pools and rows of the plan as operators of TFLite.

The quantization is that of the plan's tensors, to the bit. Sources: the TFLite schema; LiteRT's
`kernels/padding.h` and `kernels/kernel_util.cc` for what SAME and the fused activations mean.
"""

from math import prod
from typing import Any

from attrs import evolve

from target_arch.backends.ethos_u.drawing import Drawing, Unwritable
from target_arch.backends.ethos_u.tflite_file import SubgraphOperator
from target_arch.plan.arithmetic import DTYPE_RANGE, activation_range, counts_in_multiplier
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.operators.window import Window

SAME, VALID = 0, 1
_HIGHER = bytes((byte + 128) % 256 for byte in range(256))
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")


def convolution(operator: Operator, drawing: Drawing) -> None:
    """A convolution; padding that has no name in TFLite is a PAD before it."""
    x, weights = (drawing.model.tensors[name] for name in (operator.inputs[0], operator.constants[0]))
    deep = operator.kind is OperatorKind.DEPTHWISE_CONV2D
    if deep:
        height, width, channels = weights.shape
        drawing.tensors[weights.name] = evolve(_beside(x, weights, 3), shape=(1, *weights.shape))
    else:
        channels, height, width, _ = weights.shape
        drawing.tensors[weights.name] = _beside(x, weights, 0)
    strides, dilation = pair(operator, "strides"), pair(operator, "dilation")
    named = padding(operator, x.shape, (height, width))
    around: Any = operator.attributes["padding"]
    source = drawing.padded(x.name, around, operator.output) if named is None else drawing.tensor(x.name)
    fields: dict[str, int | float | bool] = {
        "Padding": VALID if named is None else named,
        "StrideW": strides[1],
        "StrideH": strides[0],
        "DilationWFactor": dilation[1],
        "DilationHFactor": dilation[0],
        "FusedActivationFunction": activation(operator, drawing.model),
    }
    if deep:
        fields["DepthMultiplier"] = int(_number(operator, "depth_multiplier"))
    node = SubgraphOperator(
        code="DEPTHWISE_CONV_2D" if deep else "CONV_2D",
        version=3,
        inputs=(source, weights.name, drawing.tensor(operator.constants[1])),
        output=operator.output,
        options="DepthwiseConv2DOptions" if deep else "Conv2DOptions",
        fields=fields,
    )
    area = _extents(x.shape, (height, width), operator)
    drawing.add(operator.output, node, (x.shape[0], *area, channels))


def transposed(operator: Operator, drawing: Drawing) -> None:
    """A transposed convolution, whose activation Vela does not fuse."""
    x, weights, out = (
        drawing.model.tensors[name] for name in (operator.inputs[0], operator.constants[0], operator.output)
    )
    if activation(operator, drawing.model) != ACTIVATIONS.index("NONE"):
        raise Unwritable("a transposed convolution with an activation")
    drawing.tensors[weights.name] = _beside(x, weights, 0)
    strides = pair(operator, "strides")
    node = SubgraphOperator(
        code="TRANSPOSE_CONV",
        version=3,
        inputs=(
            drawing.numbers(f"{out.name}.shape", out.shape),
            weights.name,
            drawing.tensor(x.name),
            drawing.tensor(operator.constants[1]),
        ),
        output=drawing.tensor(out.name),
        options="TransposeConvOptions",
        fields={
            "Padding": _cut_padding(operator, drawing.model),
            "StrideW": strides[1],
            "StrideH": strides[0],
        },
    )
    drawing.nodes.append(node)


def _cut_padding(operator: Operator, model: Model) -> int:
    """TFLite's name for what a transposed convolution cuts off. Raises Unwritable where it has none."""
    given: Any = operator.attributes["padding"]
    if not any(given):
        return VALID
    x, weights, out = (
        model.tensors[name].shape for name in (operator.inputs[0], operator.constants[0], operator.output)
    )
    axes = zip(out[1:3], weights[1:3], pair(operator, "strides"), strict=True)
    rows, columns = (Window.same(*axis) for axis in axes)
    whole = tuple(size * step for size, step in zip(x[1:3], pair(operator, "strides"), strict=True))
    if out[1:3] == whole and tuple(given) == (rows.before, columns.before, rows.after, columns.after):
        return SAME
    raise Unwritable(_unnamed(operator))


def dense(operator: Operator, drawing: Drawing) -> None:
    """A fully connected layer of rows."""
    weights = drawing.model.tensors[operator.constants[0]]
    outputs, inputs = weights.shape
    x = drawing.model.tensors[operator.inputs[0]]
    rows = prod(x.shape) // inputs
    drawing.tensors[weights.name] = _beside(x, weights, 0)
    node = SubgraphOperator(
        code="FULLY_CONNECTED",
        version=4,
        inputs=(
            drawing.reshaped(operator.inputs[0], (rows, inputs)),
            weights.name,
            drawing.tensor(operator.constants[1]),
        ),
        output=operator.output,
        options="FullyConnectedOptions",
        fields={"FusedActivationFunction": activation(operator, drawing.model)},
    )
    drawing.add(operator.output, node, (rows, outputs))


def elementwise(operator: Operator, drawing: Drawing) -> None:
    """A sum, difference or product of two tensors."""
    name = operator.kind
    names = (*operator.inputs, *operator.constants)
    node = SubgraphOperator(
        code=name.upper(),
        version=2,
        inputs=tuple(drawing.tensor(each) for each in names),
        output=operator.output,
        options=f"{name.capitalize()}Options",
        fields={"FusedActivationFunction": activation(operator, drawing.model)},
    )
    drawing.add(operator.output, node, drawing.model.tensors[names[0]].shape)


def pool(operator: Operator, drawing: Drawing) -> None:
    """A pool. Raises Unwritable for padding that has no name: elements outside count in no window."""
    if counts_in_multiplier(operator):
        _mean(operator, drawing)
        return
    x = drawing.model.tensors[operator.inputs[0]]
    kernel, strides = pair(operator, "kernel"), pair(operator, "strides")
    named = padding(operator, x.shape, kernel)
    if named is None:
        raise Unwritable(_unnamed(operator))
    fields: dict[str, int | float | bool] = {
        "Padding": named,
        "StrideW": strides[1],
        "StrideH": strides[0],
        "FilterWidth": kernel[1],
        "FilterHeight": kernel[0],
        "FusedActivationFunction": activation(operator, drawing.model),
    }
    node = SubgraphOperator(
        code="AVERAGE_POOL_2D" if operator.kind is OperatorKind.AVG_POOL2D else "MAX_POOL_2D",
        version=2,
        inputs=(drawing.tensor(x.name),),
        output=operator.output,
        options="Pool2DOptions",
        fields=fields,
    )
    drawing.add(operator.output, node, (x.shape[0], *_extents(x.shape, kernel, operator), x.shape[3]))


def _mean(operator: Operator, drawing: Drawing) -> None:
    """An average over whole extents of an image. Raises Unwritable for other windows."""
    x = drawing.model.tensors[operator.inputs[0]]
    kernel = pair(operator, "kernel")
    axes = [axis for axis, size in enumerate(kernel, 1) if size == x.shape[axis]]
    if any(size != 1 for axis, size in enumerate(kernel, 1) if axis not in axes):
        raise Unwritable(f"a mean over windows of {kernel[0]} x {kernel[1]} of a larger image")
    if activation(operator, drawing.model) != ACTIVATIONS.index("NONE"):
        raise Unwritable("a mean with an activation")
    node = SubgraphOperator(
        code="MEAN",
        version=2,
        inputs=(drawing.tensor(x.name), drawing.numbers(f"{operator.output}.axes", axes)),
        output=operator.output,
        options="ReducerOptions",
        fields={"KeepDims": True},
    )
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    drawing.add(operator.output, node, shape)


def softmax(operator: Operator, drawing: Drawing) -> None:
    """A softmax along the last dimension."""
    shape = drawing.model.tensors[operator.inputs[0]].shape
    node = SubgraphOperator(
        code="SOFTMAX",
        version=2,
        inputs=(drawing.tensor(operator.inputs[0]),),
        output=operator.output,
        options="SoftmaxOptions",
        fields={"Beta": float(_number(operator, "beta"))},
    )
    drawing.add(operator.output, node, shape)


def padding(operator: Operator, shape: tuple[int, ...], kernel: tuple[int, int]) -> int | None:
    """TFLite's name for the explicit padding of a window, None where it has none."""
    given: Any = operator.attributes["padding"]
    if not any(given):
        return VALID
    rows, columns = (
        Window.same(*axis)
        for axis in zip(
            shape[1:3], kernel, pair(operator, "strides"), pair(operator, "dilation", (1, 1)), strict=True
        )
    )
    if tuple(given) == (rows.before, columns.before, rows.after, columns.after):
        return SAME
    return None


def activation(operator: Operator, model: Model) -> int:
    """TFLite's name for the range of an operator's results. Raises Unwritable where it has none."""
    out = model.tensors[operator.output]
    low, high = DTYPE_RANGE[out.dtype]
    wanted = activation_range(operator, model)
    assert out.quantization is not None
    scale, zero = out.quantization.scale[0], out.quantization.zero_point[0]
    bounds = {"NONE": (None, None), "RELU": (0, None), "RELU_N1_TO_1": (-1, 1), "RELU6": (0, 6)}
    for name, (least, most) in bounds.items():
        first = low if least is None else max(low, zero + round(least / scale))
        last = high if most is None else min(high, zero + round(most / scale))
        if (first, last) == wanted:
            return ACTIVATIONS.index(name)
    raise Unwritable(f"results from {wanted[0]} to {wanted[1]} are no activation of TFLite")


def _unnamed(operator: Operator) -> str:
    given: Any = operator.attributes["padding"]
    return f"padding of {tuple(given)} is neither SAME nor VALID of TFLite"


def _beside(x: Tensor, weights: Tensor, axis: int) -> Tensor:
    """Weights as TFLite has them beside a tensor, with their scales along that axis.

    The plan has weights of int8 everywhere, TFLite those of uint8 beside uint8: the same numbers, 128 higher.
    """
    grid, data = weights.quantization, weights.data
    assert grid is not None
    assert data is not None
    written = evolve(weights, quantization=evolve(grid, axis=axis))
    if x.dtype != "uint8":
        return written
    higher = evolve(grid, axis=axis, zero_point=tuple(zero + 128 for zero in grid.zero_point))
    return evolve(written, dtype="uint8", quantization=higher, data=data.translate(_HIGHER))


def _extents(shape: tuple[int, ...], kernel: tuple[int, int], operator: Operator) -> tuple[int, int]:
    given: Any = operator.attributes["padding"]
    strides, dilation = pair(operator, "strides"), pair(operator, "dilation", (1, 1))
    axes = zip(shape[1:3], kernel, strides, dilation, given[:2], given[2:], strict=True)
    rows, columns = (Window.padded(*axis).out for axis in axes)
    return rows, columns


def pair(operator: Operator, name: str, default: tuple[int, int] | None = None) -> tuple[int, int]:
    """An attribute of two numbers."""
    value: Any = operator.attributes.get(name, default)
    return int(value[0]), int(value[1])


def _number(operator: Operator, name: str) -> float:
    value: Any = operator.attributes.get(name, 1)
    return float(value)
