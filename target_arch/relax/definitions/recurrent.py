"""LSTM, GRU and RNN on floats, with sigmoid and tanh, as ONNX defines them (`loops/recurrent.py`)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tvm import te, tirx

from target_arch.plan.model import Attribute, Model, Operator
from target_arch.relax.definitions.operands import operands_of
from target_arch.relax.loops import recurrent
from target_arch.relax.loops.recurrent import FLOAT, RecurrentCell, Step
from target_arch.relax.te.definition import Definition
from target_arch.relax.te.loops import written

ATTRIBUTES = ("backwards", "starts", "linear")
"""Attributes, each 0 or 1: whether the only direction begins with the last step; whether initial states are
operands; and whether the reset gate of a GRU is applied to sums.
"""


def _lstm(cell: RecurrentCell, _: Operator) -> Step:
    return recurrent.lstm_step(cell)


def _gru(cell: RecurrentCell, operator: Operator) -> Step:
    return recurrent.gru_step(cell, linear=bool(operator.attributes["linear"]))


def _rnn(cell: RecurrentCell, _: Operator) -> Step:
    return recurrent.rnn_step(cell)


_STEPS: Mapping[str, tuple[Callable[[RecurrentCell, Operator], Step], int]] = {
    "gru": (_gru, 2),
    "lstm": (_lstm, 3),
    "rnn": (_rnn, 1),
}
"""Of each definition the step, and how many functions it takes: a sigmoid first, if it has two or more."""


def _defined(name: str, operator: Operator, model: Model) -> Definition:
    """Operands: X [steps, batch, inputs], initial states if there are any, and the constants W [directions,
    gates * hidden, inputs], R [directions, gates * hidden, hidden] and B [directions, 2 * gates * hidden].
    """
    given = operands_of(operator, model)
    x, r = given.data[0], given.data[-2]
    names = ("X", *("initial_h", "initial_c")[: len(given.data) - 4], "W", "R", "B")
    step, count = _STEPS[name]
    functions = tuple([recurrent.sigmoid] * (count > 1) + [tirx.tanh] * max(count - 1, 1))
    steps, batch, inputs = (int(extent) for extent in x.shape)
    directions, rows, hidden = (int(extent) for extent in r.shape)
    forward = "bidirectional" if directions == 2 else "forward"
    cell = RecurrentCell(
        steps=steps,
        batch=batch,
        inputs=inputs,
        hidden=hidden,
        gates=rows // hidden,
        directions=directions,
        direction="reverse" if given.number("backwards") else forward,
        functions=(functions,) * directions,
        clip=0.0,
        given=frozenset(names),
        batch_first=False,
    )

    def body(out: te.Tensor, *operands: te.Tensor) -> None:
        recurrent.write(cell, step(cell, operator), out, dict(zip(names, operands, strict=True)))

    out = written(cell.shape, FLOAT, body)(*given.data)
    return Definition(arguments=(*given.data, out), schedule=lambda _: None)


def macs_per_output(shapes: Sequence[tuple[int, ...]], attributes: Mapping[str, Attribute]) -> int:
    """Products of each element of the output; the last state, which is there twice, has some of them."""
    (steps, _, inputs), (_, rows, hidden) = shapes[0], shapes[-2]
    gates = rows // hidden
    return steps * gates * (inputs + hidden) // (steps + 1 + (gates == 4))


DEFINITIONS = {name: partial(_defined, name) for name in _STEPS}
