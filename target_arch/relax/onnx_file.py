"""ONNX files."""

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from tvm.relax.frontend.onnx import from_onnx

from target_arch.relax.errors import model_error
from target_arch.relax.frontend import imported, translated
from target_arch.relax.source import Imported


def read_onnx(path: Path, data: bytes) -> Imported:
    """The graph of an ONNX model. Raises DiagnosticError, see `importer.py`."""
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError:
        raise model_error(
            "model-damaged", path, "the file is cut off or damaged", "export it again"
        ) from None
    names = {
        onnx.numpy_helper.to_array(value).tobytes(): value.name for value in reversed(model.graph.initializer)
    }
    module = translated(path, lambda: from_onnx(model, keep_params_in_input=False))
    return imported(module, "onnx", tuple(value.name for value in model.graph.output), names)
