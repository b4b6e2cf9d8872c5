"""ONNX's inference of shapes, kept from extents below zero.

Some of ONNX's operators make such an extent of a window that is larger than its image, or of padding that
takes more away than there is, and a `GatherND` with one among its indices crashes inside of the library.
"""

from collections.abc import Iterator
from typing import Any

import onnx
from onnx import helper

from target_arch.relax.readers.onnx.rewriting.graph import graphs_of

_CRASHES = "GatherND"
_ASIDE = "target_arch.aside"
"""The domain of operators that the library is not to look at."""


def inferred(model: Any, **options: bool) -> Any:
    """The model with the types and shapes that ONNX infers with these options.

    Raises what the library raises, and ValueError where a tensor has an extent below zero.
    """
    _look_at_indices(model)
    found = onnx.shape_inference.infer_shapes(model, **options)
    _check(found)
    return found


def forget_negative(model: Any) -> None:
    """Leave out declared extents below zero, which exporters write for those that they do not know."""
    for graph in graphs_of(model.graph):
        for value in (*graph.input, *graph.value_info, *graph.output):
            for extent in value.type.tensor_type.shape.dim:
                if extent.dim_value < 0:
                    extent.ClearField("dim_value")


def _look_at_indices(model: Any) -> None:
    """ValueError where operands of an operator that crashes on it may have an extent below zero.

    The operators are left out at first, and put back as soon as the shape of their indices is known.
    """
    if not any(_crashing(model.graph)):
        return
    trial = type(model)()
    trial.CopyFrom(model)
    trial.opset_import.append(helper.make_opsetid(_ASIDE, 1))
    for node in _crashing(trial.graph):
        node.domain = _ASIDE
    progress = True
    while progress:
        trial = onnx.shape_inference.infer_shapes(trial, data_prop=True)
        _check(trial)
        known = _with_shape(trial.graph)
        ready = [node for node in _crashing(trial.graph) if node.domain == _ASIDE and {*node.input} <= known]
        for node in ready:
            node.domain = ""
        progress = bool(ready)


def _crashing(graph: Any) -> Iterator[Any]:
    for each in graphs_of(graph):
        yield from (node for node in each.node if node.op_type == _CRASHES)


def _with_shape(graph: Any) -> set[str]:
    """The tensors of which every extent is a number, those of graphs inside included."""
    found = set()
    for each in graphs_of(graph):
        found |= {constant.name for constant in each.initializer}
        for value in (*each.input, *each.value_info, *each.output):
            kind = value.type.tensor_type
            if kind.HasField("shape") and all(extent.HasField("dim_value") for extent in kind.shape.dim):
                found.add(value.name)
    return found


def _check(model: Any) -> None:
    for graph in graphs_of(model.graph):
        for value in (*graph.value_info, *graph.output):
            for extent in value.type.tensor_type.shape.dim:
                if extent.dim_value < 0:
                    raise ValueError(f"tensor `{value.name}` has an extent of {extent.dim_value}")
