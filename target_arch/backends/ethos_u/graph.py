"""Operators of the plan as operators of TFLite, and why some have no such form.

The quantization is that of the plan's tensors, to the bit. Sources: the TFLite schema; LiteRT's
`kernels/padding.h` and `kernels/kernel_util.cc` for what SAME and the fused activations mean.
"""

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

from attrs import evolve, field, mutable

from target_arch.backends.ethos_u.tflite_file import Subgraph, SubgraphOperator
from target_arch.plan.arithmetic import DTYPE_RANGE, activation_range, counts_in_multiplier
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.operators.window import Window
from target_arch.plan.partitions import border
from target_arch.plan.products import beyond_plain

SAME, VALID = 0, 1
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")


class Unwritable(Exception):
    """An operator has no form in TFLite; the text is the reason, as `supports` gives it."""


def graph_of(operators: tuple[Operator, ...], model: Model) -> Subgraph:
    """The operators as one TFLite graph, whose inputs and outputs are the tensors of their border.

    Raises Unwritable.
    """
    inputs, outputs = border(model, operators)
    drawing = _Drawing(model)
    for name in inputs:
        drawing.tensor(name)
    for operator in operators:
        WRITERS[operator.kind](operator, drawing)
    return Subgraph(
        tensors=tuple(drawing.tensors.values()), inputs=inputs, outputs=outputs, nodes=tuple(drawing.nodes)
    )


@mutable
class _Drawing:
    """The graph so far."""

    model: Model
    tensors: dict[str, Tensor] = field(factory=dict)
    nodes: list[SubgraphOperator] = field(factory=list)

    def tensor(self, name: str) -> str:
        """A tensor of the model, as it is."""
        self.tensors.setdefault(name, self.model.tensors[name])
        return name

    def reshaped(self, name: str, shape: tuple[int, ...]) -> str:
        """An activation in another shape, by a RESHAPE where it has another."""
        tensor = self.tensors[self.tensor(name)]
        if tensor.shape == shape:
            return name
        made = f"{name}.as_{'x'.join(map(str, shape))}"
        if made not in self.tensors:
            self.tensors[made] = evolve(tensor, name=made, shape=shape)
            self.reshape(name, made, shape)
        return made

    def reshape(self, source: str, target: str, shape: tuple[int, ...]) -> None:
        """A RESHAPE between two existing tensors."""
        wanted = f"{target}.shape"
        data = b"".join(size.to_bytes(4, "little") for size in shape)
        self.tensors[wanted] = Tensor(name=wanted, shape=(len(shape),), dtype="int32", data=data)
        self.nodes.append(
            SubgraphOperator(
                code="RESHAPE", version=1, inputs=(source, wanted), output=target, options="ReshapeOptions"
            )
        )

    def add(self, operator: Operator, node: SubgraphOperator, shape: tuple[int, ...]) -> None:
        """An operator whose result has this shape in TFLite; its output tensor may have another one."""
        out = self.tensors[self.tensor(operator.output)]
        if out.shape == shape:
            self.nodes.append(node)
            return
        made = f"{operator.output}.made"
        self.tensors[made] = evolve(out, name=made, shape=shape)
        self.nodes.append(evolve(node, output=made))
        self.reshape(made, operator.output, out.shape)


def _convolution(operator: Operator, drawing: _Drawing) -> None:
    x, weights = (drawing.model.tensors[name] for name in (operator.inputs[0], operator.constants[0]))
    deep = operator.kind is OperatorKind.DEPTHWISE_CONV2D
    if deep:
        height, width, channels = weights.shape
        drawing.tensors[weights.name] = evolve(
            weights, shape=(1, *weights.shape), quantization=_on_axis(weights, 3)
        )
    else:
        channels, height, width, _ = weights.shape
        drawing.tensors[weights.name] = evolve(weights, quantization=_on_axis(weights, 0))
    strides, dilation = _pair(operator, "strides"), _pair(operator, "dilation")
    fields: dict[str, int | float | bool] = {
        "Padding": padding(operator, x.shape, (height, width)),
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
        inputs=(drawing.tensor(x.name), weights.name, drawing.tensor(operator.constants[1])),
        output=operator.output,
        options="DepthwiseConv2DOptions" if deep else "Conv2DOptions",
        fields=fields,
    )
    area = _extents(x.shape, (height, width), operator)
    drawing.add(operator, node, (x.shape[0], *area, channels))


def _dense(operator: Operator, drawing: _Drawing) -> None:
    weights = drawing.model.tensors[operator.constants[0]]
    outputs, inputs = weights.shape
    rows = prod(drawing.model.tensors[operator.inputs[0]].shape) // inputs
    drawing.tensors[weights.name] = evolve(weights, quantization=_on_axis(weights, 0))
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
    drawing.add(operator, node, (rows, outputs))


def _elementwise(operator: Operator, drawing: _Drawing) -> None:
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
    drawing.add(operator, node, drawing.model.tensors[names[0]].shape)


