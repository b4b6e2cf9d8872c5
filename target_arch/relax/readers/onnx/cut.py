"""ONNX models from tensors to tensors."""

from pathlib import Path
from typing import Any

import onnx

from target_arch.diagnostics import refusal
from target_arch.plan.inputs.cut import ModelCut, OperatorTensors, TensorGraph
from target_arch.relax.readers.onnx.rewriting.graph import reads, replace
from target_arch.relax.readers.onnx.rewriting.inference import inferred


def cut_onnx(path: Path, model: Any, cut: ModelCut) -> None:
    """Leave of a model what a cut names. Names are those of its main graph.

    Raises DiagnosticError, as `TensorGraph.part` does, and where nothing is known of a tensor that becomes an
    input.
    """
    graph = model.graph
    constants = {value.name for value in graph.initializer}
    part = TensorGraph(
        inputs=tuple(value.name for value in graph.input if value.name not in constants),
        outputs=tuple(value.name for value in graph.output),
        steps=[
            OperatorTensors(reads=tuple(reads(node)), writes=tuple(filter(None, node.output)))
            for node in graph.node
        ],
    ).part(str(path), cut)
    values = _values(model, (*part.inputs, *part.outputs))
    for name in part.inputs:
        if name not in values or not values[name].type.HasField("tensor_type"):
            text = f"`{name}` cannot be an input: no tensor type of it follows from the file"
            raise refusal("wrong-cut", path, text, "declare it among the file's `value_info`")
    replace(graph.input, [value for value in graph.input if value.name in constants])
    graph.input.extend(values[name] for name in part.inputs)
    replace(graph.output, [values.get(name, onnx.ValueInfoProto(name=name)) for name in part.outputs])
    replace(graph.node, [graph.node[number] for number in part.steps])
    read = {name for node in graph.node for name in reads(node)} | {*part.outputs}
    replace(graph.initializer, [value for value in graph.initializer if value.name in read])
    replace(graph.input, [value for value in graph.input if value.name in {*part.inputs, *read}])
    _forget(graph.value_info, {*part.inputs, *part.outputs})


def _forget(declared: Any, names: set[str]) -> None:
    """Leave out the values that inputs and outputs declare now."""
    replace(declared, [value for value in declared if value.name not in names])


def _values(model: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The declarations of tensors, as the file has them, else as ONNX infers them."""
    graph = model.graph
    declared = {value.name: value for value in (*graph.value_info, *graph.output, *graph.input)}
    if all(_is_known(declared.get(name)) for name in names):
        return declared
    try:
        graph = inferred(model).graph
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return declared
    every = (*graph.value_info, *graph.output, *graph.input)
    return declared | {value.name: value for value in every if _is_known(value)}


def _is_known(value: Any) -> bool:
    return value is not None and value.type.HasField("tensor_type") and value.type.tensor_type.elem_type != 0
