"""ONNX files."""

import re
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx.external_data_helper import load_external_data_for_model, uses_external_data
from tvm import relax, topi
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.frontend import HINT, imported, plural, translated
from target_arch.relax.readers.source import Imported

_AGAIN = "copy or export the model again"


def read_onnx(path: Path, data: bytes) -> Imported:
    """The graph of an ONNX model. Raises DiagnosticError, see `importer.py`."""
    model = _loaded(path, data)
    _refuse_dynamic_shapes(path, model)
    authors: dict[Any, str] = {}
    module = translated(path, lambda: _translate(model, authors))
    stored = [(onnx.numpy_helper.to_array(value).tobytes(), value.name) for value in model.graph.initializer]
    outputs = tuple(value.name for value in model.graph.output)
    return imported(path, module, Arithmetic.ONNX, outputs, dict(reversed(stored)), authors)


def _translate(model: Any, authors: dict[Any, str]) -> Any:
    """The frontend's module; `authors` receives the nodes' names by its expressions, which it keeps for
    itself.
    """
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    importer = _Importer(None, None)
    module = importer.from_onnx(model.graph, opset)
    for node in model.graph.node:
        for output in node.output:
            expr = importer._nodes.get(output)
            if expr is not None:
                authors.setdefault(expr, node.name or output)
    return module


class _Importer(ONNXGraphImporter):  # type: ignore[misc]
    """The frontend, except that a `Pad` with a value is the Relax operator. TVM's own makes a function of it,
    into which no pattern can look.
    """

    def _convert_operator(self, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
        if op_name != "Pad":
            return super()._convert_operator(op_name, inputs, attrs, opset)
        builder: Any = self.bb
        self.bb: Any = _Padding(builder)
        try:
            return super()._convert_operator(op_name, inputs, attrs, opset)
        finally:
            self.bb = builder


class _Padding:
    """A block builder that emits the Relax operator for a pad with a value that cuts nothing off."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)

    def emit_te(self, function: Any, *arguments: Any) -> Any:
        """As the builder, but for `topi.nn.pad`: data, widths before and after, and the value."""
        if function is not topi.nn.pad or min((*arguments[1], *arguments[2]), default=0) < 0:
            return self._builder.emit_te(function, *arguments)
        data, before, after, value = arguments
        widths = [width for pair in zip(before, after, strict=True) for width in pair]
        return relax.op.nn.pad(data, widths, pad_value=value)


def _loaded(path: Path, data: bytes) -> Any:
    """The model, complete and consistent as ONNX's own checker sees it."""
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError:
        raise model_error("model-damaged", path, "the file is cut off or damaged", _AGAIN) from None
    if not model.graph.node:
        raise model_error("model-damaged", path, "the model has no graph, or one without operators", _AGAIN)
    if any(uses_external_data(value) for value in model.graph.initializer):
        _load_external(path, model)
    try:
        onnx.checker.check_model(model)
    except UnicodeDecodeError:
        raise model_error(
            "model-damaged", path, "the model is not valid: a name is no text", _AGAIN
        ) from None
    except onnx.checker.ValidationError as error:
        raise _invalid(path, error) from None
    return model


def _invalid(path: Path, error: Exception) -> DiagnosticError:
    reason = str(error).strip().splitlines()[0].rstrip(".")
    unknown = re.match(r"No Op registered for (\S+)", reason)
    if unknown is None:
        return model_error("model-damaged", path, f"the model is not valid: {reason}", _AGAIN)
    return model_error("unsupported-operator", path, f"{plural([unknown.group(1)])} not supported", HINT)


def _load_external(path: Path, model: Any) -> None:
    try:
        load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        hint = "put the file with the weights beside the model"
        message = f"its external data cannot be read: {reason}"
        raise model_error("model-damaged", path, message, hint) from None


def _refuse_dynamic_shapes(path: Path, model: Any) -> None:
    constants = {value.name for value in model.graph.initializer}
    for value in model.graph.input:
        if value.name in constants:
            continue
        if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
            raise model_error("dynamic-shape", path, f"tensor `{value.name}` has no shape", _FIX)
        for number, extent in enumerate(value.type.tensor_type.shape.dim):
            if extent.dim_value <= 0:
                name = f" (`{extent.dim_param}`)" if extent.dim_param else ""
                message = f"dimension {number} of tensor `{value.name}` is dynamic{name}"
                raise model_error("dynamic-shape", path, message, _FIX)


_FIX = "fix it: `python -m onnxruntime.tools.make_dynamic_shape_fixed --input_name … --input_shape …`"
