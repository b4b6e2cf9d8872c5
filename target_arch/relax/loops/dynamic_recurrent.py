"""Recurrent layers of floats with int8 weights, as LiteRT computes them: one function of C with a loop over
time, which brings the hidden values of every step to eight bits (`te.dynamic_range`).

Source: LiteRT `kernels/lstm_eval.cc` (LstmStepHybrid) and `kernels/internal/kernel_utils.cc` (RnnBatchStep).
Tests: `tests/relax/readers/tflite_operators/test_dynamic_range.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import field, frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local
from target_arch.relax.te import dynamic_range

_FLOAT = "float32"
_TANH_ONE = 7.90738964080810547
"""The hyperbolic tangent is one from here on."""
_TANH_NUMERATOR = (1.394553628e-8, 2.102733560e-5, 3.520756727e-3, 1.340216100e-1)
_TANH_DENOMINATOR = (8.015776984e-7, 3.326951409e-4, 2.597254514e-2, 4.673548340e-1, 1.0)
Cell = Callable[[Any, Any, Any, Any, Any], None]
"""Writes what a step leaves: from the sums of gates [gates, hidden], to the hidden values and the memory
[batch, hidden], for a sequence and an element.
"""


@frozen(kw_only=True, eq=False)
class DynamicRecurrence:
    """The sizes of a layer, and its cell; `remembers` is true for a cell with a memory."""

    steps: int
    batch: int
    hidden: int
    gates: int
    symmetric: bool
    remembers: bool
    cell: Cell = field(repr=False)

    def write(self, out: Any, entering: Any, recurrent: Any, scales: Any, *states: Any) -> None:
        """All hidden values [steps, batch, hidden], then the last memory, from what inputs and biases add to
        the gates, [gates, steps * batch, hidden], weights [gates, hidden, hidden], and a scale for each gate.
        """
        held = [local(f"state{n}", (self.batch, self.hidden), _FLOAT) for n in range(len(states))]
        stored = local("stored", (self.hidden,), "int8")
        gates = local("gates", (self.gates, self.hidden), _FLOAT)
        real, whole = local("real", (4,), _FLOAT), local("whole", (2,), "int32")
        with ib.grid(self.batch, self.hidden) as (b, j):
            for buffer, first in zip(held, states, strict=True):
                ib.buffer_store(buffer, first[b, j], [b, j])
        with ib.grid(self.steps, self.batch) as (t, b):
            self._bring(held[0], b, stored, real, whole)
            with ib.grid(self.gates, self.hidden) as (g, j):
                ib.buffer_store(whole, 0, [1])
                with ib.serial(0, self.hidden) as k:
                    product = (stored[k].astype("int32") - whole[0]) * recurrent[g, j, k].astype("int32")
                    ib.buffer_store(whole, whole[1] + product, [1])
                scale = real[2] * scales[g]
                total = entering[g, t * self.batch + b, j] + whole[1].astype(_FLOAT) * scale
                ib.buffer_store(gates, total, [g, j])
            with ib.serial(0, self.hidden) as j:
                self.cell(gates, held[0], held[-1], b, j)
                ib.buffer_store(out, held[0][b, j], [t, b, j])
        if self.remembers:
            with ib.grid(self.batch, self.hidden) as (b, j):
                ib.buffer_store(out, held[1][b, j], [self.steps, b, j])

    def _bring(self, state: Any, b: Any, stored: Any, real: Any, whole: Any) -> None:
        """The hidden values of a sequence in eight bits. `real` are their extremes, the scale and its
        inverse, `whole` begins with the zero point.
        """
        for n in (0, 1):
            ib.buffer_store(real, state[b, 0], [n])
        with ib.serial(0, self.hidden) as j:
            for n, find in enumerate((tirx.min, tirx.max)):
                ib.buffer_store(real, find(real[n], state[b, j]), [n])
        scale, inverse, zero = dynamic_range.grid(real[0], real[1], symmetric=self.symmetric)
        ib.buffer_store(real, scale, [2])
        ib.buffer_store(real, inverse, [3])
        ib.buffer_store(whole, zero, [0])
        with ib.serial(0, self.hidden) as j:
            value = dynamic_range.stored(state[b, j], real[3], whole[0], symmetric=self.symmetric)
            ib.buffer_store(stored, value, [j])


def lstm_cell(*, coupled: bool, clip: float) -> Cell:
    """Gates: input (unless `coupled`: then it is one less forget), forget, cell, output. The memory is
    limited to `clip` where that is above zero.
    """
    one = tirx.const(1.0, _FLOAT)

    def cell(gates: Any, state: Any, memory: Any, b: Any, j: Any) -> None:
        first = 0 if coupled else 1
        forgets, leaves = (_sigmoid(gates[first + n, j]) for n in (0, 2))
        ib.buffer_store(gates, forgets, [first, j])
        enters = one - gates[first, j] if coupled else _sigmoid(gates[0, j])
        kept = gates[first, j] * memory[b, j] + tanh(gates[first + 1, j]) * enters
        if clip > 0.0:
            kept = tirx.max(tirx.min(kept, tirx.const(clip, _FLOAT)), tirx.const(-clip, _FLOAT))
        ib.buffer_store(memory, kept, [b, j])
        ib.buffer_store(state, leaves * tanh(memory[b, j]), [b, j])

    return cell


def tanh(value: Any) -> Any:
    """The hyperbolic tangent, every bit as LiteRT's: x + x**3 P(x**2), by Q(x**2). A last digit counts where
    values reach both ends, since the zero point of an asymmetric row is then halfway between two integers.

    Source: the coefficients of Eigen's `generic_packet_math_functions` (ptanh_float), without FMA.
    """
    x, square = (tirx.Var(name, _FLOAT) for name in ("x", "square"))
    top, bottom = (_polynomial(square, each) for each in (_TANH_NUMERATOR, _TANH_DENOMINATOR))
    end = tirx.const(_TANH_ONE, _FLOAT)
    found = ((square * x) * top + x) / bottom
    return tirx.Let(x, tirx.max(tirx.min(value, end), -end), tirx.Let(square, x * x, found))


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    found = tirx.const(coefficients[0], _FLOAT)
    for each in coefficients[1:]:
        found = found * x + tirx.const(each, _FLOAT)
    return found


def rnn_cell(function: Callable[[Any], Any]) -> Cell:
    """One gate, whose sums the function takes to the hidden values."""

    def cell(gates: Any, state: Any, _memory: Any, b: Any, j: Any) -> None:
        ib.buffer_store(state, function(gates[0, j]), [b, j])

    return cell


def _sigmoid(value: Any) -> Any:
    one = tirx.const(1.0, _FLOAT)
    return one / (one + tirx.exp(-value))
