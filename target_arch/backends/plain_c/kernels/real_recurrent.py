"""LSTM, GRU and RNN in float32 as calls of `f32_recurrent.h`."""

from math import ceil
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels import reals
from target_arch.backends.plain_c.kernels.text import Made, Parameter, function, parameter, struct
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import DEFINITION_NAME
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/f32_recurrent.h"
_GATES = {"lstm": 4, "gru": 3, "rnn": 1}
_FUNCTIONS = {"lstm": 5, "gru": 3, "rnn": 1}
"""Functions of each element of a state, in a step."""
_STARTS = ("states", "memories")
"""What each direction begins with: inputs of the operator, or constants behind its weights."""


@frozen(kw_only=True)
class _Sizes:
    """A layer: the name of its definition, and its extents."""

    name: str
    linear: bool
    steps: int
    batch: int
    directions: int
    inputs: int
    hidden: int

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Outputs and depth of the dense layers of a direction."""
        depths = self.inputs, self.hidden
        together = (2, 1) if self.name == "gru" else (_GATES[self.name],)
        return tuple((gates * self.hidden, depth) for gates in together for depth in depths)

    @property
    def sums(self) -> int:
        """The values that a step keeps: all gates, and blocks of the last ones are whole."""
        hidden = self.hidden
        return 2 * hidden + _blocks(hidden) if self.name == "gru" else _blocks(_GATES[self.name] * hidden)


def _sizes(operator: Operator, model: Model) -> _Sizes:
    steps, batch, inputs = model.tensors[operator.inputs[0]].shape
    directions, _, hidden = model.tensors[operator.constants[-2]].shape
    return _Sizes(
        name=str(operator.attributes[DEFINITION_NAME]),
        linear=bool(operator.attributes["linear"]),
        steps=steps,
        batch=batch,
        directions=directions,
        inputs=inputs,
        hidden=hidden,
    )


def refusal(operator: Operator, model: Model, *, bounded: bool = True) -> str | None:
    """Why an operator is no such call, None where it is one. Unless `bounded`, packed weights may take any
    size.
    """
    if operator.kind is not OperatorKind.RECURRENT or operator.attributes.get(DEFINITION_NAME) not in _GATES:
        return f"no kernel for {operator.kind}"
    *_, w, r, _ = (model.tensors[name] for name in operator.constants)
    sizes = _sizes(operator, model)
    packed = sum(_blocks(outputs) * depth for outputs, depth in sizes.layers) * 4 * sizes.directions
    if bounded and packed > w.bytes + r.bytes and not reals.within_growth(w, packed - w.bytes - r.bytes):
        return "packed weights would take more than 1.1 times the plain ones"
    return None


def _blocks(outputs: int) -> int:
    return ceil(outputs / reals.BLOCK) * reals.BLOCK


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts."""
    sizes = _sizes(operator, model)
    turns = sizes.steps * sizes.batch * sizes.directions
    return {
        WorkUnit.REAL_PRODUCT: turns * sum(_blocks(outputs) * depth for outputs, depth in sizes.layers),
        WorkUnit.REAL_OUTPUT: turns * sum(outputs for outputs, _ in sizes.layers),
        WorkUnit.REAL_FUNCTION: turns * _FUNCTIONS[sizes.name] * sizes.hidden,
        WorkUnit.CALL: turns * len(sizes.layers),
    }


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    x, *starts, out = (model.tensors[name] for name in (*operator.inputs, operator.output))
    sizes = _sizes(operator, model)
    packed = _packed(operator, model, sizes)
    names = _STARTS[: len(starts) + len(packed) - len(reals.INSIDE)]
    given = tuple(parameter(name, tensor) for name, tensor in zip(names, starts, strict=False))
    stored = () if starts else names
    parameters = (
        parameter("x", x),
        *given,
        *(Parameter(name=name, dtype="float32") for name in (*reals.INSIDE, *stored)),
        parameter("out", out, written=True),
        Parameter(name="sums", dtype="float32", written=True),
    )
    numbers = (sizes.steps, sizes.batch, sizes.directions, sizes.inputs, sizes.hidden)
    first = (f"TA_F32_{sizes.name.upper()}", int(sizes.linear))
    begun = ", ".join((*names, "0", "0")[:2])
    lines = (
        struct("ta_f32_recurrent", "layer", (*first, *numbers, int(operator.attributes["backwards"] == 1))),
        "const ta_f32_gates gates = {w, bias};",
        f"ta_f32_recur(&layer, x, {begun}, &gates, out, sums);",
    )
    return Made(
        function=function(sizes.name, parameters, lines, (_HEADER,)),
        packed=packed,
        scratch=(4 * sizes.sums,),
    )


def _packed(operator: Operator, model: Model, sizes: _Sizes) -> tuple[Any, ...]:
    """Weights and biases of all layers of each direction, and the first states that are stored."""
    *starts, w, r, bias = (reals.array(model.tensors[name]) for name in operator.constants)
    layers, biases = zip(*(_direction(sizes, *each) for each in zip(w, r, bias, strict=True)), strict=True)
    padded = [np.pad(bias, (0, -len(bias) % reals.BLOCK)) for each in biases for bias in each]
    weights = np.concatenate([reals.packed(rows).ravel() for each in layers for rows in each])
    return (
        reals.constant(operator, "packed", weights),
        reals.constant(operator, "biases", np.concatenate(padded)),
        *(reals.constant(operator, name, start) for name, start in zip(_STARTS, starts, strict=False)),
    )


def _direction(sizes: _Sizes, w: Any, r: Any, bias: Any) -> tuple[list[Any], list[Any]]:
    """The weights of the layers of a direction, and the biases of those that have some, in their order."""
    halves, two = np.split(bias, 2), 2 * sizes.hidden
    total = halves[0] + halves[1]
    if sizes.name != "gru":
        return [w, r], [total]
    last = [halves[0][two:], halves[1][two:]] if sizes.linear else [total[two:]]
    return [w[:two], r[:two], w[two:], r[two:]], [total[:two], *last]
