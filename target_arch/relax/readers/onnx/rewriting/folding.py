"""Operators whose operands are constants become constants, and with them the arithmetic on shapes.

The values are those of `onnx.reference`, which travels with the library that reads the file. onnxruntime's
offline optimizer would add a dependency and operators of its own domain; `onnxsim` and `onnxslim` add a
dependency and rewrite operators by patterns of their own.
"""

import warnings
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from target_arch.relax.readers.onnx.rewriting.graph import (
    ONNX_DOMAINS,
    Array,
    OnnxGraph,
    TensorKind,
    array_of,
    opset_of,
    replace,
    tensor_of,
)

_FOLDED = frozenset(
    (
        "Abs", "Add", "And", "ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Clip", "Concat",
        "ConstantOfShape", "CumSum", "Div", "Equal", "Exp", "Expand", "Flatten", "Floor", "Gather",
        "GatherElements", "GatherND", "Greater", "GreaterOrEqual", "Identity", "Less",
        "LessOrEqual", "Log", "Max", "MelWeightMatrix", "Min", "Mod", "Mul", "Neg",
        "NonMaxSuppression", "NonZero", "Not", "OneHot", "Or", "Pad", "Pow", "Range", "Reciprocal",
        "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape",
        "Round", "ScatterElements", "ScatterND", "Shape", "Sign", "Size", "Slice", "Split", "Sqrt",
        "Squeeze", "Sub", "Sum", "Tile", "TopK", "Transpose", "Trilu", "Unique", "Unsqueeze",
        "Where", "Xor",
    )
)  # fmt: skip
"""Cheap, the same on every computer or nearly so, and without state."""

_GROWTH = 2
_SMALL = 1 << 20
"""A constant may be up to so many times as large as those it is made from, or have so many bytes."""

FAILURES = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError, NotImplementedError,
             AssertionError, OverflowError, ZeroDivisionError, MemoryError)  # fmt: skip


def is_cheap(node: Any) -> bool:
    """Whether an operator may be computed now, if its operands are known."""
    return node.domain in ONNX_DOMAINS and (node.op_type in _FOLDED or node.op_type == "Constant")


def fold_constants(graph: OnnxGraph) -> bool:
    """Replace by their values all operators that can be computed now. True where there were any."""
    folding = _Folding(graph)
    kept = [node for node in graph.model.graph.node if not folding.folds(node)]
    if len(kept) == len(graph.model.graph.node):
        return False
    replace(graph.model.graph.node, kept)
    for tensor in folding.made.values():
        graph.add(tensor)
    return True


class _Folding:
    """One pass over the operators in their order."""

    def __init__(self, graph: OnnxGraph) -> None:
        self.made: dict[str, Any] = {}
        self._constants = graph.constants()
        self._types = graph.types()
        self._unclear = graph.unclear
        self._opset = opset_of(graph.model)

    def folds(self, node: Any) -> bool:
        """True where the outputs of the operator are constants from here on."""
        values = self._values(node)
        if values is None:
            return False
        for name, value in zip(node.output, values, strict=False):
            if name:
                self.made[name] = self._constants[name] = tensor_of(value, name)
                self._types[name] = TensorKind(self.made[name].data_type, value.shape)
        return True

    def _values(self, node: Any) -> tuple[Array, ...] | None:
        if node.domain not in ONNX_DOMAINS:
            return None
        if node.op_type == "Constant":
            return self._computed(node, ())
        if node.op_type in ("Shape", "Size", "EyeLike"):
            return self._of_shape(node)
        present = [name for name in node.input if name]
        known = node.op_type in _FOLDED and bool(present)
        if not known or any(name not in self._constants for name in present) or not self._is_small(node):
            return None
        return self._computed(node, tuple(present))

    def _of_shape(self, node: Any) -> tuple[Array, ...] | None:
        """Operators that ask for the shape of their input, not for its values."""
        kind = self._types.get(node.input[0])
        if kind is None or kind.shape is None or node.input[0] in self._unclear:
            return None
        if kind.elements not in TensorProto.DataType.values() or not kind.elements:
            return None  # which is refused later
        if node.op_type == "EyeLike" and prod(kind.shape) > _SMALL:
            return None
        stand_in = np.broadcast_to(
            np.zeros((), onnx.helper.tensor_dtype_to_np_dtype(kind.elements)), kind.shape
        )
        return self._run(node, {node.input[0]: stand_in})

    def _is_small(self, node: Any) -> bool:
        """Whether the results are known to be no larger than the limits allow."""
        operands = sum(self._types[name].bytes for name in node.input if name)
        results = [self._types.get(name) for name in node.output if name]
        if any(kind is None or kind.shape is None for kind in results):
            return node.op_type in ("NonMaxSuppression", "NonZero", "Unique") and operands <= _SMALL
        return sum(kind.bytes for kind in results if kind is not None) <= max(_SMALL, _GROWTH * operands)

    def _computed(self, node: Any, names: tuple[str, ...]) -> tuple[Array, ...] | None:
        try:
            return self._run(node, {name: array_of(self._constants[name]) for name in names})
        except FAILURES:
            return None

    def _run(self, node: Any, feed: dict[str, Array]) -> tuple[Array, ...] | None:
        """The results of an operator as ONNX's reference computes them; None where they are no tensors of the
        inferred types. In a graph of its own: alone it would be of the newest version.
        """
        wanted = [name for name in node.output if name]
        named = [list(map(onnx.helper.make_empty_tensor_value_info, names)) for names in (feed, wanted)]
        graph = onnx.helper.make_graph([node], "folded", *named)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                opsets = dict.fromkeys(ONNX_DOMAINS, self._opset)
                found = ReferenceEvaluator(graph, opsets=opsets).run(None, feed)
        except FAILURES:
            return None
        values = dict(zip(wanted, map(np.asarray, found), strict=True))
        if not all(self._fits(name, value) for name, value in values.items()):
            return None
        return tuple(values.get(name, np.zeros(0)) for name in node.output)

    def _fits(self, name: str, value: Array) -> bool:
        if value.dtype.kind not in "biuf":
            return False
        kind = self._types.get(name)
        if kind is None or not kind.elements:
            return True
        expected = onnx.helper.tensor_dtype_to_np_dtype(kind.elements)
        return value.dtype == expected and kind.shape in (None, value.shape)
