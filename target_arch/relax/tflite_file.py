"""TFLite files.

The flatbuffer is verified first (`flatbuffer.py`): the generated readers trust every offset.
"""

from pathlib import Path
from typing import Any

import tflite
from tvm.relax.frontend.tflite import from_tflite

from target_arch.relax.frontend import imported, translated
from target_arch.relax.source import Imported


def read_tflite(path: Path, data: bytes) -> Imported:
    """The first subgraph of a TFLite model. Raises DiagnosticError, see `importer.py`."""
    model = tflite.Model.GetRootAsModel(data, 0)
    graph = model.Subgraphs(0)
    module = translated(path, lambda: from_tflite(model))
    outputs = tuple(_name(graph.Tensors(int(index))) for index in graph.OutputsAsNumpy())
    return imported(module, "tflite", outputs, _constant_names(model, graph))


def _constant_names(model: Any, graph: Any) -> dict[bytes, str]:
    """Names of the constant tensors by their bytes; the first of equal ones."""
    names: dict[bytes, str] = {}
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        buffer = model.Buffers(tensor.Buffer())
        if buffer.DataLength():
            names.setdefault(buffer.DataAsNumpy().tobytes(), _name(tensor))
    return names


def _name(tensor: Any) -> str:
    """The author's name; converters join the names of fused operators with semicolons, the last is the
    operator's.
    """
    text = (tensor.Name() or b"").decode("utf-8", errors="replace")
    return text.split(";")[-1]
