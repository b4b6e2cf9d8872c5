"""LSTM, GRU and RNN: a named operator where the functions are the usual ones and weights are constants, else
loops in one function of C.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import field, frozen
from tvm import relax, tirx
from tvm.ir import GenericConst

from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.definitions.recurrent import ATTRIBUTES
from target_arch.relax.ir.defined import defined_call
from target_arch.relax.loops import recurrent
from target_arch.relax.loops.recurrent import FLOAT, Activation, RecurrentCell, RecurrentKernel, real
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted

NO_FUNCTIONS: Mapping[str, Activation] = MappingProxyType({})


def _activation(
    own: Mapping[str, Activation], name: str, alpha: float | None, beta: float | None
) -> Activation:
    """A function by its name in ONNX, of the form's `own` first. Raises NotConverted for one that is not
    known.
    """
    one, none = real(1.0), real(0.0)

    def given(value: float | None, otherwise: float) -> Any:
        return real(otherwise if value is None else value)

    known: Mapping[str, Activation] = {
        "tanh": tirx.tanh,
        "sigmoid": recurrent.sigmoid,
        "relu": lambda x: tirx.max(x, none),
        "affine": lambda x: given(alpha, 1.0) * x + given(beta, 0.0),
        "leakyrelu": lambda x: tirx.Select(x < none, given(alpha, 0.01) * x, x),
        "thresholdedrelu": lambda x: tirx.Select(x > given(alpha, 1.0), x, none),
        "scaledtanh": lambda x: given(alpha, 1.0) * tirx.tanh(given(beta, 1.0) * x),
        "hardsigmoid": lambda x: tirx.max(none, tirx.min(one, given(alpha, 0.2) * x + given(beta, 0.5))),
        "elu": lambda x: tirx.Select(x < none, given(alpha, 1.0) * (tirx.exp(x) - one), x),
        "softsign": lambda x: x / (one + tirx.abs(x)),
        "softplus": lambda x: tirx.log(one + tirx.exp(x)),
        **own,
    }
    if name.lower() not in known:
        raise NotConverted(f"its activation `{name}` is not known")
    return known[name.lower()]


_OPTIONAL = ("B", "sequence_lens", "initial_h", "initial_c", "P")


def _cell(
    node: Node, gates: int, functions: Sequence[str], own: Mapping[str, Activation] = NO_FUNCTIONS
) -> RecurrentCell:
    batch_first = bool(node.integer("layout", 0))
    first, second, inputs = node.shape(0)
    directions, hidden = node.shape(2)[0], node.shape(2)[2]
    if node.dtype(0) != FLOAT:
        raise NotConverted(f"its elements are {node.dtype(0)}")
    names = [
        str(each.decode() if isinstance(each, bytes) else each)
        for each in node.attributes.get("activations", ())
    ]
    names = names or list(functions) * directions
    alphas, betas = (
        list(node.attributes.get("activation_alpha", ())),
        list(node.attributes.get("activation_beta", ())),
    )
    made = [
        _activation(own, name, *(values[n] if n < len(values) else None for values in (alphas, betas)))
        for n, name in enumerate(names)
    ]
    count = len(functions)
    return RecurrentCell(
        steps=second if batch_first else first,
        batch=first if batch_first else second,
        inputs=inputs,
        hidden=hidden,
        gates=gates,
        directions=directions,
        direction=node.text("direction", "forward", ("forward", "reverse", "bidirectional")),
        functions=tuple(tuple(made[d * count : (d + 1) * count]) for d in range(directions)),
        clip=float(node.attributes.get("clip", 0.0)),
        given=frozenset(name for n, name in enumerate(_OPTIONAL) if node.given(n + 3) is not None),
        batch_first=batch_first,
    )


@frozen(kw_only=True, eq=False)
class RecurrentForm:
    """How a kernel is made, the operands that it reads beside those of ONNX's operator, and functions that it
    computes in its own way, by their names in lower case.
    """

    kernel: Callable[..., RecurrentKernel] = RecurrentKernel
    operands: Mapping[str, Any] = field(factory=dict)
    functions: Mapping[str, Activation] = NO_FUNCTIONS


_PLAIN = RecurrentForm()


def _computed(node: Node, cell: RecurrentCell, step: recurrent.Step, form: RecurrentForm = _PLAIN) -> Any:
    """The outputs as the cell shapes them, by loops of this operator's own."""
    operands = {"X": _entering(node, cell), "W": node.operand(1), "R": node.operand(2), **form.operands}
    operands |= {name: _started(node, cell, name) for name in _OPTIONAL if name in cell.given}

    def body(out: Any, *given: Any) -> None:
        recurrent.write(cell, step, out, dict(zip(operands, given, strict=True)), form.kernel)

    return node.written(cell.shape, FLOAT, body, *operands.values())


def _entering(node: Node, cell: RecurrentCell) -> Any:
    x = node.operand(0)
    return node.emit(relax.op.permute_dims(x, [1, 0, 2])) if cell.batch_first else x


