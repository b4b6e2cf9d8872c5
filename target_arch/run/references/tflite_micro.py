"""TFLite Micro's interpreter: the reference of TFLite models that LiteRT cannot run."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from target_arch.relax.readers.flatbuffer import TFLITE_IDENTIFIER
from target_arch.relax.readers.tflite_operators.walk.codes import builtin_code
from target_arch.run.references.reference import Frame, Input, Reference, cannot_run, limits, unreadable
from target_arch.run.tools.toolchain import missing

_ARENA = 16 << 20
"""Bytes of the interpreter's arena, which is part of no bundle."""


def needs_tflite_micro(data: bytes) -> bool:
    """True for a model with an SVDF whose state is int8, where LiteRT writes 16-bit values past its end, or
    with an operator that LiteRT does not have.
    """
    try:
        if data[4:8] != TFLITE_IDENTIFIER:
            return False
        model = tflite.Model.GetRootAsModel(data, 0)
        return _has_narrow_state(model) or _has_its_own_operator(model)
    except struct.error:  # a damaged file, for LiteRT to refuse
        return False


def _has_its_own_operator(model: Any) -> bool:
    codes = (model.OperatorCodes(number) for number in range(model.OperatorCodesLength()))
    return any((code.CustomCode() or b"").startswith(_OWN) for code in codes)


_OWN = (b"Signal", b"TFLM_", b"CIRCULAR_BUFFER")
"""Beginnings of the names of its own operators."""


def _has_narrow_state(model: Any) -> bool:
    graph = model.Subgraphs(0)
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        code = model.OperatorCodes(operator.OpcodeIndex())
        if builtin_code(code) != tflite.BuiltinOperator.SVDF or operator.InputsLength() <= _STATE:
            continue
        if graph.Tensors(operator.Inputs(_STATE)).Type() == tflite.TensorType.INT8:
            return True
    return False


_STATE = 4


def tflite_micro(model: Path) -> Reference:
    """Quantized models only: every bit must agree.

    ToolMissing without `tflite-micro`, DiagnosticError for a file it cannot read.
    """
    try:
        from tflite_micro import runtime
    except ImportError as error:
        raise missing(
            "reference",
            "the package `tflite-micro` is not installed, and LiteRT runs neither an SVDF with an int8 state "
            "nor TFLite Micro's own operators",
            "pip install tflite-micro",
        ) from error
    data = model.read_bytes()
    graph = tflite.Model.GetRootAsModel(data, 0).Subgraphs(0)
    try:
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=_ARENA)
        inputs = [interpreter.get_input_details(number) for number in range(graph.InputsLength())]
    except (ValueError, RuntimeError) as error:
        raise unreadable(model, "TFLite Micro", error) from error

    def answer(frame: Frame) -> tuple[Frame, ...]:
        try:
            for number, value in enumerate(frame):
                interpreter.set_input(value, number)
            interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise cannot_run(model, "TFLite Micro", error) from error
        return (tuple(interpreter.get_output(number) for number in range(graph.OutputsLength())),)

    return Reference(
        name="TFLite Micro's interpreter",
        rule="every bit equal",
        inputs=tuple(_input(details, number) for number, details in enumerate(inputs)),
        units=tuple(1.0 for _ in range(graph.OutputsLength())),
        allowed=0.0,
        answer=answer,
        reset=interpreter.reset,
    )


def _input(details: Any, number: int) -> Input:
    dtype = np.dtype(details["dtype"])
    low, high = limits(dtype, quantized=len(details["quantization_parameters"]["scales"]) > 0)
    return Input(
        name=f"input {number}",
        shape=tuple(int(each) for each in details["shape"]),
        dtype=dtype,
        low=low,
        high=high,
    )
