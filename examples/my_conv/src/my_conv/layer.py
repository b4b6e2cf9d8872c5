"""The description of a layer as the accelerator reads it: the words of `my_conv.h`, parameters, weights."""

import struct
from itertools import cycle

from target_arch.plan.arithmetic import Rounding, addition, requantization
from target_arch.plan.model import Model, Operator, Tensor

CONVOLVE, ADD = 1, 2
ROUNDING = {Rounding.TFLITE: 0, Rounding.ONNX: 1}
FIELDS = 31
PARAMETER_BYTES = 12


def stages(operators: tuple[Operator, ...]) -> int:
    """The word STAGES of a command for these operators."""
    return sum(CONVOLVE if each.kind == "conv2d" else ADD for each in operators)


def layer_bytes(operators: tuple[Operator, ...], model: Model) -> int:
    """The size of the description of these operators."""
    weights = [model.tensors[each.constants[0]] for each in operators if each.kind == "conv2d"]
    return 4 * FIELDS + sum(each.bytes + PARAMETER_BYTES * each.shape[0] for each in weights)


def described(operators: tuple[Operator, ...], model: Model) -> Tensor:
    """The layer of a command: a convolution, a sum, or a convolution and its sum."""
    first, last = operators[0], operators[-1]
    words = _convolution(first, model) if first.kind == "conv2d" else _passed_on(first, model)
    words += _sum(last, operators, model) if last.kind == "add" else [0] * 14
    data = struct.pack(f"<{FIELDS}I", *(word & 0xFFFF_FFFF for word in words))
    if first.kind == "conv2d":
        data += _parameters(first, model) + _data(first.constants[0], model)
    return Tensor(name=f"{first.id}.layer", shape=(len(data),), dtype="int8", data=data)


def _convolution(operator: Operator, model: Model) -> list[int]:
    _, *source = model.tensors[operator.inputs[0]].shape
    _, *result = model.tensors[operator.output].shape
    _, *kernel, _ = model.tensors[operator.constants[0]].shape
    strides, padding = operator.attributes["strides"], operator.attributes["padding"]
    scaling = requantization(operator, model)
    limits = (scaling.activation_min, scaling.activation_max, ROUNDING[scaling.rounding])
    offsets = (-scaling.input_offset, scaling.output_offset)
    return [*source, *result, *kernel, *strides, *padding[:2], *offsets, *limits]


def _passed_on(operator: Operator, model: Model) -> list[int]:
    """A tensor as a row of pixels, for a sum without a convolution."""
    row = [1, 1, model.tensors[operator.output].bytes]
    return [*row, *row, *(1, 1, 1, 1, 0, 0), *(0, 0, 0, 0), ROUNDING[addition(operator, model).rounding]]


def _sum(operator: Operator, operators: tuple[Operator, ...], model: Model) -> list[int]:
    """The addend that comes from the stage before is the first."""
    numbers = addition(operator, model)
    order = (1, 0) if len(operators) > 1 and operator.inputs[0] != operators[0].output else (0, 1)
    wide = [numbers.input_multipliers[side] for side in order]
    halves = [half for each in wide for half in (each, each >> 32)]
    return [
        *(-numbers.input_offsets[side] for side in order),
        *halves,
        *(numbers.input_shifts[side] for side in order),
        numbers.left_shift,
        numbers.output_multiplier,
        numbers.output_shift,
        numbers.output_offset,
        numbers.activation_min,
        numbers.activation_max,
    ]


def _parameters(operator: Operator, model: Model) -> bytes:
    """Bias, multiplier and shift of every output channel."""
    scaling = requantization(operator, model)
    biases = struct.iter_unpack("<i", _data(operator.constants[1], model))
    rows = zip(biases, cycle(scaling.multipliers), cycle(scaling.shifts), strict=False)
    return b"".join(struct.pack("<iii", bias, multiplier, shift) for (bias,), multiplier, shift in rows)


def _data(name: str, model: Model) -> bytes:
    data = model.tensors[name].data
    assert data is not None
    return data
