"""Open dimensions of a model's inputs get the extents that were asked for, and inputs their values."""

from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper

from target_arch.plan.inputs.shapes import Extent, InputShapes, ModelInput
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.onnx.rewriting.graph import (
    OnnxGraph,
    TensorKind,
    replace,
    subgraphs,
    tensor_of,
)


def fix_inputs(path: Path, graph: OnnxGraph, wanted: InputShapes) -> None:
    """Every input gets a shape of numbers, or becomes a constant where it has a value; shapes that the file
    declares elsewhere, which may name open dimensions, are forgotten. Raises DiagnosticError where an input
    stays open, is no tensor, or cannot have its value.
    """
    own = {value.name: value for value in graph.model.graph.input if value.name in graph.inputs}
    for name, value in own.items():
        if not value.type.HasField("tensor_type"):
            kind = (value.type.WhichOneof("value") or "value").removesuffix("_type")
            message = f"input `{name}` is a {kind}, not a tensor"
            raise model_error("unsupported-type", path, message, "leave it out of the model")
    declared = [ModelInput(name=name, extents=_extents(value)) for name, value in own.items()]
    for name, shape in wanted.fixed(str(path), declared).items():
        kind = own[name].type.tensor_type
        kind.shape.Clear()
        for extent in shape:
            kind.shape.dim.add().dim_value = extent
    for name, number in sorted(wanted.values.items()):
        _fix_value(path, graph, own[name], number)
    _forget_shapes(graph.model.graph)


def _forget_shapes(graph: Any) -> None:
    """Of all tensors but the inputs, those of branches and loops included."""
    replace(graph.value_info, ())
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for inner in (each for node in graph.node for each in subgraphs(node)):
        _forget_shapes(inner)


def _fix_value(path: Path, graph: OnnxGraph, value: Any, number: float) -> None:
    """The input as a constant, all of whose elements are the number."""
    kind = TensorKind.of(value)
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    fits = dtype.kind == "f" or (number == int(number) and _holds(dtype, int(number)))
    if kind is None or kind.shape is None or not fits:
        message = f"input `{value.name}` is {kind}, which cannot be {number:g}"
        raise model_error("input-value", path, message)
    graph.fix(tensor_of(np.full(kind.shape, number, dtype), value.name))


def _holds(dtype: np.dtype[Any], number: int) -> bool:
    if dtype.kind == "b":
        return number in (0, 1)
    return dtype.kind in "iu" and bool(np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)


_NAMELESS = ("", "?", "-1")
"""Names that exporters give to every dimension of which they know nothing."""


def _extents(value: Any) -> tuple[Extent, ...] | None:
    """The declared extents; one of 0 or less is open, too: exporters write it for one they do not know."""
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return tuple(map(_extent, kind.shape.dim))


def _extent(declared: Any) -> Extent:
    if declared.dim_value > 0:
        return int(declared.dim_value)
    return None if declared.dim_param in _NAMELESS else str(declared.dim_param)
