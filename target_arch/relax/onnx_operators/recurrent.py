"""LSTM, GRU and RNN: a loop over time in one function of C, which keeps the state of one step in its scratch.

The equations, the order of gates and the meaning of `sequence_lens` are those of ONNX's definition. One
direction after the other is computed, every step for each sequence of the batch.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import field, frozen
from tvm import relax, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, local

_FLOAT = "float32"
Activation = Callable[[Any], Any]
NO_FUNCTIONS: Mapping[str, Activation] = MappingProxyType({})


def _number(value: float) -> Any:
    return tirx.const(value, _FLOAT)


def _activation(
    own: Mapping[str, Activation], name: str, alpha: float | None, beta: float | None
) -> Activation:
    """A function by its name in ONNX, of the form's `own` first. Raises NotConverted for one that is not
    known.
    """
    one, none = _number(1.0), _number(0.0)

    def given(value: float | None, otherwise: float) -> Any:
        return _number(otherwise if value is None else value)

    known: Mapping[str, Activation] = {
        "tanh": tirx.tanh,
        "sigmoid": lambda x: one / (one + tirx.exp(-x)),
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


@frozen(kw_only=True, eq=False)
class RecurrentCell:
    """A recurrent operator: its sizes, its functions and its operands in the order of a kernel.

    `optional` says which of the operands that may be left out are there.
    """

    steps: int
    batch: int
    inputs: int
    hidden: int
    gates: int
    directions: int
    direction: str
    functions: tuple[tuple[Activation, ...], ...]
    clip: float
    given: frozenset[str]
    batch_first: bool

    def time(self, direction: int, step: Any, length: Any) -> Any:
        """The step of the sequence that is read and written in a turn of the loop."""
        backwards = self.direction == "reverse" or direction == 1
        return length - 1 - step if backwards else step

    def clipped(self, value: Any) -> Any:
        """A sum of a gate within the limits of the attribute `clip`."""
        if self.clip <= 0.0:
            return value
        return tirx.max(tirx.min(value, _number(self.clip)), _number(-self.clip))


_OPTIONAL = ("B", "sequence_lens", "initial_h", "initial_c", "P")


def _cell(
    node: Node, gates: int, functions: Sequence[str], own: Mapping[str, Activation] = NO_FUNCTIONS
) -> RecurrentCell:
    batch_first = bool(node.integer("layout", 0))
    first, second, inputs = node.shape(0)
    directions, hidden = node.shape(2)[0], node.shape(2)[2]
    if node.dtype(0) != _FLOAT:
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
class RecurrentKernel:
    """The buffers of a kernel. `state` and `memory` are [batch, hidden], `sums` [gates, hidden] of a step."""

    cell: RecurrentCell
    operands: Mapping[str, Any]
    out: Any
    state: Any
    memory: Any
    sums: Any

    def run(self, direction: int, step: Callable[["RecurrentKernel", int, Any, Any], None]) -> None:
        """One direction: initial states, and `step` for each turn and sequence; states leave at the end."""
        cell = self.cell
        with ib.grid(cell.batch, cell.hidden) as (b, j):
            for name, buffer in (("initial_h", self.state), ("initial_c", self.memory)):
                value = self.operands[name][direction, b, j] if name in cell.given else _number(0.0)
                ib.buffer_store(buffer, value, [b, j])
        if "sequence_lens" in cell.given:
            with ib.grid(cell.steps, cell.batch, cell.hidden) as (t, b, j):
                ib.buffer_store(self.out, _number(0.0), [t, direction, b, j])
        with ib.grid(cell.steps, cell.batch) as (turn, b):
            length = self.operands["sequence_lens"][b] if "sequence_lens" in cell.given else cell.steps
            if "sequence_lens" in cell.given:
                with ib.If(turn < length), ib.Then():
                    self._turn(direction, cell.time(direction, turn, length), b, step)
            else:
                self._turn(direction, cell.time(direction, turn, length), b, step)
        with ib.grid(cell.batch, cell.hidden) as (b, j):
            ib.buffer_store(self.out, self.state[b, j], [cell.steps, direction, b, j])
            ib.buffer_store(self.out, self.memory[b, j], [cell.steps + 1, direction, b, j])

    def _turn(
        self, direction: int, time: Any, b: Any, step: Callable[["RecurrentKernel", int, Any, Any], None]
    ) -> None:
        step(self, direction, time, b)
        with ib.serial(0, self.cell.hidden) as j:
            ib.buffer_store(self.out, self.state[b, j], [time, direction, b, j])

    def add(self, direction: int, time: Any, b: Any, first: int, count: int) -> None:
        """The sums of gates from `first` on: input and state times their weights, and both biases."""
        self.begin(direction, first, count, half=0)
        self.add_inputs(direction, time, b, first, count)
        self.begin(direction, first, count, half=1)
        self.add_states(direction, b, first, count, self.state)

    def begin(self, direction: int, first: int, count: int, *, half: int) -> None:
        """The bias of the inputs (`half` 0), which starts a sum, or of the states (1)."""
        cell = self.cell
        with ib.grid(count, cell.hidden) as (g, j):
            place = (g + first) * cell.hidden + j
            value = _number(0.0)
            if "B" in cell.given:
                value = self.operands["B"][direction, half * cell.gates * cell.hidden + place]
            before = self.sums[g + first, j] + value if half else value
            ib.buffer_store(self.sums, before, [g + first, j])

    def add_inputs(self, direction: int, time: Any, b: Any, first: int, count: int) -> None:
        """Inputs times weights."""
        cell = self.cell
        with ib.grid(count, cell.hidden, cell.inputs) as (g, j, k):
            product = (
                self.operands["X"][time, b, k]
                * self.operands["W"][direction, (g + first) * cell.hidden + j, k]
            )
            ib.buffer_store(self.sums, self.sums[g + first, j] + product, [g + first, j])

    def add_states(self, direction: int, b: Any, first: int, count: int, states: Any) -> None:
        """States times weights."""
        cell = self.cell
        with ib.grid(count, cell.hidden, cell.hidden) as (g, j, k):
            product = states[b, k] * self.operands["R"][direction, (g + first) * cell.hidden + j, k]
            ib.buffer_store(self.sums, self.sums[g + first, j] + product, [g + first, j])


@frozen(kw_only=True, eq=False)
class RecurrentForm:
    """How a kernel is made, the operands that it reads beside those of ONNX's operator, and functions that it
    computes in its own way, by their names in lower case.
    """

    kernel: Callable[..., RecurrentKernel] = RecurrentKernel
    operands: Mapping[str, Any] = field(factory=dict)
    functions: Mapping[str, Activation] = NO_FUNCTIONS


_PLAIN = RecurrentForm()


def _computed(
    node: Node,
    cell: RecurrentCell,
    step: Callable[[RecurrentKernel, int, Any, Any], None],
    form: RecurrentForm = _PLAIN,
) -> tuple[Any, Any, Any]:
    """The outputs: all states, the last state, the last memory."""
    operands = {"X": node.operand(0), "W": node.operand(1), "R": node.operand(2), **form.operands}
    operands |= {name: node.operand(n + 3) for n, name in enumerate(_OPTIONAL) if name in cell.given}
    if cell.batch_first:
        operands["X"] = node.emit(relax.op.permute_dims(operands["X"], [1, 0, 2]))
        for name in ("initial_h", "initial_c"):
            if name in operands:
                operands[name] = node.emit(relax.op.permute_dims(operands[name], [1, 0, 2]))
    shape = (cell.steps + 2, cell.directions, cell.batch, cell.hidden)

    def body(out: Any, *given: Any) -> None:
        kernel = form.kernel(
            cell=cell,
            operands=dict(zip(operands, given, strict=True)),
            out=out,
            state=local("state", (cell.batch, cell.hidden), _FLOAT),
            memory=local("memory", (cell.batch, cell.hidden), _FLOAT),
            sums=local("sums", (cell.gates + 1, cell.hidden), _FLOAT),
        )
        for direction in range(cell.directions):
            kernel.run(direction, step)

    whole = node.written(shape, _FLOAT, body, *operands.values())

    def part(first: int, last: int) -> Any:
        return node.emit(relax.op.strided_slice(whole, [0], [first], [last]))

    rest = (cell.directions, cell.batch, cell.hidden)
    every = part(0, cell.steps)
    ends = [node.reshaped(part(cell.steps + n, cell.steps + n + 1), rest) for n in (0, 1)]
    if cell.batch_first:
        every = node.emit(relax.op.permute_dims(every, [2, 0, 1, 3]))
        ends = [node.emit(relax.op.permute_dims(end, [1, 0, 2])) for end in ends]
    return every, ends[0], ends[1]


def _outputs(node: Node, found: Sequence[Any]) -> Any:
    return found[0] if node.outputs == 1 else tuple(found[: node.outputs])


def lstm(node: Node, form: RecurrentForm = _PLAIN) -> Any:
    """Gates: input, output, forget, cell. `P` are the weights of the memory in the gates. `cell_clip`, which
    only TFLite has, limits the memory.
    """
    cell = _cell(node, 4, ("Sigmoid", "Tanh", "Tanh"), form.functions)
    limit = float(node.attributes.get("cell_clip", 0.0))
    couples = bool(node.integer("input_forget", 0))

    def step(kernel: RecurrentKernel, d: int, time: Any, b: Any) -> None:
        f, g, h = cell.functions[d]
        sums, memory = kernel.sums, kernel.memory

        def peep(number: int, j: Any) -> Any:
            if "P" not in cell.given:
                return _number(0.0)
            return kernel.operands["P"][d, number * cell.hidden + j] * memory[b, j]

        def gate(number: int, j: Any, function: Activation, extra: Any | None) -> None:
            value = sums[number, j] if extra is None else sums[number, j] + extra
            ib.buffer_store(sums, function(cell.clipped(value)), [number, j])

        kernel.add(d, time, b, 0, 4)
        with ib.serial(0, cell.hidden) as j:
            peeps = "P" in cell.given
            gate(0, j, f, peep(0, j) if peeps else None)
            if couples:
                ib.buffer_store(sums, _number(1.0) - sums[0, j], [2, j])
            else:
                gate(2, j, f, peep(2, j) if peeps else None)
            gate(3, j, g, None)
            kept = sums[2, j] * memory[b, j] + sums[0, j] * sums[3, j]
            if limit > 0.0:
                kept = tirx.max(tirx.min(kept, _number(limit)), _number(-limit))
            ib.buffer_store(memory, kept, [b, j])
            gate(1, j, f, peep(1, j) if peeps else None)
            ib.buffer_store(kernel.state, sums[1, j] * h(memory[b, j]), [b, j])

    return _outputs(node, _computed(node, cell, step, form))


def _gru(node: Node) -> Any:
    """Gates: update, reset, hidden."""
    cell = _cell(node, 3, ("Sigmoid", "Tanh"))
    linear = bool(node.integer("linear_before_reset", 0))

    def step(kernel: RecurrentKernel, d: int, time: Any, b: Any) -> None:
        f, g = cell.functions[d]
        sums, state, held = kernel.sums, kernel.state, kernel.memory
        kernel.add(d, time, b, 0, 2)
        with ib.grid(2, cell.hidden) as (n, j):
            ib.buffer_store(sums, f(cell.clipped(sums[n, j])), [n, j])
        if linear:
            # The states' part on its own, in the row after the gates.
            _state_part(kernel, d, b)
            kernel.begin(d, 2, 1, half=0)
            kernel.add_inputs(d, time, b, 2, 1)
            with ib.serial(0, cell.hidden) as j:
                ib.buffer_store(sums, sums[2, j] + sums[1, j] * sums[3, j], [2, j])
        else:
            with ib.serial(0, cell.hidden) as j:
                ib.buffer_store(held, sums[1, j] * state[b, j], [b, j])
            kernel.begin(d, 2, 1, half=0)
            kernel.add_inputs(d, time, b, 2, 1)
            kernel.begin(d, 2, 1, half=1)
            kernel.add_states(d, b, 2, 1, held)
        with ib.serial(0, cell.hidden) as j:
            new = g(cell.clipped(sums[2, j]))
            ib.buffer_store(state, (_number(1.0) - sums[0, j]) * new + sums[0, j] * state[b, j], [b, j])

    return _outputs(node, _computed(node, cell, step)[:2])


def _state_part(kernel: RecurrentKernel, direction: int, b: Any) -> None:
    cell, sums = kernel.cell, kernel.sums
    with ib.serial(0, cell.hidden) as j:
        bias = _number(0.0)
        if "B" in cell.given:
            bias = kernel.operands["B"][direction, 5 * cell.hidden + j]
        ib.buffer_store(sums, bias, [3, j])
        with ib.serial(0, cell.hidden) as k:
            product = kernel.state[b, k] * kernel.operands["R"][direction, 2 * cell.hidden + j, k]
            ib.buffer_store(sums, sums[3, j] + product, [3, j])


def _rnn(node: Node) -> Any:
    cell = _cell(node, 1, ("Tanh",))

    def step(kernel: RecurrentKernel, d: int, time: Any, b: Any) -> None:
        (f,) = cell.functions[d]
        kernel.add(d, time, b, 0, 1)
        with ib.serial(0, cell.hidden) as j:
            ib.buffer_store(kernel.state, f(cell.clipped(kernel.sums[0, j])), [b, j])

    return _outputs(node, _computed(node, cell, step)[:2])


_COMMON = "activation_alpha activation_beta activations clip direction hidden_size layout"
LSTM_ATTRIBUTES = f"{_COMMON} input_forget"
CONVERTERS: Mapping[str, Converter] = {
    "GRU": converter(_gru, f"{_COMMON} linear_before_reset"),
    "LSTM": converter(lstm, LSTM_ATTRIBUTES),
    "RNN": converter(_rnn, _COMMON),
}
