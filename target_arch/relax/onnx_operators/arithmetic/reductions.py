"""Reductions that TVM's frontend lacks: of truth values, of infinities, and of no elements at all."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax, te, tirx

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, counted

_LEAST, _MOST = "least", "most"
_OF_NOTHING: Mapping[str, float | str] = {
    "ReduceL1": 0.0,
    "ReduceL2": 0.0,
    "ReduceLogSum": -np.inf,
    "ReduceLogSumExp": -np.inf,
    "ReduceMax": _LEAST,
    "ReduceMin": _MOST,
    "ReduceProd": 1.0,
    "ReduceSum": 0.0,
    "ReduceSumSquare": 0.0,
}
"""The result where there is nothing to reduce."""

_OF_ONE: Mapping[str, Callable[[Any], Any]] = {
    "ReduceL1": relax.op.abs,
    "ReduceL2": relax.op.abs,
    "ReduceLogSum": relax.op.log,
    "ReduceSumSquare": lambda x: relax.op.multiply(x, x),
}
"""The result of one element, where it is another one: with `noop_with_empty_axes` nothing else is reduced."""


def _reduce(node: Node) -> Any:
    shape = node.shape(0)
    axes = _axes(node, len(shape))
    kept = bool(node.integer("keepdims", 1))
    if 0 in shape:
        return _filled(node, axes, kept=kept)
    if not axes:
        return _OF_ONE.get(node.operator, lambda x: x)(node.operand(0))
    if node.dtype(0) != "bool":
        return _extremum(node, node.operand(0), axes, kept=kept)
    wide = node.cast(node.operand(0), "int8")
    return relax.op.astype(node.emit(_extremum(node, wide, axes, kept=kept)), "bool")


def _is_special(node: Node) -> bool:
    if 0 in node.shape(0) or node.operator in ("ReduceMax", "ReduceMin"):
        return True
    return node.operator in _OF_ONE and not _axes(node, len(node.shape(0)))


def _extremum(node: Node, value: Any, axes: Sequence[int], *, kept: bool) -> Any:
    """From infinity on: TVM begins with the largest number, and the maximum of minus infinities is wrong."""
    shape, dtype, largest = shape_of(value), dtype_of(value), node.operator == "ReduceMax"

    def better(one: Any, other: Any) -> Any:
        return tirx.max(one, other) if largest else tirx.min(one, other)

    reducer = te.comm_reducer(
        better,
        lambda kind: tirx.const(_extreme(dtype, least=largest), kind),
        name="extremum",
    )

    def definition(x: Any) -> Any:
        reduced = {axis: te.reduce_axis((0, shape[axis]), name=f"k{axis}") for axis in axes}

        def element(*at: Any) -> Any:
            around = iter(at)
            places = []
            for axis in range(len(shape)):
                own = next(around) if kept or axis not in reduced else None
                places.append(reduced.get(axis, own))
            return reducer(x(*places), axis=list(reduced.values()))

        return te.compute(_reduced(shape, axes, kept=kept), element)

    return node.computed(definition, value)


def _reduced(shape: Sequence[int], axes: Sequence[int], *, kept: bool) -> tuple[int, ...]:
    return tuple(1 if n in axes else extent for n, extent in enumerate(shape) if kept or n not in axes)


def _axes(node: Node, rank: int) -> tuple[int, ...]:
    given = node.integers(1, "axes")
    if given:
        return tuple(counted(axis, rank) for axis in given)
    return () if node.integer("noop_with_empty_axes", 0) else tuple(range(rank))


def _filled(node: Node, axes: Sequence[int], *, kept: bool) -> Any:
    shape, dtype = node.shape(0), node.dtype(0)
    new = _reduced(shape, axes, kept=kept)
    value = _OF_NOTHING[node.operator]
    if isinstance(value, str):
        value = _extreme(dtype, least=value == _LEAST)
    if 0 in new:
        raise NotConverted("its result has no elements")
    return relax.const(np.full(new, value, dtype), dtype)


def _extreme(dtype: str, *, least: bool) -> Any:
    if dtype == "bool":
        return not least
    if dtype.startswith("float"):
        return -np.inf if least else np.inf
    kind = np.iinfo(dtype)
    return int(kind.min if least else kind.max)


CONVERTERS: Mapping[str, Converter] = {
    name: converter(_reduce, "axes keepdims noop_with_empty_axes", only=_is_special) for name in _OF_NOTHING
}
