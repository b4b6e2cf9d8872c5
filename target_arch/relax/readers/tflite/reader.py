"""TFLite files.

The flatbuffer is verified first (`flatbuffer.py`), then facts outside the schema: indices, sizes of
constants, shapes.
"""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import tflite
from attrs import evolve

from target_arch.backend.operators import Foreign
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.content import content_of
from target_arch.relax.ir.errors import model_error
from target_arch.relax.ir.graph import FileFacts
from target_arch.relax.readers.flatbuffer import TFLITE_IDENTIFIER, TFLITE_MODEL, Damaged, verify
from target_arch.relax.readers.frontend import imported, translated
from target_arch.relax.readers.source import Imported
from target_arch.relax.readers.subprograms import tflite_subprogram
from target_arch.relax.readers.tflite.counted import counted_outputs
from target_arch.relax.readers.tflite.cut import cut_tflite
from target_arch.relax.readers.tflite.shapes import with_input_shapes
from target_arch.relax.readers.tflite_operators.walk.codes import operator_name
from target_arch.relax.readers.tflite_operators.walk.driver import Translation, translate
from target_arch.relax.readers.tflite_operators.walk.graphs import own_name
from target_arch.relax.readers.unsupported import unsupported

_AGAIN = "copy or export the model again"
_HALF_BYTES = {
    tflite.TensorType.FLOAT32: 8,
    tflite.TensorType.FLOAT16: 4,
    tflite.TensorType.INT4: 1,
    tflite.TensorType.INT8: 2,
    tflite.TensorType.UINT8: 2,
    tflite.TensorType.BOOL: 2,
    tflite.TensorType.INT16: 4,
    tflite.TensorType.INT32: 8,
    tflite.TensorType.INT64: 16,
}


def read_tflite(path: Path, data: bytes, shapes: InputShapes, foreign: Foreign) -> Imported:
    """The first subgraph of a TFLite model, with open dimensions as in `shapes` (see `shapes.py`).

    Raises DiagnosticError, see `importer.py`.
    """
    _verified(path, data)
    part = cut_tflite(path, data, shapes.cut)
    model = tflite.Model.GetRootAsModel(with_input_shapes(path, part, shapes), 0)
    graph = model.Subgraphs(0)
    _refuse_dynamic_shapes(path, graph)
    found: Translation = translated(path, lambda: translate(model, _layer, tflite_subprogram, foreign))
    if found.refused:
        raise unsupported(path, found.refused)
    outputs = [_name(graph.Tensors(graph.Outputs(index))) for index in range(graph.OutputsLength())]
    counts = {each.count: outputs[each.output] for each in reversed(found.bounded)}
    outputs += [f"{counts[number]}_count" for number in sorted(counts)]
    outputs += [f"{pair.input}_next" for pair in found.states]
    names = _constant_names(model, graph)
    file = FileFacts(authors=found.authors, quantizations=found.quantizations, tensors=found.in_file)
    made = imported(path, found.module, Arithmetic.TFLITE, tuple(outputs), names, file)
    return evolve(made, states=found.states, bounded=(*found.bounded, *counted_outputs(model, graph)))


def _verified(path: Path, data: bytes) -> Any:
    """The model in a file whose offsets and indices were followed once. Raises DiagnosticError."""
    if data[4:8] != TFLITE_IDENTIFIER:
        raise model_error("model-type", path, "this is not a TFLite model (no `TFL3` at offset 4)", _AGAIN)
    try:
        verify(data, TFLITE_MODEL)
        model = tflite.Model.GetRootAsModel(data, 0)
        _check_indices(model)
    except Damaged as error:
        raise model_error("model-damaged", path, f"the file is cut off or damaged: {error}", _AGAIN) from None
    return model


