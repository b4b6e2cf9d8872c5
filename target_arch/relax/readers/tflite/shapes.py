"""Open dimensions of a TFLite model get the extents that were asked for.

A file has a shape for every tensor, even where its signature leaves dimensions open. LiteRT computes the
shapes that follow from others of the inputs.
"""

import struct
from pathlib import Path
from typing import Any

import tflite

from target_arch.plan.inputs.shapes import Extent, InputShapes, ModelInput, Shape
from target_arch.relax.ir.errors import model_error
from target_arch.relax.quiet import quiet
from target_arch.relax.readers.tflite_operators.walk.graphs import file_shape


def with_input_shapes(path: Path, data: bytes, wanted: InputShapes) -> bytes:
    """The file with the shapes that were asked for in all of its tensors.

    A batch dimension that the model leaves open is as in the file (1), as in TFLite's own interpreter.
    Raises DiagnosticError where an input stays open, and where LiteRT is missing or cannot give the model
    other shapes.
    """
    graph = tflite.Model.GetRootAsModel(data, 0).Subgraphs(0)
    tensors = [graph.Tensors(graph.Inputs(index)) for index in range(graph.InputsLength())]
    declared = [ModelInput(name=_name(tensor), extents=_extents(tensor, wanted)) for tensor in tensors]
    fixed = wanted.fixed(str(path), declared)
    shapes = [fixed[one.name] for one in declared]
    if all(shape == file_shape(tensor) for shape, tensor in zip(shapes, tensors, strict=True)):
        return data
    return _rewritten(path, data, _followed(path, data, shapes))


def _extents(tensor: Any, wanted: InputShapes) -> tuple[Extent, ...]:
    shape = file_shape(tensor)
    signature = [tensor.ShapeSignature(number) for number in range(tensor.ShapeSignatureLength())] or shape
    is_open = [signature[number] < 0 or extent < 0 for number, extent in enumerate(shape)]
    if is_open and shape[0] > 0 and wanted.batch is None and _name(tensor) not in wanted.shapes:
        is_open[0] = False
    return tuple(None if is_open[number] else extent for number, extent in enumerate(shape))


def _followed(path: Path, data: bytes, shapes: list[Shape]) -> list[Shape]:
    """The shapes of all tensors of the first subgraph as LiteRT computes them from those of the inputs."""
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError:
        message = "other shapes for the inputs of a TFLite model need LiteRT, which is not installed"
        raise model_error("missing-extra", path, message, "install `target-arch[verify]`") from None
    try:
        with quiet():
            interpreter = Interpreter(
                model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
            )
            for details, shape in zip(interpreter.get_input_details(), shapes, strict=True):
                interpreter.resize_tensor_input(details["index"], shape)
            interpreter.allocate_tensors()
            found = {
                details["index"]: tuple(int(extent) for extent in details["shape"])
                for details in interpreter.get_tensor_details()
            }
    except (ValueError, RuntimeError):
        given = ", ".join("x".join(map(str, shape)) for shape in shapes)
        message = f"the model cannot take inputs of {given}: an operator inside has a fixed shape"
        raise model_error("input-shape", path, message, "export it with these shapes") from None
    return [found[index] for index in sorted(found)]


def _rewritten(path: Path, data: bytes, shapes: list[Shape]) -> bytes:
    """The file with other extents in the vectors of its shapes, which stay where they are."""
    changed = bytearray(data)
    graph = tflite.Model.GetRootAsModel(data, 0).Subgraphs(0)
    written: dict[int, Shape] = {}
    for index, shape in zip(range(graph.TensorsLength()), shapes, strict=False):
        tensor = graph.Tensors(index)
        for field in (_SHAPE, _SIGNATURE):
            offset = tensor._tab.Offset(field)
            if not offset:
                continue
            start = tensor._tab.Vector(offset)
            if tensor._tab.VectorLen(offset) != len(shape) or written.setdefault(start, shape) != shape:
                message = f"tensor `{_name(tensor)}` cannot have the shape that follows"
                raise model_error("input-shape", path, message, "export the model with these shapes")
            struct.pack_into(f"<{len(shape)}i", changed, start, *shape)
    return bytes(changed)


_SHAPE, _SIGNATURE = 4, 18
"""Where the table of a tensor in the schema has them."""


def _name(tensor: Any) -> str:
    return str((tensor.Name() or b"").decode("utf-8", errors="replace"))
