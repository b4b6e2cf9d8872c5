"""Shared by the int8 engines: which quantized operators they take, and how their parameters are packed."""

import struct
from collections.abc import Iterator, Mapping
from typing import TypeVar

from target_arch.backend.contract import Question
from target_arch.backends.registers import ROUNDING
from target_arch.plan.arithmetic import Requantization, Rounding, requantization
from target_arch.plan.kernels import Slice
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.products import groups_of

Start = TypeVar("Start")

DEFAULT_CLOCK = 100e6
"""Hertz assumed for a target_arch whose description states no clock."""

_CODES = {
    Rounding.TFLITE: ROUNDING[0][1],
    Rounding.ONNX: ROUNDING[1][1],
    Rounding.TFLITE_SINGLE: ROUNDING[2][1],
}
"""The register value of each requantizer of `target_arch.plan.arithmetic`."""


def refused(question: Question) -> str | None:
    """The same as `refusal`, which no chip changes, found once for all engines."""
    operator, model = question.operator, question.model
    return question.once(("quantized", operator.id), lambda: refusal(operator, model))


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an engine with int8 operands and int32 bias cannot take the operator, None where it can.

    Asked of kinds whose constants are weights and bias.
    """
    if operator.arithmetic not in (Arithmetic.TFLITE, Arithmetic.ONNX):
        return f"arithmetic is {operator.arithmetic}, the engine computes int8 only"
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    weights, bias = (model.tensors[name] for name in operator.constants)
    expected = (
        ("input", x, "int8"),
        ("output", out, "int8"),
        ("weights", weights, "int8"),
        ("bias", bias, "int32"),
    )
    for what, tensor, dtype in expected:
        if tensor.dtype != dtype:
            return f"{what} is {tensor.dtype}, the engine takes {dtype}"
    for what, tensor in (("input", x), ("output", out), ("weights", weights)):
        if tensor.quantization is None:
            return f"{what} has no quantization"
    if weights.data is None or bias.data is None:
        return "weights or bias are computed at run time, the engine takes constants"
    groups = groups_of(operator, model)
    return f"{groups} groups of channels, the engine takes 1" if groups > 1 else _zero_point(weights)


def _zero_point(weights: Tensor) -> str | None:
    zero_points = weights.quantization.zero_point if weights.quantization else ()
    other = next((zero for zero in zero_points if zero), 0)
    return f"weights have zero point {other}, the engine takes 0" if other else None


def parameters(operator: Operator, model: Model) -> tuple[bytes, ...]:
    """Bias, multiplier and shift (int32, little endian) of every output channel."""
    bias = model.tensors[operator.constants[1]].data
    assert bias is not None
    biases = struct.unpack(f"<{len(bias) // 4}i", bias)
    scaling = requantization(operator, model)
    scales = tuple(_scales(scaling, len(biases)))
    return tuple(struct.pack("<iii", value, *scale) for value, scale in zip(biases, scales, strict=True))


def _scales(scaling: Requantization, channels: int) -> Iterator[tuple[int, int]]:
    uniform = len(scaling.multipliers) == 1
    for channel in range(channels):
        index = 0 if uniform else channel
        yield scaling.multipliers[index], scaling.shifts[index]


def words(operator: Operator, model: Model) -> dict[str, int]:
    """The command words that say how results are rounded, shifted and clamped."""
    scaling = requantization(operator, model)
    return {
        "INPUT_ZERO_POINT": -scaling.input_offset,
        "OUTPUT_ZERO_POINT": scaling.output_offset,
        "CLAMP_MIN": scaling.activation_min,
        "CLAMP_MAX": scaling.activation_max,
        "ROUNDING": _CODES[scaling.rounding],
    }


def packed(
    operator: Operator, pieces: Mapping[Start, bytes], alignment: int
) -> tuple[Tensor, dict[Start, Slice]]:
    """One constant of the operator with the pieces one after the other, each at an aligned offset; and the
    slice of it that each piece is, by where it starts in the layer.
    """
    name, data, slices = f"{operator.id}.packed", bytearray(), {}
    for start, piece in pieces.items():
        data += bytes(-len(data) % alignment)
        slices[start] = Slice(of=name, offset=len(data), row_bytes=len(piece))
        data += piece
    return Tensor(name=name, shape=(len(data),), dtype="int8", data=bytes(data)), slices
