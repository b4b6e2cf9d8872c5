"""Shapes of all tensors, inferred by ONNX."""

import re
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import onnx

from target_arch.plan.inputs.shapes import InputShapes
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, OnnxGraph, array_of
from target_arch.relax.readers.onnx.rewriting.inference import inferred
from target_arch.relax.site import MOST_FILLED

MOST_ELEMENTS = 2**31 - 1
MOST_AXES = 64
MOST_COUNTED = 2**24


def infer_shapes(path: Path, graph: OnnxGraph, wanted: InputShapes) -> None:
    """Declare the type and shape of every tensor for which they follow, values of shapes included.

    Raises DiagnosticError where shapes contradict each other, as extents that were asked for may do, and
    where a range is too long, or a tensor of one value too large.
    """
    _require_counts(path, graph)
    try:
        graph.model = _inferred(graph.model)
    except _FAILURES as error:
        if wanted:
            types = graph.types()
            shapes = (types[name].shape or () for name in graph.inputs if name in types)
            given = ", ".join("x".join(map(str, shape)) for shape in shapes)
            message = f"the model cannot take inputs of {given}: an operator inside wants another shape"
            raise model_error("input-shape", path, message, "give the inputs other extents") from None
        raise model_error("model-damaged", path, _contradiction(error), "export the model again") from None


def require_sizes(path: Path, model: Any) -> None:
    """DiagnosticError for inputs of more elements than an array has; of those with one axis, which ONNX
    counts through as a shape, for more than it is let; and for shapes of more axes than TVM is let.
    """
    counts = {}
    for each in model.graph.input:
        extents = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        counts[each.name] = count = prod(extent for extent in extents if extent > 0)
        most = MOST_COUNTED if len(extents) == 1 else MOST_ELEMENTS
        if count > most:
            message = f"input `{each.name}` has {count:,} elements, more than {most:,}"
            raise model_error("unsupported-model", path, message)
    for node in model.graph.node:
        at = _SHAPES.get(node.op_type)
        if at is None or at >= len(node.input) or node.domain not in ONNX_DOMAINS:
            continue
        name = node.input[at]
        if counts.get(name, 0) > MOST_AXES:
            message = f"input `{name}` is a shape of {counts[name]:,} axes, more than {MOST_AXES}"
            raise model_error("unsupported-model", path, message)


_SHAPES: Mapping[str, int] = {"ConstantOfShape": 0, "Expand": 1, "Reshape": 1, "Tile": 1}
"""By operator, which input has a number for each axis of the result."""


def _require_counts(path: Path, graph: OnnxGraph) -> None:
    """DiagnosticError for ranges with more numbers than ONNX is let count through, which takes it up to 40
    bytes for each, and for tensors of one value of which TVM would make an array without an end.
    """
    constants = graph.constants()
    for node in graph.model.graph.node:
        limit = _LIMITS.get(node.op_type)
        if limit is None or node.domain not in ONNX_DOMAINS:
            continue
        if any(name not in constants for name in node.input):
            continue
        most, count = limit
        if count(*(array_of(constants[name]).reshape(-1) for name in node.input)) > most:
            message = f"a `{node.op_type}` has more than {most:,} numbers"
            raise model_error("unsupported-model", path, message)


def _counted(start: Any, limit: Any, step: Any) -> float:
    if any(not len(each) or each.dtype.kind in _TEXT for each in (start, limit, step)) or not step[0]:
        return 0
    return float((limit[0] - start[0]) / step[0])


def _filled(shape: Any) -> int:
    return prod(extent for extent in shape.tolist() if extent > 0) if shape.dtype.kind in "iu" else 0


_TEXT = "OSU"
"""The kinds of arrays that hold no numbers, which is said when shapes are inferred."""
_LIMITS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "Range": (MOST_COUNTED, _counted),
    "ConstantOfShape": (MOST_FILLED, _filled),
}
"""By operator, how many elements its result may have, and how many its operands say."""


def require_types(path: Path, model: Any) -> None:
    """DiagnosticError where an operator has inputs of types that ONNX does not let it mix, as float16 weights
    beside float32 values.
    """
    try:
        inferred(model, check_type=True)
    except _FAILURES as error:
        mixed = _MIXED.search(str(error))
        if mixed is None:
            return  # what else is wrong is said when shapes are inferred
        operator, place, kind = mixed.groups()
        message = f"input `{place}` of a `{operator}` is {kind}, and its other inputs are not"
        raise model_error("model-damaged", path, message, "cast one of them, and export it again") from None


_MIXED = re.compile(r"op_type:(\w+)[^)]*\): (\w+) has inconsistent type tensor\((\w+)\)")
_FAILURES = (onnx.shape_inference.InferenceError, RuntimeError, ValueError)


_CLASSICAL = "ai.onnx.ml"


def _inferred(model: Any) -> Any:
    """The library takes the values of a matrix for those of a list (a row and a column that are subtracted,
    say), and then finds a contradiction that is none. So values of shapes are left out where they seem to
    contradict each other; constants among them are folded before the next time. Of classical operators it
    does not know all results: what reads these waits until they are replaced.
    """
    if any(node.domain == _CLASSICAL for node in model.graph.node):
        return inferred(model, data_prop=True)
    try:
        return inferred(model, strict_mode=True, data_prop=True)
    except _FAILURES:
        return inferred(model, strict_mode=True)


def _contradiction(error: Exception) -> str:
    """ONNX's report of the innermost fault, without its own file names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[-1] if lines else "a shape does not follow"
    return f"its shapes do not fit together: {said.rsplit('] ', maxsplit=1)[-1].rstrip('.')}"