def named_operators(path: Path, data: bytes, wanted: InputShapes) -> Iterator[tuple[str, str]]:
    """The operators of the first subgraph, each with the name of the tensor it writes."""
    _verified(path, data)
    model = tflite.Model.GetRootAsModel(cut_tflite(path, data, wanted.cut), 0)
    graph = model.Subgraphs(0)
    for operator in _operators(graph):
        name = operator_name(model.OperatorCodes(operator.OpcodeIndex()))
        yield name, _name(graph.Tensors(operator.Outputs(0))) if operator.OutputsLength() else ""


def _check_indices(model: Any) -> None:
    """Every index of the model names something, every constant has the bytes its shape asks for."""
    if model.SubgraphsLength() == 0:
        raise Damaged("the model has no subgraph")
    if model.Subgraphs(0).OutputsLength() == 0:
        raise Damaged("the model has no output")
    for number in range(model.SubgraphsLength()):
        graph = model.Subgraphs(number)
        tensors = graph.TensorsLength()
        for index in range(tensors):
            _check_tensor(model, graph.Tensors(index))
        for operator in _operators(graph):
            if operator.OpcodeIndex() >= model.OperatorCodesLength():
                raise Damaged("an operator has a code that the model does not declare")
            reads = [operator.Inputs(index) for index in range(operator.InputsLength())]
            writes = [operator.Outputs(index) for index in range(operator.OutputsLength())]
            _check_range(reads, -1, tensors)
            _check_range(writes, 0, tensors)
        _check_range([graph.Inputs(index) for index in range(graph.InputsLength())], 0, tensors)
        _check_range([graph.Outputs(index) for index in range(graph.OutputsLength())], 0, tensors)


def _check_range(indices: list[int], first: int, count: int) -> None:
    if any(not first <= index < count for index in indices):
        raise Damaged("a tensor is named that the model does not have")


def _check_tensor(model: Any, tensor: Any) -> None:
    if tensor.ShapeSignatureLength() not in (0, tensor.ShapeLength()):
        raise Damaged(f"the signature of tensor `{_name(tensor)}` has other dimensions than its shape")
    if tensor.Buffer() >= model.BuffersLength():
        raise Damaged(f"tensor `{_name(tensor)}` has a buffer that the model does not have")
    length, size = model.Buffers(tensor.Buffer()).DataLength(), _HALF_BYTES.get(tensor.Type())
    if length == 0 or size is None or tensor.Sparsity() is not None:
        return
    elements = prod(tensor.Shape(index) for index in range(tensor.ShapeLength()))
    needed = (elements * size + 1) // 2
    if needed != length:
        raise Damaged(f"constant `{_name(tensor)}` has {length} B, its shape asks for {needed} B")


def _refuse_dynamic_shapes(path: Path, graph: Any) -> None:
    """Dimensions of an extent below 0."""
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        for number in range(tensor.ShapeLength()):
            if tensor.Shape(number) < 0:
                message = f"dimension {number} of tensor `{_name(tensor)}` is dynamic"
                raise model_error("dynamic-shape", path, message, "export the model with fixed shapes")


def _operators(graph: Any) -> Iterator[Any]:
    for index in range(graph.OperatorsLength()):
        yield graph.Operators(index)


def _constant_names(model: Any, graph: Any) -> dict[bytes, str]:
    """Names of the constant tensors by their bytes; the first of equal ones."""
    names: dict[bytes, str] = {}
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        buffer = model.Buffers(tensor.Buffer())
        if buffer.DataLength():
            names.setdefault(content_of(buffer.DataAsNumpy()), _name(tensor))
    return names


def _name(tensor: Any) -> str:
    return own_name((tensor.Name() or b"").decode("utf-8", errors="replace"))


def _layer(name: str) -> str:
    """The layer whose operator computes the tensor of that name, where it tells one.

    Converters join the names of everything they fused with semicolons, and sometimes add those of other
    layers with equal weights, but the addition of the bias is a layer's own.
    """
    parts = name.split(";")
    for ending in ("/BiasAdd", "/depthwise", "/Conv2D", "/MatMul"):
        fitting = [part for part in parts if part.endswith(ending)]
        if fitting:
            return fitting[0].removesuffix(ending)
    return parts[0]
