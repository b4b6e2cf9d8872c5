"""DynamicQuantizeLSTM of onnxruntime: an LSTM of floats with 8-bit weights.

All inputs are brought to eight bits on one grid, the hidden values of every step on one of their own; sums
are of integers. Source: onnxruntime's `contrib_ops/cpu/quantization/dynamic_quantize_lstm.cc` and
`core/providers/cpu/rnn/rnn_helpers.cc`. Tests: `tests/relax/readers/onnx/test_dynamic_lstm.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.loops.recurrent import RecurrentKernel, Step
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.onnx_operators.rationals import logistic, tanh
from target_arch.relax.onnx_operators.recurrent import LSTM_ATTRIBUTES, RecurrentForm, lstm
from target_arch.relax.site import Array, NotConverted, constant, local, zero

_FLOAT = "float32"
_MOST = 255.0
_LEAST, _GREATEST, _SCALE = range(3)


def _number(value: float) -> Any:
    return tirx.const(value, _FLOAT)


@frozen(eq=False)
class _Grid:
    """Unsigned 8-bit values from the least real to the greatest, 0 among them, as `DynamicQuantizeLinear`."""

    name: str
    _real: Any = field(init=False)
    _zero: Any = field(init=False)

    @_real.default
    def _new_reals(self) -> Any:
        return local(f"{self.name}_real", (3,), _FLOAT)

    @_zero.default
    def _new_zero(self) -> Any:
        return local(f"{self.name}_zero", (1,), "int32")

    @property
    def scale(self) -> Any:
        """The real that a step stands for."""
        return self._real[_SCALE]

    def find(self, value: Callable[..., Any], *extents: int) -> None:
        """The grid of all values in a tensor of these extents."""
        real = self._real
        for n in (_LEAST, _GREATEST):
            ib.buffer_store(real, _number(0.0), [n])
        with ib.grid(*extents) as indices:
            each = value(*indices) if len(extents) > 1 else value(indices)
            ib.buffer_store(real, tirx.min(real[_LEAST], each), [_LEAST])
            ib.buffer_store(real, tirx.max(real[_GREATEST], each), [_GREATEST])
        reach = real[_GREATEST] - real[_LEAST]
        ib.buffer_store(
            real, tirx.Select(reach > _number(0.0), reach / _number(_MOST), _number(1.0)), [_SCALE]
        )
        place = tirx.max(_number(0.0), tirx.min(_number(_MOST), -real[_LEAST] / self.scale))
        ib.buffer_store(self._zero, tirx.round(place).astype("int32"), [0])

    def steps(self, value: Any) -> Any:
        """How many steps above zero a value is stored, int16."""
        low, high = -self._zero[0], 255 - self._zero[0]
        least, most = (each.astype(_FLOAT) for each in (low, high))
        return tirx.max(tirx.min(tirx.round(value / self.scale), most), least).astype("int16")


@frozen(kw_only=True, eq=False)
class DynamicKernel(RecurrentKernel):
    """A kernel with 8-bit weights for a batch of one; `row` holds what is multiplied, in steps."""

    entering: _Grid = field(init=False, factory=lambda: _Grid("entering"))
    held: _Grid = field(init=False, factory=lambda: _Grid("held"))
    row: Any = field(init=False)
    whole: Any = field(init=False, factory=lambda: local("whole", (1,), "int32"))

    @row.default
    def _new_row(self) -> Any:
        return local("row", (max(self.cell.inputs, self.cell.hidden),), "int16")

    def run(self, direction: int, step: Step) -> None:
        """One direction; its inputs have one grid for all steps."""
        x, cell = self.operands["X"], self.cell
        self.entering.find(lambda t, k: x[t, 0, k], cell.steps, cell.inputs)
        RecurrentKernel.run(self, direction, step)

    def add(self, direction: int, time: Any, b: Any, first: int, count: int) -> None:
        """The sums of gates from `first` on."""
        cell, x = self.cell, self.operands["X"]
        with ib.grid(count, cell.hidden) as (g, j):
            ib.buffer_store(self.sums, _number(0.0), [g + first, j])
        with ib.serial(0, cell.inputs) as k:
            ib.buffer_store(self.row, self.entering.steps(x[time, b, k]), [k])
        self._add_products("W", self.entering, cell.inputs, direction, first, count)
        self.held.find(lambda k: self.state[b, k], cell.hidden)
        with ib.serial(0, cell.hidden) as k:
            ib.buffer_store(self.row, self.held.steps(self.state[b, k]), [k])
        self._add_products("R", self.held, cell.hidden, direction, first, count)
        if "B" in cell.given:
            self._add_biases(direction, first, count)

    def _add_products(
        self, name: str, grid: _Grid, size: int, direction: int, first: int, count: int
    ) -> None:
        hidden, weights, scales = self.cell.hidden, self.operands[name], self.operands[f"{name}_scale"]
        with ib.grid(count, hidden) as (g, j):
            place = (g + first) * hidden + j
            ib.buffer_store(self.whole, zero("int32"), [0])
            with ib.serial(0, size) as k:
                product = self.row[k].astype("int32") * weights[direction, place, k].astype("int32")
                ib.buffer_store(self.whole, self.whole[0] + product, [0])
            scale = grid.scale * scales[direction, place]
            total = self.sums[g + first, j] + self.whole[0].astype(_FLOAT) * scale
            ib.buffer_store(self.sums, total, [g + first, j])

    def _add_biases(self, direction: int, first: int, count: int) -> None:
        cell, bias = self.cell, self.operands["B"]
        with ib.grid(count, cell.hidden) as (g, j):
            place = (g + first) * cell.hidden + j
            both = bias[direction, place] + bias[direction, cell.gates * cell.hidden + place]
            ib.buffer_store(self.sums, self.sums[g + first, j] + both, [g + first, j])


_OPERANDS = 8
"""Those of LSTM; scales and zero points of both weights follow."""


def _dynamic_lstm(node: Node) -> Any:
    if node.shape(0)[1] != 1:
        raise NotConverted(f"a batch of {node.shape(0)[1]}, whose grids depend on onnxruntime's threads")
    if node.given(4) is not None:
        raise NotConverted("lengths of sequences")
    weights = {name: _weights(node, name, n) for n, name in enumerate("WR", 1)}
    scales = {f"{name}_scale": _scales(node, name, n) for n, name in enumerate("WR")}
    given = (node.operand(0), *weights.values(), *(node.given(n) for n in range(3, _OPERANDS)))
    functions = {"sigmoid": logistic, "tanh": tanh}
    form = RecurrentForm(kernel=DynamicKernel, operands=scales, functions=functions)
    return lstm(evolve(node, inputs=given), form)


def _constant(node: Node, index: int, name: str) -> Array:
    found = node.constant(index, name)
    if found is None:
        raise NotConverted(f"its operand `{name}` is missing")
    return found


def _weights(node: Node, name: str, index: int) -> Any:
    """Weights [directions, 4 * hidden, inputs] without their zero points, in 8 bits where these suffice."""
    stored = _constant(node, index, name).astype(np.int32)
    zeros = _constant(node, _OPERANDS + 2 * index - 1, f"{name}_zero_point").astype(np.int32)
    values = np.swapaxes(stored - zeros.reshape(stored.shape[0], 1, -1), 1, 2)
    small = np.iinfo(np.int8).min <= values.min() and values.max() <= np.iinfo(np.int8).max
    return constant(values, "int8" if small else "int16")


def _scales(node: Node, name: str, number: int) -> Any:
    """A scale for each row of weights [directions, 4 * hidden]."""
    found = _constant(node, _OPERANDS + 2 * number, f"{name}_scale")
    directions, _, rows = node.shape(1)
    return constant(np.broadcast_to(found.reshape(directions, -1), (directions, rows)), _FLOAT)


CONVERTERS: Mapping[str, Converter] = {"DynamicQuantizeLSTM": converter(_dynamic_lstm, LSTM_ATTRIBUTES)}
