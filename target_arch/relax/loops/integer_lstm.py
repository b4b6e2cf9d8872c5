"""LiteRT's integer LSTM, bit for bit: one function of C with a loop over time.

Source: LiteRT kernels/lstm_eval.cc (EvalInteger8x8_16).
"""

from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.plan.arithmetic import Rounding
from target_arch.relax.loops.gemmlowp import ONE, Steps, divided, logistic, saturated, tanh
from target_arch.relax.site import local
from target_arch.relax.te.fixed_point import Scale, scaled

GATES = (0, 1, 3, 2)
"""TFLite's order of gates (input, forget, cell, output) with the three sigmoids first."""
_OUTPUT, _CELL = 2, 3
_GATE_BITS = 3
"""Integer bits of the sums of gates."""


@frozen(kw_only=True, eq=False)
class IntegerLstm:
    """UNIDIRECTIONAL_SEQUENCE_LSTM of int8 values with an int16 memory: its sizes and its numbers.

    `dtype` is the element type of values, `memory_shift` log2 of the memory's scale, `coupled` is true where
    there is no input gate, `clip` is 0 or the limit of the memory.
    """

    steps: int
    batch: int
    inputs: int
    hidden: int
    least_right: int
    out: Scale
    out_zero: int
    memory_shift: int
    clip: int
    coupled: bool
    dtype: str = "int8"

    @property
    def first(self) -> int:
        """The first gate that is computed from sums."""
        return 1 if self.coupled else 0

    def write(self, out: Any, *given: Any) -> None:
        """All hidden values [steps, batch, hidden], then the last memory, as int16."""
        x, weights, recurrent, bias, scales, hidden0, memory0, *tables = given
        wide = str(bias.dtype)
        state = local("state", (self.batch, self.hidden), self.dtype)
        memory = local("memory", (self.batch, self.hidden), "int16")
        gates = local("gates", (4, self.hidden), "int16")
        sums = local("sums", (2,), wide)
        steps = Steps()
        with ib.grid(self.batch, self.hidden) as (b, j):
            ib.buffer_store(state, hidden0[b, j], [b, j])
            ib.buffer_store(memory, memory0[b, j], [b, j])
        with ib.grid(self.steps, self.batch) as (t, b):
            with ib.grid(4 - self.first, self.hidden) as (n, j):
                g = n + self.first
                with ib.serial(0, 2) as half:
                    ib.buffer_store(sums, bias[half, g, j], [half])
                with ib.serial(0, self.inputs) as k:
                    product = x[t, b, k].astype(wide) * weights[g, j, k].astype(wide)
                    ib.buffer_store(sums, sums[0] + product, [0])
                with ib.serial(0, self.hidden) as k:
                    product = state[b, k].astype(wide) * recurrent[g, j, k].astype(wide)
                    ib.buffer_store(sums, sums[1] + product, [1])
                with ib.serial(0, 2) as half:
                    ib.buffer_store(sums, self.gate(sums[half], scales, half, g).astype(wide), [half])
                ib.buffer_store(gates, self.joined(sums[0], sums[1]).astype("int16"), [g, j])
            self._activate(steps, gates, tables)
            self._remember(gates, memory, b)
            self._leave(steps, gates, memory, state, b, tables)
            with ib.serial(0, self.hidden) as j:
                ib.buffer_store(out, state[b, j].astype("int16"), [t, b, j])
        with ib.grid(self.batch, self.hidden) as (b, j):
            ib.buffer_store(out, memory[b, j], [self.steps, b, j])

    def gate(self, total: Any, scales: Any, half: Any, gate: Any) -> Any:
        """A sum of products on the grid of gates."""
        multiplier, right = (scales[half, part, gate].astype("int64") for part in (0, 1))
        value = scaled(Rounding.TFLITE, total.astype("int64"), multiplier, right, self.least_right)
        return value.astype("int32")

    def joined(self, entering: Any, recurrent: Any) -> Any:
        """The sum of a gate's halves."""
        return saturated(saturated(entering, "int16") + recurrent, "int16")

    def sigmoid(self, steps: Steps, value: Any, *_: Any) -> Any:
        """The sigmoid of a gate."""
        return logistic(steps, value, _GATE_BITS)

    def tanh(self, steps: Steps, value: Any, integer_bits: int, *_: Any) -> Any:
        """The hyperbolic tangent of a gate or of the memory."""
        return tanh(steps, value, integer_bits)

    def remembered(self, forgets: Any, memory: Any, enters: Any, cell: Any) -> Any:
        """The memory after a step."""
        kept = divided(forgets * memory, 15)
        return saturated(kept + divided(enters * cell, 30 + self.memory_shift), "int16")

    def _activate(self, steps: Steps, gates: Any, tables: Any) -> None:
        with ib.grid(_CELL - self.first, self.hidden) as (n, j):
            g = n + self.first
            value = self.sigmoid(steps, gates[g, j].astype("int32"), *tables)
            ib.buffer_store(gates, value.astype("int16"), [g, j])
        with ib.serial(0, self.hidden) as j:
            value = self.tanh(steps, gates[_CELL, j].astype("int32"), _GATE_BITS, *tables)
            ib.buffer_store(gates, value.astype("int16"), [_CELL, j])

    def _remember(self, gates: Any, memory: Any, b: Any) -> None:
        with ib.serial(0, self.hidden) as j:
            enters, forgets, cell = (gates[g, j].astype("int32") for g in (0, 1, _CELL))
            if self.coupled:
                enters = ONE - forgets
            value = self.remembered(forgets, memory[b, j].astype("int32"), enters, cell)
            if self.clip:
                value = tirx.max(tirx.min(value, self.clip), -self.clip)
            ib.buffer_store(memory, value.astype("int16"), [b, j])

    def _leave(self, steps: Steps, gates: Any, memory: Any, state: Any, b: Any, tables: Any) -> None:
        with ib.serial(0, self.hidden) as j:
            value = self.tanh(steps, memory[b, j].astype("int32"), 15 + self.memory_shift, *tables)
            product = (gates[_OUTPUT, j].astype("int32") * value).astype("int64")
            left = self.out.of(product).astype("int32") + self.out_zero
            ib.buffer_store(state, saturated(left, self.dtype).astype(self.dtype), [b, j])
