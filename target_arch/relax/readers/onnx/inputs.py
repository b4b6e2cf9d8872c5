"""Open dimensions of a model's inputs get the extents that were asked for."""

from pathlib import Path
from typing import Any

from target_arch.plan.inputs.shapes import Extent, InputShapes, ModelInput
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.onnx.graph import OnnxGraph, replace


def fix_inputs(path: Path, graph: OnnxGraph, wanted: InputShapes) -> None:
    """Every input gets a shape of numbers; shapes that the file declares elsewhere, which may name open
    dimensions, are forgotten. Raises DiagnosticError where an input stays open, or is no tensor.
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
    replace(graph.model.graph.value_info, ())
    for value in graph.model.graph.output:
        value.type.tensor_type.ClearField("shape")


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
