"""Element types that no tensor of ours can have."""

from collections.abc import Mapping
from pathlib import Path

from onnx import TensorProto, helper

from target_arch.diagnostics import listed
from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.onnx.graph import TensorKind


def check_element_types(path: Path, types: Mapping[str, TensorKind]) -> None:
    """DiagnosticError that names every type of a tensor that is not supported, each with its first tensor."""
    found: dict[str, str] = {}
    for name, kind in types.items():
        if kind.elements and str(helper.tensor_dtype_to_np_dtype(kind.elements)) not in DTYPE_BYTES:
            found.setdefault(TensorProto.DataType.Name(kind.elements).lower(), name)
    if found:
        said = ", ".join(f"`{kind}` (tensor `{name}`)" for kind, name in found.items())
        message = f"elements of a type that is not supported: {said}"
        raise model_error("unsupported-type", path, message, f"known are {listed(DTYPE_BYTES)}")
