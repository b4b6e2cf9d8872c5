"""TFLite Micro's integer LSTM, bit for bit: that of LiteRT with other functions and other steps of rounding.

Source: TFLite Micro kernels/lstm_eval.cc, kernels/lstm_eval_common.cc.
"""

from typing import Any

from attrs import frozen
from tvm import tirx

from target_arch.plan.arithmetic import Rounding
from target_arch.relax.loops.gemmlowp import Steps, saturated
from target_arch.relax.loops.integer_lstm import IntegerLstm
from target_arch.relax.te.fixed_point import Scale, scaled
from target_arch.relax.te.sigmoid import on_curve, signed

_UNIT = 3
"""Of a table's values in those of gates."""
_GATE_BITS = 3


@frozen(kw_only=True, eq=False)
class MicroLstm(IntegerLstm):
    """UNIDIRECTIONAL_SEQUENCE_LSTM of int8 or int16 values; `keeps` scales products of gates and memory,
    `enters` those of two gates. The table of sigmoids is its last operand.
    """

    keeps: Scale
    enters: Scale

    def gate(self, total: Any, scales: Any, half: Any, gate: Any) -> Any:
        multiplier, right = (scales[half, part, gate].astype("int64") for part in (0, 1))
        rounding = Rounding.TFLITE_SINGLE if self.dtype == "int16" else Rounding.TFLITE
        return scaled(rounding, total.astype("int64"), multiplier, right, self.least_right)

    def joined(self, entering: Any, recurrent: Any) -> Any:
        return saturated(saturated(entering, "int16") + saturated(recurrent, "int16"), "int16")

    def sigmoid(self, steps: Steps, value: Any, table: Any) -> Any:
        return _looked_up(steps, value * _UNIT, table, tanh=False)

    def tanh(self, steps: Steps, value: Any, integer_bits: int, table: Any) -> Any:
        left = integer_bits - _GATE_BITS
        unit = value * (_UNIT << left) if left >= 0 else (value * _UNIT + (1 << (-left - 1))) >> -left
        return _looked_up(steps, unit, table, tanh=True)

    def remembered(self, forgets: Any, memory: Any, enters: Any, cell: Any) -> Any:
        kept = saturated(self.keeps.of((forgets * memory).astype("int64")), "int16")
        new = saturated(self.enters.of((enters * cell).astype("int64")), "int16")
        return saturated(kept + new, "int16")


def _looked_up(steps: Steps, unit: Any, table: Any, *, tanh: bool) -> Any:
    value = steps.begin(unit)
    size = steps.of(tirx.max(value, -value))
    return signed(value, steps.of(on_curve(table, size, tanh=tanh)), tanh=tanh)