def _pool(operator: Operator, drawing: _Drawing) -> None:
    x = drawing.model.tensors[operator.inputs[0]]
    kernel, strides = _pair(operator, "kernel"), _pair(operator, "strides")
    fields: dict[str, int | float | bool] = {
        "Padding": padding(operator, x.shape, kernel),
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
    drawing.add(operator, node, (x.shape[0], *_extents(x.shape, kernel, operator), x.shape[3]))


def _softmax(operator: Operator, drawing: _Drawing) -> None:
    shape = drawing.model.tensors[operator.inputs[0]].shape
    node = SubgraphOperator(
        code="SOFTMAX",
        version=2,
        inputs=(drawing.tensor(operator.inputs[0]),),
        output=operator.output,
        options="SoftmaxOptions",
        fields={"Beta": float(_number(operator, "beta"))},
    )
    drawing.add(operator, node, shape)


def _reshape(operator: Operator, drawing: _Drawing) -> None:
    drawing.tensor(operator.output)
    source = drawing.tensor(operator.inputs[0])
    drawing.reshape(source, operator.output, drawing.model.tensors[operator.output].shape)


Writer = Callable[[Operator, _Drawing], None]
WRITERS: Mapping[str, Writer] = {
    OperatorKind.CONV2D: _convolution,
    OperatorKind.DEPTHWISE_CONV2D: _convolution,
    OperatorKind.DENSE: _dense,
    OperatorKind.ADD: _elementwise,
    OperatorKind.SUB: _elementwise,
    OperatorKind.MUL: _elementwise,
    OperatorKind.AVG_POOL2D: _pool,
    OperatorKind.MAX_POOL2D: _pool,
    OperatorKind.SOFTMAX: _softmax,
    OperatorKind.RESHAPE: _reshape,
}


def padding(operator: Operator, shape: tuple[int, ...], kernel: tuple[int, int]) -> int:
    """TFLite's name for the explicit padding of a window. Raises Unwritable where it has none."""
    given: Any = operator.attributes["padding"]
    if not any(given):
        return VALID
    rows, columns = (
        Window.same(*axis)
        for axis in zip(
            shape[1:3], kernel, _pair(operator, "strides"), _pair(operator, "dilation", (1, 1)), strict=True
        )
    )
    if tuple(given) == (rows.before, columns.before, rows.after, columns.after):
        return SAME
    raise Unwritable(f"padding of {tuple(given)} is neither SAME nor VALID of TFLite")


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


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator has no form in TFLite of int8, None where it has one."""
    if operator.kind not in WRITERS:
        kinds = ", ".join(sorted(WRITERS))
        return f"the unit computes {kinds}; this is {operator.kind}"
    if not operator.facts.moves and operator.arithmetic != Arithmetic.TFLITE:
        return f"arithmetic is {operator.arithmetic}, Vela compiles TFLite's"
    if counts_in_multiplier(operator):
        return "a MEAN of TFLite, which this backend does not write"
    unfit = next(_unfit(operator, model), None)
    if unfit is not None:
        return unfit
    try:
        graph_of((operator,), model)
    except Unwritable as reason:
        return str(reason)
    return None


def _unfit(operator: Operator, model: Model) -> Iterator[str]:
    """Why the tensors of an operator have no form in TFLite of int8, None where they have one."""
    bias = operator.constants[1:2] if operator.facts.weighted else ()
    for name in (*operator.inputs, *operator.constants, operator.output):
        tensor = model.tensors[name]
        wanted = "int32" if name in bias else "int8"
        if tensor.dtype != wanted:
            yield f"`{name}` is {tensor.dtype}, the unit takes {wanted} there"
        if tensor.quantization is None and name not in bias:
            yield f"`{name}` has no quantization"
        if tensor.data is None and name in operator.constants:
            yield f"`{name}` is computed at run time, the unit takes a constant"
    other = beyond_plain(operator, model) if operator.facts.weighted else None
    if other is not None:
        yield f"{other}, the unit takes none"


def _on_axis(tensor: Tensor, axis: int) -> Quantization | None:
    return None if tensor.quantization is None else evolve(tensor.quantization, axis=axis)


def _extents(shape: tuple[int, ...], kernel: tuple[int, int], operator: Operator) -> tuple[int, int]:
    given: Any = operator.attributes["padding"]
    strides, dilation = _pair(operator, "strides"), _pair(operator, "dilation", (1, 1))
    axes = zip(shape[1:3], kernel, strides, dilation, given[:2], given[2:], strict=True)
    rows, columns = (Window.padded(*axis).out for axis in axes)
    return rows, columns


def _pair(operator: Operator, name: str, default: tuple[int, int] | None = None) -> tuple[int, int]:
    value: Any = operator.attributes.get(name, default)
    return int(value[0]), int(value[1])


def _number(operator: Operator, name: str) -> float:
    value: Any = operator.attributes.get(name, 1)
    return float(value)
