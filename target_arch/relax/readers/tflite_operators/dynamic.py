"""Sums of products of float activations with int8 weights: the activations are brought to eight bits as they
run (`te.dynamic_range`).
"""

import math
from typing import Any

import numpy as np
from attrs import evolve
from tvm import relax

from target_arch.plan.model import Attribute, Quantization
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.windows import Windows
from target_arch.relax.readers.tflite_operators.grids import ACTIVATIONS, bounds, clamped
from target_arch.relax.readers.tflite_operators.image_weights import StoredWeights, groups_of, image_weights
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand, TFLiteOperator
from target_arch.relax.site import NotConverted
from target_arch.relax.te import dynamic_range

Array = np.ndarray[Any, Any]


def is_dynamic(site: TFLiteOperator, weight: TFLiteOperand) -> bool:
    """True for an operator on floats whose weights are int8 on a grid."""
    return brings(site.x, weight)


def brings(x: TFLiteOperand, weight: TFLiteOperand) -> bool:
    """True for activations in floats and weights in int8 on a grid."""
    return x.dtype == "float32" and weight.dtype == "int8" and weight.quantization is not None


def convolution(site: TFLiteOperator, weight: TFLiteOperand, windows: Windows, activation: int) -> Any:
    """Images of a batch have grids of their own; symmetric where the weights have a single scale, as LiteRT
    has it.
    """
    rows, columns = windows
    kind, weights = image_weights(site, weight)
    attributes: dict[str, Attribute] = {
        "strides": (rows.stride, columns.stride),
        "dilation": (rows.dilation, columns.dilation),
        "padding": (rows.before, columns.before, rows.after, columns.after),
    }
    if kind is OperatorKind.DEPTHWISE_CONV2D:
        attributes["depth_multiplier"] = site.out.shape[3] // site.x.shape[3]
    elif groups_of(site, weight) > 1:
        raise NotConverted("groups of channels, with activations in floats and weights in int8")
    attributes["symmetric"] = site.operator == "CONV_2D" and len(_weight_scales(weight)) == 1
    return _stated(site, kind, weights, activation, attributes)


def _stated(
    site: TFLiteOperator,
    kind: OperatorKind,
    weight: StoredWeights,
    activation: int,
    attributes: dict[str, Attribute],
) -> Any:
    """A sum of products as its kind."""
    operand, values, axis = weight
    scales = _weight_scales(operand)
    bias = site.optional_tensor(2)
    added = np.zeros(values.shape[axis], np.float32) if bias is None else bias.constant.reshape(-1)
    grid = Quantization(scale=scales, zero_point=(0,) * len(scales), axis=axis if len(scales) > 1 else None)
    ends = bounds(activation)
    known = ACTIVATIONS.get(ends)
    product = site.stated(
        kind,
        (site.x.expr, values, added.astype(np.float32)),
        (None, grid),
        **attributes,
        activation=known or "none",
    )
    return product if known else clamped(site.emit(product), *ends)


def transposed_convolution(
    site: TFLiteOperator,
    weight: TFLiteOperand,
    x: TFLiteOperand,
    windows: Windows,
    activation: int,
) -> Any:
    """Images of a batch are rows, asymmetric whatever the scales of the weights, as LiteRT has it."""
    made = rows(site, x.expr, (x.shape[0], math.prod(x.shape[1:])), symmetric=False)
    values = site.builder.emit(relax.op.reshape(made.values, x.shape))
    layer = dynamic_range.SumOfProducts(
        name=site.operator.lower(),
        shape=site.out.shape,
        terms=weight.shape[1:],
        product=dynamic_range.convolution_product(dynamic_range.spread(windows)),
        ends=bounds(activation),
    )
    return _weighted(site, weight, layer, evolve(made, values=values), bias=3)


def fully_connected(site: TFLiteOperator, weight: TFLiteOperand, options: Any) -> Any:
    """FULLY_CONNECTED on tensors of any rank: every row has a grid of its own."""
    if site.x.value is not None:
        return _dense_of_constants(site, weight, options)
    attributes: dict[str, Attribute] = {
        "in_features": weight.shape[1],
        "symmetric": not options.AsymmetricQuantizeInputs(),
    }
    activation = int(options.FusedActivationFunction())
    return _stated(site, OperatorKind.DENSE, (weight, weight.constant, 0), activation, attributes)


