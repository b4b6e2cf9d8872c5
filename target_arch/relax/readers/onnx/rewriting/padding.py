"""Padding in numbers: `auto_pad`, which follows from shapes, becomes `pads`."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx.helper

from target_arch.plan.operators.window import Window
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, OnnxGraph, TensorKind, attributes_of

_WEIGHTS: Mapping[str, int | None] = {
    "AveragePool": None,
    "Conv": 1,
    "ConvInteger": 1,
    "ConvTranspose": 1,
    "LpPool": None,
    "MaxPool": None,
    "QLinearConv": 3,
}
"""Operators with windows, and which operand has the weights."""
_LOWER, _UPPER = "SAME_LOWER", "SAME_UPPER"


def state_padding(graph: OnnxGraph) -> None:
    """Give every operator with windows its padding in numbers; its image's shape has to be known."""
    types = graph.types()
    for node in graph.model.graph.node:
        if node.domain in ONNX_DOMAINS and node.op_type in _WEIGHTS:
            _state(node, types)


def _state(node: Any, types: Mapping[str, TensorKind]) -> None:
    given = attributes_of(node)
    automatic = given.get("auto_pad", b"").decode(errors="replace")
    if automatic in ("NOTSET", "VALID"):
        _set(node, "auto_pad")
        if automatic == "VALID":
            _set(node, "pads")
    total = _total(node, given, types) if automatic in (_LOWER, _UPPER) else None
    if total is not None:
        small, large = [each // 2 for each in total], [each - each // 2 for each in total]
        _set(node, "auto_pad")
        _set(node, "pads", [*small, *large] if automatic == _UPPER else [*large, *small])


def _total(node: Any, given: Mapping[str, Any], types: Mapping[str, TensorKind]) -> list[int] | None:
    """The elements to pad in each dimension; None where they are not known, or ONNX and onnxruntime do not
    agree: pools whose windows are spread, transposed convolutions whose windows are smaller than strides.
    """
    image, kernel, weights = _extents(node.input[0], types), given.get("kernel_shape"), _WEIGHTS[node.op_type]
    if kernel is None and weights is not None:
        kernel = _extents(node.input[weights], types)
    if image is None or kernel is None or "output_shape" in given:
        return None
    strides, dilations = (given.get(name, [1] * len(image)) for name in ("strides", "dilations"))
    extra = given.get("output_padding", [0] * len(image))
    if node.op_type == "ConvTranspose":
        reach = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        rows = zip(reach, extra, strides, strict=True)
        total = [size + more - stride for size, more, stride in rows]
        return None if min(total, default=0) < 0 else total
    windows = [Window.same(*axis) for axis in zip(image, kernel, strides, dilations, strict=True)]
    total = [window.before + window.after for window in windows]
    return None if node.op_type.endswith("Pool") and max(dilations, default=1) > 1 else total


def _extents(name: str, types: Mapping[str, TensorKind]) -> Sequence[int] | None:
    """The sizes of a tensor's spatial dimensions, None where they are not known."""
    kind = types.get(name)
    return None if kind is None or kind.shape is None else kind.shape[2:]


def _set(node: Any, name: str, value: Any = None) -> None:
    """Give a node another value of an attribute, or none."""
    kept = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if value is not None:
        node.attribute.append(onnx.helper.make_attribute(name, value))
