"""TFLite Micro's interpreter: the reference of TFLite models that LiteRT cannot run."""

from pathlib import Path
from typing import Any

import numpy as np
import tflite

from target_arch.run.references.ended_runs import EndedRuns
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Frame,
    Input,
    Reference,
    cannot_run,
    limits,
    unreadable,
)
from target_arch.run.references.tflite_facts import is_exact
from target_arch.run.tools.toolchain import missing

_ARENA = 16 << 20
"""Bytes of the interpreter's arena, which is part of no bundle."""


def tflite_micro(model: Path, data: bytes) -> Reference:
    """The `data` of a model file. Quantized models must agree in every bit.

    ToolMissing without `tflite-micro`, DiagnosticError for a file it cannot read.
    """
    try:
        from tflite_micro import runtime
    except ImportError as error:
        raise missing(
            "reference",
            "the package `tflite-micro` is not installed, and LiteRT does not run this model as it does",
            "pip install tflite-micro",
        ) from error
    exact = is_exact(data)
    read = tflite.Model.GetRootAsModel(data, 0)
    graph, ends = read.Subgraphs(0), EndedRuns.of(read)
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
        found = tuple(interpreter.get_output(number) for number in range(graph.OutputsLength()))
        return (ends.after(found),)

    def reset() -> None:
        interpreter.reset()
        ends.reset()

    return Reference(
        name="TFLite Micro's interpreter",
        rule="every bit equal" if exact else FLOAT_RULE,
        inputs=tuple(_input(details, number) for number, details in enumerate(inputs)),
        units=tuple(1.0 for _ in range(graph.OutputsLength())),
        allowed=0.0 if exact else FLOAT_TOLERANCE,
        relative=0.0 if exact else FLOAT_RELATIVE,
        answer=answer,
        reset=reset,
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
