"""Norms along dimensions, with all of their outputs."""

from collections.abc import Mapping
from typing import Any

from tvm import relax
from tvm.ir import GenericConst

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted


def _layer_normalization(node: Node) -> Any:
    """With mean and inverse deviation where they are asked for. Everything is computed in float32."""
    shape = node.shape(0)
    first = node.axis(-1, rank=len(shape))
    axes = list(range(first, len(shape)))
    dtype, x = node.dtype(0), node.cast(node.operand(0), "float32")
    epsilon = relax.const(float(node.attributes.get("epsilon", 1e-5)), "float32")
    mean = node.emit(relax.op.mean(x, axes, keepdims=True))
    apart = node.emit(relax.op.subtract(x, mean))
    variance = node.emit(relax.op.mean(node.emit(relax.op.multiply(apart, apart)), axes, keepdims=True))
    inverse = node.emit(relax.op.rsqrt(node.emit(relax.op.add(variance, epsilon))))
    made = node.cast(node.emit(relax.op.multiply(apart, inverse)), dtype)
    made = node.emit(relax.op.multiply(made, node.operand(1)))
    if node.given(2) is not None:
        made = node.emit(relax.op.add(made, node.operand(2)))
    return (made, mean, inverse)[: node.outputs] if node.outputs > 1 else made


def _instance(node: Node) -> Any:
    """Each channel is a group."""
    x, scale, offset = (node.operand(index) for index in range(3))
    axes, epsilon = list(range(2, len(node.shape(0)))), float(node.attributes.get("epsilon", 1e-5))
    return relax.op.nn.group_norm(x, scale, offset, node.shape(0)[1], 1, axes, epsilon)


def _is_known_instance(node: Node) -> bool:
    """Whether scale and offset are constants, and elements floats: TVM's own takes the others."""
    known = all(isinstance(node.given(index), GenericConst) for index in (1, 2))
    return known and node.dtype(0) == "float32" and len(node.shape(0)) > 2


def _trained_batch(node: Node) -> Any:
    """In training: by mean and variance of the batch, and with the running ones that they lead to."""
    x, shape = node.operand(0), node.shape(0)
    axes = [axis for axis in range(len(shape)) if axis != 1]
    epsilon = relax.const(float(node.attributes.get("epsilon", 1e-5)), "float32")
    momentum = float(node.attributes.get("momentum", 0.9))
    mean = node.emit(relax.op.mean(x, axes, keepdims=True))
    apart = node.emit(relax.op.subtract(x, mean))
    variance = node.emit(relax.op.mean(node.emit(relax.op.multiply(apart, apart)), axes, keepdims=True))

    def channels(value: Any) -> Any:
        return node.reshaped(value, (1, shape[1], *([1] * (len(shape) - 2))))

    def running(before: Any, now: Any) -> Any:
        old = node.emit(relax.op.multiply(before, relax.const(momentum, "float32")))
        flat = node.reshaped(now, (shape[1],))
        new = node.emit(relax.op.multiply(flat, relax.const(1.0 - momentum, "float32")))
        return node.emit(relax.op.add(old, new))

    inverse = node.emit(relax.op.rsqrt(node.emit(relax.op.add(variance, epsilon))))
    made = node.emit(relax.op.multiply(apart, inverse))
    made = node.emit(relax.op.multiply(made, channels(node.operand(1))))
    made = node.emit(relax.op.add(made, channels(node.operand(2))))
    found = (made, running(node.operand(3), mean), running(node.operand(4), variance))
    return found[: node.outputs] if node.outputs > 1 else made


def _lp_normalization(node: Node) -> Any:
    """Nothing is divided where the norm is zero."""
    x, p = node.operand(0), node.integer("p", 2)
    axis = node.axis(-1, rank=len(node.shape(0)))
    if p not in (1, 2):
        raise NotConverted(f"its attribute `p` is {p}")
    if p == 1:
        norm = node.emit(relax.op.sum(node.emit(relax.op.abs(x)), [axis], keepdims=True))
    else:
        squares = node.emit(relax.op.sum(node.emit(relax.op.multiply(x, x)), [axis], keepdims=True))
        norm = node.emit(relax.op.sqrt(squares))
    none = relax.const(0, node.dtype(0))
    nothing = node.emit(relax.op.equal(norm, none))
    safe = node.emit(relax.op.where(nothing, relax.const(1, node.dtype(0)), norm))
    return relax.op.where(nothing, none, node.emit(relax.op.divide(x, safe)))


CONVERTERS: Mapping[str, Converter] = {
    "BatchNormalization": converter(
        _trained_batch,
        "epsilon momentum training_mode",
        only=lambda node: bool(node.integer("training_mode", 0)),
    ),
    "InstanceNormalization": converter(_instance, "epsilon", only=_is_known_instance),
    "LayerNormalization": converter(_layer_normalization, "axis epsilon stash_type"),
    "LpNormalization": converter(_lp_normalization, "axis p"),
}