def _started(node: Node, cell: RecurrentCell, name: str) -> Any:
    """An operand that may be left out; states of a batch that comes first have their directions first."""
    value = node.operand(_OPTIONAL.index(name) + 3)
    if cell.batch_first and name.startswith("initial"):
        return node.emit(relax.op.permute_dims(value, [1, 0, 2]))
    return value


def _named(node: Node, cell: RecurrentCell, name: str, *, linear: bool = False) -> Any | None:
    """The same as an operator with that definition, whose kernel computes it; None where it is none."""
    constants = [node.given(index) for index in (1, 2, 3)]
    usual = (
        not {"sequence_lens", "P"} & cell.given
        and cell.clip <= 0.0
        and not node.attributes.get("activations")
    )
    if not usual or not all(each is None or isinstance(each, GenericConst) for each in constants):
        return None
    starts = _starts(node, cell)
    if starts is None or isinstance(node.operand(0), GenericConst):
        return None
    w, r, bias = constants
    if bias is None:
        bias = relax.const(np.zeros((cell.directions, 2 * cell.gates * cell.hidden), FLOAT))
    operands = (_entering(node, cell), *starts, w, r, bias)
    stated = {"backwards": cell.direction == "reverse", "starts": bool(starts), "linear": linear}
    attributes = {key: int(stated[key]) for key in ATTRIBUTES}
    return node.emit(defined_call(name, operands, cell.shape, FLOAT, attributes, Arithmetic.FLOAT))


def _starts(node: Node, cell: RecurrentCell) -> tuple[Any, ...] | None:
    """The initial states, none where all are zeros; None where one is computed and another is not."""
    names = ("initial_h", "initial_c")[: cell.remembers + 1]
    if all(name not in cell.given or _zeros(node, name) for name in names):
        return ()
    zeros = relax.const(np.zeros((cell.directions, cell.batch, cell.hidden), FLOAT))
    starts = tuple(_started(node, cell, name) if name in cell.given else zeros for name in names)
    return starts if len({isinstance(each, GenericConst) for each in starts}) == 1 else None


def _zeros(node: Node, name: str) -> bool:
    """Whether an initial state is what it is where none is given."""
    value = node.operand(_OPTIONAL.index(name) + 3)
    return isinstance(value, GenericConst) and not value.value.numpy().any()


def _outputs(node: Node, cell: RecurrentCell, whole: Any) -> Any:
    """All states, the last state, the last memory: as many as are asked for."""

    def part(first: int, last: int) -> Any:
        return node.emit(relax.op.strided_slice(whole, [0], [first], [last]))

    steps, rest = cell.steps, cell.shape[1:]
    found = [part(0, steps)]
    found += [node.reshaped(part(steps + n, steps + n + 1), rest) for n in range(node.outputs - 1)]
    if cell.batch_first:
        orders = [[2, 0, 1, 3], [1, 0, 2], [1, 0, 2]]
        found = [node.emit(relax.op.permute_dims(*each)) for each in zip(found, orders, strict=False)]
    return found[0] if node.outputs == 1 else tuple(found)


def lstm(node: Node, form: RecurrentForm = _PLAIN) -> Any:
    """An LSTM. `cell_clip`, which only TFLite has, limits the memory."""
    cell = _cell(node, 4, ("Sigmoid", "Tanh", "Tanh"), form.functions)
    limit, couples = float(node.attributes.get("cell_clip", 0.0)), bool(node.integer("input_forget", 0))
    usual = form is _PLAIN and limit <= 0.0 and not couples
    whole = _named(node, cell, "lstm") if usual else None
    if whole is None:
        step = recurrent.lstm_step(cell, limit=limit, couples=couples)
        whole = _computed(node, cell, step, form)
    return _outputs(node, cell, whole)


def _gru(node: Node) -> Any:
    cell, linear = _cell(node, 3, ("Sigmoid", "Tanh")), bool(node.integer("linear_before_reset", 0))
    whole = _named(node, cell, "gru", linear=linear)
    if whole is None:
        whole = _computed(node, cell, recurrent.gru_step(cell, linear=linear))
    return _outputs(node, cell, whole)


def _rnn(node: Node) -> Any:
    cell = _cell(node, 1, ("Tanh",))
    whole = _named(node, cell, "rnn")
    if whole is None:
        whole = _computed(node, cell, recurrent.rnn_step(cell))
    return _outputs(node, cell, whole)


_COMMON = "activation_alpha activation_beta activations clip direction hidden_size layout"
LSTM_ATTRIBUTES = f"{_COMMON} input_forget"
CONVERTERS: Mapping[str, Converter] = {
    "GRU": converter(_gru, f"{_COMMON} linear_before_reset"),
    "LSTM": converter(lstm, LSTM_ATTRIBUTES),
    "RNN": converter(_rnn, _COMMON),
}