def _dense_of_constants(site: TFLiteOperator, weight: TFLiteOperand, options: Any) -> Any:
    """The same of a constant, as the first state of a loop is; a kind has an operand that is computed."""
    count = math.prod(site.x.shape) // weight.shape[1]
    made = rows(site, site.x.expr, (count, weight.shape[1]), symmetric=not options.AsymmetricQuantizeInputs())
    layer = dynamic_range.SumOfProducts(
        name=site.operator.lower(),
        shape=(count, weight.shape[0]),
        terms=weight.shape[1:],
        product=dynamic_range.dense_product,
        ends=bounds(int(options.FusedActivationFunction())),
    )
    return relax.op.reshape(_weighted(site, weight, layer, made), site.out.shape)


def batch_matmul(site: TFLiteOperator, weight: TFLiteOperand, options: Any) -> Any:
    """BATCH_MATMUL with a constant second operand; either may have fewer matrices than the result."""
    x, rank = site.x, len(site.x.shape)
    if any(sum(extent > 1 for extent in operand.shape[:-2]) > 1 for operand in (x, weight)):
        raise NotConverted(
            f"matrices in several dimensions, with weights `{weight.name}` in int8: LiteRT scales their rows "
            "by the grids of other rows"
        )
    *outer, count, outputs = site.out.shape
    inputs = weight.shape[-1 if options.AdjY() else -2]
    real = x.expr if not options.AdjX() else site.builder.emit(exchanged(x.expr, rank))
    given = (*x.shape[:-2], count, inputs)
    if math.prod(given[:-2]) != math.prod(outer):
        real = site.builder.emit(relax.op.broadcast_to(real, (*outer, count, inputs)))
    made = rows(
        site, real, (math.prod(outer) * count, inputs), symmetric=not options.AsymmetricQuantizeInputs()
    )
    stored = weight.constant if options.AdjY() else weight.constant.swapaxes(-1, -2)
    if math.prod(stored.shape[:-2]) > 1:
        stored = np.broadcast_to(stored, (*outer, outputs, inputs))
    stored = np.ascontiguousarray(stored.reshape(-1, outputs, inputs))
    layer = dynamic_range.SumOfProducts(
        name=site.operator.lower(),
        shape=(math.prod(outer) * count, outputs),
        terms=(inputs,),
        product=dynamic_range.matrices_product(count if len(stored) > 1 else math.prod(outer) * count),
        ends=(None, None),
    )
    constants = stored, np.zeros(outputs, np.float32), np.array([single_scale(weight)], np.float32)
    product = dynamic_range.weighted(site.builder, layer, made, *map(relax.const, constants))
    return relax.op.reshape(product, site.out.shape)


def dense(site: TFLiteOperator, made: dynamic_range.Rows, weight: TFLiteOperand, bias: Array) -> Any:
    """The float32 products of rows with the weights [outputs, elements] of a part of an operator, and a
    bias.
    """
    layer = dynamic_range.SumOfProducts(
        name=site.operator.lower(),
        shape=(made.count, weight.shape[0]),
        terms=weight.shape[1:],
        product=dynamic_range.dense_product,
        ends=(None, None),
    )
    constants = weight.constant, bias, np.array([single_scale(weight)], np.float32)
    return dynamic_range.weighted(site.builder, layer, made, *map(relax.const, constants))


def rows(site: TFLiteOperator, x: Any, shape: tuple[int, int], *, symmetric: bool) -> dynamic_range.Rows:
    """The elements of `x` as a matrix of eight bits, each row on a grid of its own."""
    flat = site.builder.emit(relax.op.reshape(x, shape))
    return dynamic_range.rows(site.builder, flat, symmetric=symmetric)


def single_scale(weight: TFLiteOperand) -> float:
    """The scale of weights that have one and no zero point. NotConverted for any others."""
    _weight_scales(weight)
    return weight.scale


def exchanged(x: Any, rank: int) -> Any:
    """A tensor with its last two axes exchanged."""
    *outer, row, column = range(rank)
    return relax.op.permute_dims(x, [*outer, column, row])


def _weighted(
    site: TFLiteOperator,
    weight: TFLiteOperand,
    layer: dynamic_range.SumOfProducts,
    made: dynamic_range.Rows,
    *,
    bias: int = 2,
) -> Any:
    given = site.optional_tensor(bias)
    added = np.zeros(layer.shape[-1], np.float32) if given is None else given.constant.reshape(-1)
    constants = weight.constant, added, np.asarray(_weight_scales(weight), np.float32)
    return dynamic_range.weighted(site.builder, layer, made, *map(relax.const, constants))


def _weight_scales(weight: TFLiteOperand) -> tuple[float, ...]:
    grid = weight.quantization
    if grid is None or any(grid.zero_point):
        raise NotConverted(f"weights `{weight.name}` have a zero point")
    return grid.scale
