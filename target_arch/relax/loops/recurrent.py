"""LSTM, GRU and RNN on floats as statements of C: a loop over time, which keeps the state of one step in its
scratch.

The equations, the order of gates and the meaning of `sequence_lens` are those of ONNX's definition. One
direction after the other is computed, every step for each sequence of the batch.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

FLOAT = "float32"
Activation = Callable[[Any], Any]
Step = Callable[["RecurrentKernel", int, Any, Any], None]
"""What a direction does in a turn of the loop, at a time, for a sequence of the batch."""


def real(value: float) -> Any:
    """A constant."""
    return tirx.const(value, FLOAT)


def sigmoid(x: Any) -> Any:
    """The logistic function."""
    one = real(1.0)
    return one / (one + tirx.exp(-x))


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

    @property
    def remembers(self) -> bool:
        """Whether there is a memory beside the state: that of an LSTM."""
        return self.gates == 4

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """States of all steps, then the last state, and the last memory where there is one."""
        return (self.steps + 1 + self.remembers, self.directions, self.batch, self.hidden)

    def time(self, direction: int, step: Any, length: Any) -> Any:
        """The step of the sequence that is read and written in a turn of the loop."""
        backwards = self.direction == "reverse" or direction == 1
        return length - 1 - step if backwards else step

    def clipped(self, value: Any) -> Any:
        """A sum of a gate within the limits of the attribute `clip`."""
        if self.clip <= 0.0:
            return value
        return tirx.max(tirx.min(value, real(self.clip)), real(-self.clip))


@frozen(kw_only=True, eq=False)
class RecurrentKernel:
    """The buffers of a kernel. `state` and `memory` are [batch, hidden], `sums` [gates, hidden] of a step."""

    cell: RecurrentCell
    operands: Mapping[str, Any]
    out: Any
    state: Any
    memory: Any
    sums: Any

    def run(self, direction: int, step: Step) -> None:
        """One direction: initial states, and `step` for each turn and sequence; states leave at the end."""
        cell = self.cell
        with ib.grid(cell.batch, cell.hidden) as (b, j):
            for name, buffer in (("initial_h", self.state), ("initial_c", self.memory)):
                value = self.operands[name][direction, b, j] if name in cell.given else real(0.0)
                ib.buffer_store(buffer, value, [b, j])
        if "sequence_lens" in cell.given:
            with ib.grid(cell.steps, cell.batch, cell.hidden) as (t, b, j):
                ib.buffer_store(self.out, real(0.0), [t, direction, b, j])
        with ib.grid(cell.steps, cell.batch) as (turn, b):
            length = self.operands["sequence_lens"][b] if "sequence_lens" in cell.given else cell.steps
            if "sequence_lens" in cell.given:
                with ib.If(turn < length), ib.Then():
                    self._turn(direction, cell.time(direction, turn, length), b, step)
            else:
                self._turn(direction, cell.time(direction, turn, length), b, step)
        with ib.grid(cell.batch, cell.hidden) as (b, j):
            ib.buffer_store(self.out, self.state[b, j], [cell.steps, direction, b, j])
            if cell.remembers:
                ib.buffer_store(self.out, self.memory[b, j], [cell.steps + 1, direction, b, j])

    def _turn(self, direction: int, time: Any, b: Any, step: Step) -> None:
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
            value = real(0.0)
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


def lstm_step(cell: RecurrentCell, *, limit: float = 0.0, couples: bool = False) -> Step:
    """Gates: input, output, forget, cell. `P` are the weights of the memory in the gates. `limit`, unless 0,
    is that of the memory; with `couples`, the forget gate is one less the input gate.
    """

    def step(kernel: RecurrentKernel, d: int, time: Any, b: Any) -> None:
        f, g, h = cell.functions[d]
        sums, memory = kernel.sums, kernel.memory

        def peep(number: int, j: Any) -> Any:
            if "P" not in cell.given:
                return real(0.0)
            return kernel.operands["P"][d, number * cell.hidden + j] * memory[b, j]

        def gate(number: int, j: Any, function: Activation, extra: Any | None) -> None:
            value = sums[number, j] if extra is None else sums[number, j] + extra
            ib.buffer_store(sums, function(cell.clipped(value)), [number, j])

        kernel.add(d, time, b, 0, 4)
        with ib.serial(0, cell.hidden) as j:
            peeps = "P" in cell.given
            gate(0, j, f, peep(0, j) if peeps else None)
            if couples:
                ib.buffer_store(sums, real(1.0) - sums[0, j], [2, j])
            else:
                gate(2, j, f, peep(2, j) if peeps else None)
            gate(3, j, g, None)
            kept = sums[2, j] * memory[b, j] + sums[0, j] * sums[3, j]
            if limit > 0.0:
                kept = tirx.max(tirx.min(kept, real(limit)), real(-limit))
            ib.buffer_store(memory, kept, [b, j])
            gate(1, j, f, peep(1, j) if peeps else None)
            ib.buffer_store(kernel.state, sums[1, j] * h(memory[b, j]), [b, j])

    return step


def gru_step(cell: RecurrentCell, *, linear: bool) -> Step:
    """Gates: update, reset, hidden. With `linear`, the reset gate is applied to sums, not to states."""

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
            ib.buffer_store(state, (real(1.0) - sums[0, j]) * new + sums[0, j] * state[b, j], [b, j])

    return step


def _state_part(kernel: RecurrentKernel, direction: int, b: Any) -> None:
    cell, sums = kernel.cell, kernel.sums
    with ib.serial(0, cell.hidden) as j:
        bias = real(0.0)
        if "B" in cell.given:
            bias = kernel.operands["B"][direction, 5 * cell.hidden + j]
        ib.buffer_store(sums, bias, [3, j])
        with ib.serial(0, cell.hidden) as k:
            product = kernel.state[b, k] * kernel.operands["R"][direction, 2 * cell.hidden + j, k]
            ib.buffer_store(sums, sums[3, j] + product, [3, j])


def rnn_step(cell: RecurrentCell) -> Step:
    """One gate."""

    def step(kernel: RecurrentKernel, d: int, time: Any, b: Any) -> None:
        (f,) = cell.functions[d]
        kernel.add(d, time, b, 0, 1)
        with ib.serial(0, cell.hidden) as j:
            ib.buffer_store(kernel.state, f(cell.clipped(kernel.sums[0, j])), [b, j])

    return step


def write(
    cell: RecurrentCell,
    step: Step,
    out: Any,
    operands: Mapping[str, Any],
    kind: Callable[..., RecurrentKernel] = RecurrentKernel,
) -> None:
    """The loops of all directions, inside a builder of TIR."""
    kernel = kind(
        cell=cell,
        operands=operands,
        out=out,
        state=local("state", (cell.batch, cell.hidden), FLOAT),
        memory=local("memory", (cell.batch, cell.hidden), FLOAT),
        sums=local("sums", (cell.gates + 1, cell.hidden), FLOAT),
    )
    for direction in range(cell.directions):
        kernel.run(direction, step)
