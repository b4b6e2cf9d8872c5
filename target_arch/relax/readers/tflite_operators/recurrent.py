"""Operators with variables: LSTM and RNN, over a sequence or not, SVDF."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import tflite
from attrs import frozen
from tvm import relax

from target_arch.plan.arithmetic import DTYPE_RANGE, Rounding, float32, quantize_multiplier, reduced
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.loops.dynamic_recurrent import Cell, DynamicRecurrence, lstm_cell, rnn_cell, tanh
from target_arch.relax.loops.integer_lstm import GATES, IntegerLstm
from target_arch.relax.loops.micro_lstm import MicroLstm
from target_arch.relax.onnx_operators.node import Node
from target_arch.relax.onnx_operators.recurrent import CONVERTERS as ONNX_CONVERTERS
from target_arch.relax.readers.tflite_operators import dynamic
from target_arch.relax.readers.tflite_operators.functions import sigmoid_table
from target_arch.relax.readers.tflite_operators.grids import bounds
from target_arch.relax.readers.tflite_operators.site import Converter, TFLiteOperand, TFLiteOperator
from target_arch.relax.site import NotConverted, constant
from target_arch.relax.te import dynamic_range
from target_arch.relax.te.fixed_point import Scale
from target_arch.relax.te.scaling import right_shift

Array = np.ndarray[Any, Any]
_HIDDEN, _MEMORY = 18, 19
_ONNX_GATES = (0, 3, 1, 2)
"""ONNX's order of gates (input, output, forget, cell) in TFLite's: input, forget, cell, output."""
_FORGET = 1
_LSTM_TYPES = (("float32", "float32"), ("int8", "int8"), ("int16", "int8"))
"""Element types of values and weights, where both are computed alike."""


def sequence_lstm(site: TFLiteOperator) -> Any:
    """UNIDIRECTIONAL_SEQUENCE_LSTM in float32, whose weights may be int8, in int8 and in int16, without
    peepholes, projection and layer normalization.
    """
    others = (*range(9, 12), 16, 17, *range(20, 24))
    if any(site.optional_tensor(index) is not None for index in others):
        raise NotConverted("peepholes, projections and layer normalization")
    options = site.options("UnidirectionalSequenceLSTMOptions")
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH or options.ProjClip():
        raise NotConverted("another activation than tanh, or a clipped projection")
    weights, clip = site.tensor(2).dtype, float(options.CellClip())
    if options.DiagonalRecurrentTensors():
        raise NotConverted("diagonal recurrent weights")
    hybrid = dynamic.is_dynamic(site, site.tensor(2))
    if (site.x.dtype, weights) not in _LSTM_TYPES and not hybrid:
        raise NotConverted(f"its elements are {site.x.dtype}, its weights {weights}")
    _check_inner(site, alike=not hybrid and site.optional_tensor(1) is not None)
    major = bool(options.TimeMajor())
    x = site.x.expr if major else site.builder.emit(relax.op.permute_dims(site.x.expr, [1, 0, 2]))
    if hybrid:
        found = _dynamic_lstm(site, x, clip, symmetric=not options.AsymmetricQuantizeInputs())
    else:
        found = integer_lstm(site, x, clip) if weights == "int8" else _float_lstm(site, x, clip)
    return found if major else relax.op.permute_dims(site.builder.emit(found), [1, 0, 2])


def _check_inner(site: TFLiteOperator, *, alike: bool) -> None:
    """NotConverted in a subgraph, whose variable tensors TFLite Micro keeps and LiteRT resets in each run,
    unless both compute the operator `alike`.
    """
    if site.inner and not alike:
        raise NotConverted("in a subgraph LiteRT resets its states, and TFLite Micro computes it otherwise")


def _dynamic_lstm(site: TFLiteOperator, x: Any, clip: float, *, symmetric: bool) -> Any:
    coupled = site.optional_tensor(1) is None
    gates = [
        _DynamicGate(entering=site.tensor(1 + n), recurrent=site.tensor(5 + n), bias=site.tensor(12 + n))
        for n in range(1 if coupled else 0, len(GATES))
    ]
    cell = lstm_cell(coupled=coupled, clip=clip)
    return _dynamic_loop(site, x, gates, cell, (_HIDDEN, _MEMORY), symmetric=symmetric)


@frozen(kw_only=True)
class _DynamicGate:
    """The weights of inputs and hidden values in int8, the bias in float32."""

    entering: TFLiteOperand
    recurrent: TFLiteOperand
    bias: TFLiteOperand


def _dynamic_loop(
    site: TFLiteOperator,
    x: Any,
    gates: Sequence[_DynamicGate],
    cell: Cell,
    states: tuple[int, ...],
    *,
    symmetric: bool,
) -> Any:
    """All hidden values [steps, batch, hidden] of the inputs `x` [steps, batch, inputs]; the variables are
    updated, the hidden values first.
    """
    for weight in (each for gate in gates for each in (gate.entering, gate.recurrent)):
        if not dynamic.is_dynamic(site, weight):
            raise NotConverted(f"its elements are {site.x.dtype}, its weights `{weight.name}` {weight.dtype}")
    steps, batch, inputs = shape_of(x)
    made = dynamic.rows(site, x, (steps * batch, inputs), symmetric=symmetric)
    sums = [dynamic.dense(site, made, gate.entering, gate.bias.constant) for gate in gates]
    entering = site.builder.emit(relax.op.stack(sums, axis=0))
    recurrent = np.stack([gate.recurrent.constant for gate in gates])
    scales = np.array([dynamic.single_scale(gate.recurrent) for gate in gates], np.float32)
    loop = DynamicRecurrence(
        steps=steps,
        batch=batch,
        hidden=recurrent.shape[1],
        gates=len(gates),
        symmetric=symmetric,
        remembers=len(states) > 1,
        cell=cell,
    )
    given = (constant(recurrent), constant(scales), *(site.tensor(index).expr for index in states))
    shape = (steps + len(states) - 1, batch, loop.hidden)
    whole = site.written(shape, "float32", loop.write, entering, *given, name=site.operator.lower())
    for place, index in enumerate(states):
        last = site.builder.emit(relax.op.strided_slice(whole, [0], [steps - 1 + place], [steps + place]))
        site.update(index, relax.op.reshape(last, site.tensor(index).shape))
    return site.builder.emit(relax.op.strided_slice(whole, [0], [0], [steps]))


_RNN_HIDDEN = 4


def rnn(table: str, site: TFLiteOperator) -> Any:
    """RNN and UNIDIRECTIONAL_SEQUENCE_RNN on floats with int8 weights."""
    _check_inner(site, alike=False)
    gate = _DynamicGate(entering=site.tensor(1), recurrent=site.tensor(2), bias=site.tensor(3))
    options, shape = site.options(table), site.x.shape
    major = len(shape) == 2 or bool(options.TimeMajor())
    x = site.builder.emit(relax.op.reshape(site.x.expr, (1, *shape)) if len(shape) == 2 else site.x.expr)
    x = x if major else site.builder.emit(relax.op.permute_dims(x, [1, 0, 2]))
    cell = rnn_cell(_function(int(options.FusedActivationFunction())))
    symmetric = not options.AsymmetricQuantizeInputs()
    found = _dynamic_loop(site, x, [gate], cell, (_RNN_HIDDEN,), symmetric=symmetric)
    found = found if major else site.builder.emit(relax.op.permute_dims(found, [1, 0, 2]))
    return relax.op.reshape(found, site.out.shape)


def _function(activation: int) -> Callable[[Any], Any]:
    if activation == tflite.ActivationFunctionType.TANH:
        return tanh
    ends = bounds(activation)
    return lambda value: dynamic_range.ended(value, ends)


def _float_lstm(site: TFLiteOperator, x: Any, clip: float) -> Any:
    """All hidden values [steps, batch, hidden]; both variables are updated."""
    weights, recurrent, biases = ([_gate(site, first, gate) for gate in _ONNX_GATES] for first in (1, 5, 12))
    coupled = site.optional_tensor(1) is None
    states = [site.tensor(index).expr for index in (_HIDDEN, _MEMORY)]
    bias = np.concatenate([*biases, *np.zeros_like(biases)])[None]
    node = Node(
        operator="LSTM",
        inputs=(
            x,
            constant(np.concatenate(weights)[None]),
            constant(np.concatenate(recurrent)[None]),
            constant(bias),
            None,
            *(site.builder.emit(relax.op.expand_dims(each, [0])) for each in states),
        ),
        attributes={"hidden_size": recurrent[0].shape[1], "cell_clip": clip, "input_forget": int(coupled)},
        outputs=3,
        opset=14,
        builder=site.builder,
    )
    every, hidden, memory = ONNX_CONVERTERS["LSTM"].convert(node)
    for index, value in ((_HIDDEN, hidden), (_MEMORY, memory)):
        site.update(index, relax.op.reshape(value, site.tensor(index).shape))
    time, _, *rest = shape_of(every)
    return relax.op.reshape(every, (time, *rest))


def _gate(site: TFLiteOperator, first: int, gate: int) -> Any:
    """The factor or term of a gate. The input gate of a layer that has none is one less its forget gate:
    the sigmoid of the opposite sums.
    """
    given = site.optional_tensor(first + gate)
    return -site.tensor(first + _FORGET).constant if given is None else given.constant


def integer_lstm(site: TFLiteOperator, x: Any, cell_clip: float) -> Any:
    """All hidden values [steps, batch, hidden] of the inputs `x` [steps, batch, inputs]; both variables are
    updated. As TFLite Micro does where LiteRT has none: int16, or in a subgraph. NotConverted for scales that
    they refuse, too.
    """
    memory, hidden, out = site.tensor(_MEMORY), site.tensor(_HIDDEN), site.out
    exponent = round(math.log2(memory.scale))
    if memory.dtype != "int16" or 2.0**exponent != memory.scale or not -15 <= exponent <= -9:
        raise NotConverted("the scale of its memory is no power of two from 2**-15 to 2**-9")
    micro = site.inner or out.dtype == "int16"
    if micro and (site.optional_tensor(1) is None or hidden.dtype != out.dtype):
        raise NotConverted(
            "a form that TFLite Micro does not have: no input gate, or a state of another type"
        )
    weights, recurrent = _stacked(site, 1), _stacked(site, 5)
    tables = _tables(site, weights, recurrent)
    hidden_scale = 2.0**-30 / hidden.scale if micro else float32(2.0**-30 / out.scale)
    facts: dict[str, Any] = {
        "steps": shape_of(x)[0],
        "batch": shape_of(x)[1],
        "inputs": weights.shape[2],
        "hidden": weights.shape[1],
        "least_right": int(tables["scales"][:, 1].min()),
        "out": _scale(hidden_scale),
        "out_zero": hidden.zero_point if micro else out.zero_point,
        "memory_shift": exponent,
        "clip": int(min(cell_clip / memory.scale, 32767.0)) if cell_clip > 0 else 0,
        "coupled": site.optional_tensor(1) is None,
        "dtype": out.dtype,
    }
    enters = _scale(2.0**-30 / memory.scale)
    lstm = MicroLstm(keeps=_scale(2.0**-15), enters=enters, **facts) if micro else IntegerLstm(**facts)
    bias, scales = constant(tables["bias"]), relax.const(tables["scales"])
    constants = [relax.const(weights), relax.const(recurrent), bias, scales]
    curve = [constant(sigmoid_table())] if micro else []
    shape = (lstm.steps + 1, lstm.batch, lstm.hidden)
    emit = site.builder.emit
    whole = site.written(
        shape, "int16", lstm.write, x, *constants, hidden.expr, memory.expr, *curve, name="LSTM"
    )
    every = emit(relax.op.strided_slice(whole, [0], [0], [lstm.steps]))
    every = emit(relax.op.astype(every, out.dtype))
    last = emit(relax.op.strided_slice(every, [0], [lstm.steps - 1], [lstm.steps]))
    kept = emit(relax.op.strided_slice(whole, [0], [lstm.steps], [lstm.steps + 1]))
    site.update(_HIDDEN, relax.op.reshape(last, hidden.shape))
    site.update(_MEMORY, relax.op.reshape(kept, memory.shape))
    return every


def _scale(real: float) -> Scale:
    multiplier, shift = quantize_multiplier(real)
    return Scale(multiplier=multiplier, shift=shift)


def _weights(site: TFLiteOperator, first: int) -> list[TFLiteOperand | None]:
    return [site.optional_tensor(first + gate) for gate in GATES]


def _stacked(site: TFLiteOperator, first: int) -> Array:
    """The weights of all gates; zeros for one that is left out."""
    given = _weights(site, first)
    known = [each.constant for each in given if each is not None]
    return np.stack([np.zeros_like(known[0]) if each is None else each.constant for each in given])


def _tables(site: TFLiteOperator, weights: Array, recurrent: Array) -> Mapping[str, Array]:
    """`bias` [2, gates, hidden] with the zero points of inputs and states; `scales` [2, 2, gates]:
    multipliers, and how far to shift to the right.
    """
    hidden = site.tensor(_HIDDEN)
    biases = [site.optional_tensor(12 + gate) for gate in GATES]
    wide = "int64" if site.x.dtype == "int16" else "int32"
    own = np.stack([np.zeros(weights.shape[1], wide) if each is None else each.constant for each in biases])
    zeros = [site.x.zero_point, hidden.zero_point]
    sums = [each.astype(np.int64).sum(axis=2) for each in (weights, recurrent)]
    bias = np.stack([own - zeros[0] * sums[0], -zeros[1] * sums[1]]).astype(wide)
    scales = np.zeros((2, 2, 4), np.int32)
    for half, (first, real) in enumerate(((1, site.x.scale), (5, hidden.scale))):
        for gate, operand in enumerate(_weights(site, first)):
            ratio = 0.0 if operand is None else float32(float32(operand.scale * real) * 4096.0)
            multiplier, shift = quantize_multiplier(ratio)
            if wide == "int64":
                scales[half, :, gate] = reduced(multiplier), 15 - shift
            else:
                scales[half, :, gate] = multiplier, right_shift(Rounding.TFLITE, shift)
    return {"bias": bias, "scales": scales}


_FLOAT_ROUNDING = "float"


def svdf(site: TFLiteOperator) -> Any:
    """SVDF in float32, whose weights may be int8, and in int8 with a state of int8 or int16 (LiteRT, TFLite
    Micro).

    The state is kept by time, [B,M,1,F], not [B,F,M].
    """
    x, features, times, state = (site.tensor(index) for index in (0, 1, 2, 4))
    options = site.options("SVDFOptions")
    rank, (filters, memory), batch = options.Rank(), times.shape, x.shape[0]
    if (x.dtype, state.dtype) not in (("float32", "float32"), ("int8", "int8"), ("int8", "int16")):
        raise NotConverted(f"elements are {x.dtype}, its state is {state.dtype}")
    hybrid = dynamic.is_dynamic(site, features)
    if features.dtype != x.dtype and not (hybrid and dynamic.is_dynamic(site, times)):
        raise NotConverted(f"weights are {features.dtype} and {times.dtype}, its elements {x.dtype}")
    _check_inner(site, alike=not hybrid)
    held = site.variable(4, (batch, memory, 1, filters))
    no_bias = np.zeros(filters, "float32" if x.dtype == "float32" else "int32")
    grids, shape = (x, features, state), (batch, filters)
    if hybrid:
        made = dynamic.rows(
            site, x.expr, (batch, x.shape[1]), symmetric=not options.AsymmetricQuantizeInputs()
        )
        fresh = dynamic.dense(site, made, features, no_bias)
    else:
        fresh = _product(
            site, "matrix_product", grids, x.expr, features.constant, no_bias, shape,
            adjoint0=0, adjoint1=1, **_wrapping(state),
        )  # fmt: skip
    fresh = site.builder.emit(relax.op.reshape(site.builder.emit(fresh), (batch, 1, 1, filters)))
    older = site.builder.emit(relax.op.strided_slice(held, [1], [1], [memory]))
    held = site.builder.emit(relax.op.concat([older, fresh], axis=1))
    site.update(4, held)
    # LiteRT makes floats of these weights before the first run.
    stored = times.constant * np.float32(dynamic.single_scale(times)) if hybrid else times.constant
    weights = stored.reshape(filters // rank, rank, memory).transpose(0, 2, 1)[:, :, None, :]
    bias = site.optional_tensor(3)
    summand = np.zeros(filters // rank, no_bias.dtype) if bias is None else bias.constant
    shape4 = (batch, 1, 1, filters // rank)
    low, high = bounds(options.FusedActivationFunction())
    # LiteRT has no fused activation in integers.
    ends = {
        key: value
        for key, value in (("low", low), ("high", high))
        if x.dtype == "float32" and value is not None
    }
    return _product(
        site, "time_filters", (state, times, site.out), held, np.ascontiguousarray(weights), summand, shape4,
        **ends,
    )  # fmt: skip


def _product(
    site: TFLiteOperator,
    name: str,
    grids: tuple[TFLiteOperand, TFLiteOperand, TFLiteOperand],
    data: Any,
    weights: Any,
    bias: Any,
    shape: tuple[int, ...],
    **attributes: Any,
) -> Any:
    """A sum of products of `data` and weights plus bias; `grids` are those of data, weights and result."""
    x, w, out = grids
    if x.dtype == "float32":
        return site.defined_as(
            name, (data, weights, bias), shape, "float32", rounding=_FLOAT_ROUNDING, **attributes
        )
    multiplier, shift = quantize_multiplier(x.scale * w.scale / out.scale)
    right = right_shift(Rounding.TFLITE, shift)
    low, high = DTYPE_RANGE[out.dtype]
    tables = (np.array([multiplier], "int32"), np.array([right], "int32"))
    return site.defined_as(
        name,
        (data, weights, bias, *tables),
        shape,
        out.dtype,
        rounding=str(Rounding.TFLITE),
        least_right=right,
        accumulator="int32",
        offset0=-x.zero_point,
        offset1=-w.zero_point,
        offset=out.zero_point,
        **{"low": low, "high": high, **attributes},
    )


def _wrapping(state: TFLiteOperand) -> dict[str, int]:
    """The clamp of a new feature: before the zero point of the state is added, which may then wrap around
    (TFLite Micro).
    """
    if state.quantization is None:
        return {}
    low, high = DTYPE_RANGE[state.dtype]
    return {"low": low + state.zero_point, "high": high + state.zero_point}


CONVERTERS: Mapping[str, Converter] = {
    "RNN": partial(rnn, "RNNOptions"),
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": sequence_lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": partial(rnn, "SequenceRNNOptions"),
}
