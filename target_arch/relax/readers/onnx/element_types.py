"""Element types that no tensor of ours can have."""

from collections.abc import Mapping
from pathlib import Path

from onnx import TensorProto

from target_arch.diagnostics import listed
from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.onnx.rewriting.graph import TensorKind

_NAMES = {"float": "float32", "double": "float64"}
"""ONNX's names that are not NumPy's. (`onnx.helper` of older versions calls bfloat16 float32.)"""


def check_element_types(path: Path, types: Mapping[str, TensorKind]) -> None:
    """DiagnosticError that names every type of a tensor that is not supported, each with its first tensor."""
    first: dict[int, str] = {}
    for name, kind in types.items():
        first.setdefault(kind.elements, name)
    found: dict[str, str] = {}
    for elements, name in first.items():
        word = _word(elements)
        if word and _NAMES.get(word, word) not in DTYPE_BYTES:
            found.setdefault(word, name)
    if found:
        said = ", ".join(f"`{kind}` (tensor `{name}`)" for kind, name in found.items())
        message = f"elements of a type that is not supported: {said}"
        raise model_error("unsupported-type", path, message, f"known are {listed(DTYPE_BYTES)}")


def _word(elements: int) -> str:
    """The name of an element type in ONNX; empty where none is declared."""
    if elements not in TensorProto.DataType.values():
        return f"type {elements}"
    return TensorProto.DataType.Name(elements).lower() if elements else ""
