"""Layers of LSTM, GRU and RNN: each is ONNX's cell in a loop over time, with its gates in ONNX's order."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from tvm import relax
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.site import constant


@frozen(kw_only=True)
class _Cell:
    """The name of a cell in ONNX, for each gate there the gate in PyTorch, and attributes."""

    operator: str
    gates: tuple[int, ...]
    attributes: Mapping[str, Any]


_LSTM = _Cell(operator="LSTM", gates=(0, 3, 1, 2), attributes={})
_GRU = _Cell(operator="GRU", gates=(1, 0, 2), attributes={"linear_before_reset": 1})
_TANH = _Cell(operator="RNN", gates=(0,), attributes={})
_RELU = _Cell(operator="RNN", gates=(0,), attributes={"activations": ["Relu"]})


def _layers(call: TorchCall, cell: _Cell) -> Any:
    """Return the values of the last layer in every step, and the last states of all layers."""
    given = call.node.args[1]
    states = [_start(call, each) for each in (given if isinstance(given, list | tuple) else [given])]
    x, batch_first = call.argument("input"), call.argument("batch_first")
    x = _swapped(call, x) if batch_first else x
    directions = 2 if call.argument("bidirectional") else 1
    ends: list[list[Any]] = []
    for layer in range(call.argument("num_layers")):
        weights = _weights(call, cell, layer * directions, directions)
        starts = [_rows(call, state, layer * directions, directions) for state in states]
        x, *last = _layer(call, cell, x, weights, starts, directions)
        ends.append(last)
    every = _swapped(call, x) if batch_first else x
    return [every, *(_joined(call, parts) for parts in zip(*ends, strict=True))]


def _start(call: TorchCall, node: Any) -> Any:
    """Return a state at first: a constant where it follows from stored tensors alone, as zeros do."""
    stored = call.importer.stored
    return stored.constants(node) if stored.follows(node) else call.importer.env[node]


def _layer(
    call: TorchCall, cell: _Cell, x: Any, weights: Sequence[Any], states: Sequence[Any], directions: int
) -> list[Any]:
    """Return what a layer gives in every step, both directions side by side, and its last states."""
    direction = "bidirectional" if directions == 2 else "forward"
    attributes = {**cell.attributes, "direction": direction}
    if "activations" in attributes:
        attributes["activations"] = attributes["activations"] * directions
    operands = (x, *weights, None, *states)
    every, *last = call.by_onnx(cell.operator, *operands, outputs=1 + len(states), **attributes)
    steps, _, batch, hidden = shape_of(every)
    every = call.emit(relax.op.permute_dims(every, [0, 2, 1, 3]))
    return [call.reshaped(every, (steps, batch, directions * hidden)), *last]


def _weights(call: TorchCall, cell: _Cell, first: int, directions: int) -> tuple[Any, Any, Any]:
    """Return the weights of the inputs, those of the states, and both biases, for each direction from
    `first` on.
    """
    has_biases = call.argument("has_biases")
    params, each = call.node.args[2], 4 if has_biases else 2
    taken = [params[(first + number) * each : (first + number + 1) * each] for number in range(directions)]
    inputs, states = (_stacked(call, cell, [[group[part]] for group in taken]) for part in (0, 1))
    biases = _stacked(call, cell, [group[2:] for group in taken]) if has_biases else None
    return inputs, states, biases


def _stacked(call: TorchCall, cell: _Cell, directions: Sequence[Sequence[Any]]) -> Any:
    """Return tensors whose rows are gates, in ONNX's order, behind one another for each direction."""
    values = call.importer.tensors
    if all(node.name in values for group in directions for node in group):
        rows = [np.concatenate([_ordered(values[node.name], cell) for node in group]) for group in directions]
        return constant(np.stack(rows))
    parts = [[_ordered_now(call, node, cell) for node in group] for group in directions]
    joined = [_joined(call, group) for group in parts]
    return _joined(call, [call.reshaped(each, (1, *shape_of(each))) for each in joined])


def _ordered(value: Any, cell: _Cell) -> Any:
    gates = np.split(value, len(cell.gates))
    return np.concatenate([gates[gate] for gate in cell.gates])


def _ordered_now(call: TorchCall, node: Any, cell: _Cell) -> Any:
    """The same of a tensor that the program computes."""
    value = call.importer.env[node]
    rows = shape_of(value)[0] // len(cell.gates)
    return _joined(call, [_rows(call, value, gate * rows, rows) for gate in cell.gates])


def _rows(call: TorchCall, value: Any, first: int, count: int) -> Any:
    if shape_of(value)[0] == count:
        return value
    if isinstance(value, GenericConst):
        return constant(value.value.numpy()[first : first + count])
    return call.emit(relax.op.strided_slice(value, [0], [first], [first + count]))


def _joined(call: TorchCall, parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else call.emit(relax.op.concat(list(parts), 0))


def _swapped(call: TorchCall, x: Any) -> Any:
    """Return a sequence with time in place of the batch, or the other way round."""
    return call.emit(relax.op.permute_dims(x, [1, 0, 2]))


CONVERTERS: Mapping[str, Convert] = {
    "gru.input": lambda call: _layers(call, _GRU),
    "lstm.input": lambda call: _layers(call, _LSTM),
    "rnn_relu.input": lambda call: _layers(call, _RELU),
    "rnn_tanh.input": lambda call: _layers(call, _TANH),
}
