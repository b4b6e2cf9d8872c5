"""Shapes of all tensors, inferred by ONNX."""

import re
from math import prod
from pathlib import Path
from typing import Any

import onnx

from target_arch.plan.inputs.shapes import InputShapes
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, OnnxGraph, array_of
from target_arch.relax.readers.onnx.rewriting.inference import inferred

MOST_ELEMENTS = 2**31 - 1
MOST_COUNTED = 2**24


def infer_shapes(path: Path, graph: OnnxGraph, wanted: InputShapes) -> None:
    """Declare the type and shape of every tensor for which they follow, values of shapes included.

    Raises DiagnosticError where shapes contradict each other, as extents that were asked for may do, and
    where a range is too long.
    """
    _require_ranges(path, graph)
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
    """DiagnosticError for inputs of more elements than an array has, of which ONNX would make one."""
    for each in model.graph.input:
        extents = [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        count = prod(extent for extent in extents if extent > 0)
        if count > MOST_ELEMENTS:
            message = f"input `{each.name}` has {count:,} elements, more than {MOST_ELEMENTS:,}"
            raise model_error("unsupported-model", path, message)


def _require_ranges(path: Path, graph: OnnxGraph) -> None:
    """DiagnosticError for ranges with more numbers than ONNX is let count through, which takes it up to 40
    bytes for each.
    """
    constants = graph.constants()
    for node in graph.model.graph.node:
        if (
            node.op_type != "Range"
            or node.domain not in ONNX_DOMAINS
            or any(name not in constants for name in node.input)
        ):
            continue
        start, limit, step = (array_of(constants[name]).reshape(-1) for name in node.input)
        if min(map(len, (start, limit, step))) and step[0] and (limit[0] - start[0]) / step[0] > MOST_COUNTED:
            message = f"a `Range` has more than {MOST_COUNTED:,} numbers"
            raise model_error("unsupported-model", path, message)


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
