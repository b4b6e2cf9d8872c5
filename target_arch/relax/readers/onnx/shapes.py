"""Shapes of all tensors, inferred by ONNX."""

from pathlib import Path

import onnx

from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.onnx.graph import OnnxGraph


def infer_shapes(path: Path, graph: OnnxGraph) -> None:
    """Declare the type and shape of every tensor for which they follow, values of shapes included.

    Raises DiagnosticError where shapes contradict each other.
    """
    try:
        graph.model = onnx.shape_inference.infer_shapes(graph.model, strict_mode=True, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise model_error("model-damaged", path, _contradiction(error), "export the model again") from None


def _contradiction(error: Exception) -> str:
    """ONNX's report of the innermost fault, without its own file names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[-1] if lines else "a shape does not follow"
    return f"its shapes do not fit together: {said.rsplit('] ', maxsplit=1)[-1].rstrip('.')}"
