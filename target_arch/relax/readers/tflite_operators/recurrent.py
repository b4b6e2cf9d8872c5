"""Operators with variables: LSTM over a sequence, SVDF."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tflite
from tvm import relax

from target_arch.plan.arithmetic import DTYPE_RANGE, Rounding, quantize_multiplier
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.onnx_operators.node import Node
from target_arch.relax.onnx_operators.recurrent import CONVERTERS as ONNX_CONVERTERS
from target_arch.relax.readers.tflite_operators.site import Converter, Operand, Site, Unreadable
from target_arch.relax.te.scaling import right_shift

_GATES = (0, 3, 1, 2)
"""ONNX's order of gates (input, output, forget, cell) in TFLite's: input, forget, cell, output."""
_HIDDEN, _MEMORY = 18, 19
_FLOAT_ROUNDING = "float"


def sequence_lstm(site: Site) -> Any:
    """UNIDIRECTIONAL_SEQUENCE_LSTM in float32, without peepholes, projection and layer normalization."""
    if site.x.dtype != "float32":
        raise Unreadable(f"its elements are {site.x.dtype}")
    others = (*range(9, 12), 16, 17, *range(20, 24))
    if any(site.optional(index) is not None for index in others) or site.optional(1) is None:
        raise Unreadable("peepholes, projections, layer normalization and coupled gates")
    options = site.options("UnidirectionalSequenceLSTMOptions")
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH or options.ProjClip():
        raise Unreadable("another activation than tanh, or a clipped projection")
    weights, recurrent, biases = (
        [site.operand(first + gate).constant for gate in _GATES] for first in (1, 5, 12)
    )
    major = bool(options.TimeMajor())
    x = site.x.expr if major else relax.op.permute_dims(site.x.expr, [1, 0, 2])
    states = [site.operand(index).expr for index in (_HIDDEN, _MEMORY)]
    bias = np.concatenate([*biases, *np.zeros_like(biases)])[None]
    node = Node(
        operator="LSTM",
        inputs=(
            x if major else site.builder.emit(x),
            relax.const(np.concatenate(weights)[None]),
            relax.const(np.concatenate(recurrent)[None]),
            relax.const(bias),
            None,
            *(site.builder.emit(relax.op.expand_dims(each, [0])) for each in states),
        ),
        attributes={"hidden_size": recurrent[0].shape[1], "cell_clip": options.CellClip()},
        outputs=3,
        opset=14,
        builder=site.builder,
    )
    every, hidden, memory = ONNX_CONVERTERS["LSTM"].convert(node)
    for index, value in ((_HIDDEN, hidden), (_MEMORY, memory)):
        site.update(index, relax.op.reshape(value, site.operand(index).shape))
    time, _, *rest = shape_of(every)
    found = relax.op.reshape(every, (time, *rest))
    return found if major else relax.op.permute_dims(site.builder.emit(found), [1, 0, 2])


def svdf(site: Site) -> Any:
    """SVDF in float32, and in int8 with a state of int16: the new features go behind the old ones, and a
    product with weights over time follows (LiteRT `EvalFloatSVDF`, `EvalIntegerSVDF`).

    The state is kept by time, [B,M,1,F], not [B,F,M].
    """
    x, features, times, state = (site.operand(index) for index in (0, 1, 2, 4))
    options = site.options("SVDFOptions")
    rank, (filters, memory), batch = options.Rank(), times.shape, x.shape[0]
    if (x.dtype, state.dtype) not in (("float32", "float32"), ("int8", "int16")):
        raise Unreadable(f"elements are {x.dtype}, its state is {state.dtype}")
    if features.dtype not in ("float32", "int8") or (x.dtype == "int8") != (features.dtype == "int8"):
        raise Unreadable(f"weights are {features.dtype}")
    held = site.variable(4, (batch, memory, 1, filters))
    no_bias = np.zeros(filters, "float32" if x.dtype == "float32" else "int32")
    grids, shape = (x, features, state), (batch, filters)
    fresh = _product(site, "dense", grids, x.expr, features.constant, no_bias, shape)
    fresh = site.builder.emit(relax.op.reshape(site.builder.emit(fresh), (batch, 1, 1, filters)))
    older = site.builder.emit(relax.op.strided_slice(held, [1], [1], [memory]))
    held = site.builder.emit(relax.op.concat([older, fresh], axis=1))
    site.update(4, held)
    weights = times.constant.reshape(filters // rank, rank, memory).transpose(0, 2, 1)[:, :, None, :]
    bias = site.optional(3)
    summand = np.zeros(filters // rank, no_bias.dtype) if bias is None else bias.constant
    shape4 = (batch, 1, 1, filters // rank)
    return _product(
        site, "conv2d", (state, times, site.out), held, np.ascontiguousarray(weights), summand, shape4,
        strides=(1, 1), dilation=(1, 1), padding=(0, 0),
    )  # fmt: skip


def _product(
    site: Site,
    name: str,
    grids: tuple[Operand, Operand, Operand],
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
        low=low,
        high=high,
        **attributes,
    )


CONVERTERS: Mapping[str, Converter] = {
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": sequence_lstm,
}
