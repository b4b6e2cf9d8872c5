"""Random models of one recurrent TFLite operator each, with the variables that keep its state."""

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from conformance.tflite_cases import Case, Draw

_TANH = 4


def _constant(draw: Draw, shape: tuple[int, ...], dtype: str, scale: float | None = None) -> int:
    """Random weights; in float32 about as large as a layer's own."""
    if dtype == "float32":
        return draw.file.tensor(shape, dtype, data=draw.values(shape, dtype) / math.sqrt(shape[-1]))
    values = np.clip(draw.rng.normal(0, 50, shape), -127, 127)
    return draw.file.tensor(shape, dtype, scale, data=values)


def svdf(draw: Draw, *, state: str = "int16") -> None:
    """SVDF; `state` is the element type of the state of an int8 one."""
    batch, inputs, memory = draw.extent(1, 2), draw.extent(2, 6), draw.extent(2, 5)
    rank, units = draw.extent(1, 3), draw.extent(1, 4)
    filters = rank * units
    x = draw.file.input((batch, inputs), draw.dtype, *draw.grid())
    held, other = (None, "float32") if draw.real else (draw.scale(), state)
    if state == "int16" and held is not None:
        held = held / 64
    scale = draw.scale(0.2)
    bias = ("float32", None) if held is None else ("int32", held * scale)
    tensors = [
        x,
        _constant(draw, (filters, inputs), draw.dtype, draw.scale(0.2)),
        _constant(draw, (filters, memory), other, scale),
        draw.file.tensor((units,), *bias, data=np.arange(units) - 1),
        draw.file.variable((batch, filters * memory), other, held, draw.extent(-9, 9) * (other == "int8")),
    ]
    y = draw.file.output((batch, units), draw.dtype, *draw.grid())
    options = {"rank": rank, "fusedActivationFunction": draw.choice(0, 1)}
    draw.file.operator("SVDF", tensors, [y], ("SVDFOptions", options), 3)


def lstm(draw: Draw, *, coupled: bool = False) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM; `coupled`: without an input gate."""
    steps, batch, inputs, hidden = (draw.extent(1, 4) for _ in range(4))
    major = draw.choice(True, False)
    first = (steps, batch) if major else (batch, steps)
    x = draw.file.input((*first, inputs), draw.dtype, *draw.grid())
    grid = (None, 0) if draw.real else (1 / 128, draw.extent(-9, 9))
    grid = (1 / 32768, 0) if draw.dtype == "int16" else grid
    stored, wider = "float32" if draw.real else "int8", 256 if draw.dtype == "int16" else 1
    weights = [
        -1 if coupled and gate == 0 else _constant(draw, (hidden, columns), stored, draw.scale(0.2 * wider))
        for columns in (inputs, hidden)
        for gate in range(4)
    ]
    kind = "float32" if draw.real else "int64" if draw.dtype == "int16" else "int32"
    biases = [
        draw.file.tensor((hidden,), kind, data=draw.rng.normal(0, 99 ** (not draw.real), hidden))
        for _ in range(4)
    ]
    biases = [-1 if coupled and gate == 0 else each for gate, each in enumerate(biases)]
    states = [
        draw.file.variable((batch, hidden), draw.dtype, *grid),
        draw.file.variable(
            (batch, hidden), *(("float32",) if draw.real else ("int16", draw.choice(2**-12, 2**-11)))
        ),
    ]
    y = draw.file.output((*first, hidden), draw.dtype, *grid)
    none = [draw.file.tensor((0,), "float32") for _ in range(0 if draw.real else 4)]
    between = [*none, draw.file.tensor((0,), draw.dtype, *grid)] if none else []
    clip = draw.choice(0.0, 1.0)
    options = {"fusedActivationFunction": _TANH, "cellClip": clip, "timeMajor": major}
    draw.file.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [x, *weights, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1],
        [y],
        ("UnidirectionalSequenceLSTMOptions", options),
        3,
        between,
    )


CASES: Mapping[str, Case] = {
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
    "UNIDIRECTIONAL_SEQUENCE_LSTM without input gate": partial(lstm, coupled=True),
}
