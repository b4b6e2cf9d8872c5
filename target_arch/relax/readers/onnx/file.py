"""The bytes of an ONNX file as a model: complete, and consistent as ONNX's own checker sees it."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.frontend import HINT, plural
from target_arch.relax.readers.onnx.element_types import check_element_types
from target_arch.relax.readers.onnx.rewriting.classical import declare_domains, without_maps
from target_arch.relax.readers.onnx.rewriting.fused import own_domain
from target_arch.relax.readers.onnx.rewriting.graph import (
    ONNX_DOMAINS,
    TensorKind,
    array_of,
    opset_of,
    replace,
    schema_of,
)
from target_arch.relax.readers.onnx.rewriting.inference import forget_negative

_AGAIN = "copy or export the model again"
_LOCATION = b"location"
"""In every file with data beside it: the key of the place."""
_TYPES = frozenset(onnx.TensorProto.DataType.values())
_INPUTS_ONLY = 3
"""The version of files in which each constant is an input, too. The next one differs in nothing else."""


def loaded(path: Path, data: bytes) -> Any:
    """The model, with its external data. Raises DiagnosticError, see `importer.py`."""
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError:
        raise model_error("model-damaged", path, "the file is cut off or damaged", _AGAIN) from None
    if not model.graph.output:
        empty = "no output" if model.graph.node else "no graph, or one without operators"
        raise model_error("model-damaged", path, f"the model has {empty}", _AGAIN)
    _ask_once(model)
    own_domain(model)
    declare_domains(model)
    without_maps(model)
    if model.ir_version == _INPUTS_ONLY:
        model.ir_version = _INPUTS_ONLY + 1
    outside = [tensor for tensor in _tensors(model) if uses_external_data(tensor)]
    if outside:
        _load_external(path, model, outside)
    try:
        _check(model)
    except UnicodeDecodeError:
        raise model_error(
            "model-damaged", path, "the model is not valid: a name is no text", _AGAIN
        ) from None
    except onnx.checker.ValidationError as error:
        raise invalid(path, error) from None
    _check_operands(path, model)
    forget_negative(model)
    _check_tensors(path, _tensors(model))
    return model


def _ask_once(model: Any) -> None:
    """Leave of the versions of a domain the newest: with two of them, a body is never put in its place.
    ONNX's own domain has its short name everywhere: older versions of ONNX look for that.
    """
    newest: dict[str, Any] = {}
    for part in (*model.opset_import, *(each for each in _parts(model) if isinstance(each, onnx.NodeProto))):
        if part.domain in ONNX_DOMAINS:
            part.domain = ""
    for entry in model.opset_import:
        newest[entry.domain] = max(newest.get(entry.domain, entry), entry, key=lambda each: each.version)
    if len(newest) < len(model.opset_import):
        replace(model.opset_import, newest.values())


def _check(model: Any) -> None:
    """ONNX's own check, but for outputs without a shape: it wants one, and it follows from the operators."""
    kinds = [value.type.tensor_type for value in model.graph.output if value.type.HasField("tensor_type")]
    without = [kind for kind in kinds if not kind.HasField("shape")]
    for kind in without:
        kind.shape.SetInParent()
    onnx.checker.check_model(model)
    for kind in without:
        kind.ClearField("shape")


def _check_operands(path: Path, model: Any) -> None:
    """DiagnosticError where an operator lacks an operand that is not optional.

    ONNX's checker accepts an empty name, on which the native code of its shape inference crashes.
    """
    newest = opset_of(model)
    for node in (part for part in _parts(model) if isinstance(part, onnx.NodeProto)):
        schema = schema_of(node, newest)
        declared = () if schema is None else schema.inputs
        for number, name in enumerate(node.input):
            optional = onnx.defs.OpSchema.FormalParameterOption.Optional
            if not name and declared and declared[min(number, len(declared) - 1)].option != optional:
                message = (
                    f"the model is not valid: input {number} of an operator `{node.op_type}` has no name"
                )
                raise model_error("model-damaged", path, message, _AGAIN)


def _check_tensors(path: Path, tensors: Iterable[Any]) -> None:
    """DiagnosticError where a tensor has elements of a type that ONNX does not have, or more data than its
    shape: ONNX's checker accepts both.
    """
    for tensor in tensors:
        if tensor.data_type not in _TYPES:
            check_element_types(path, {tensor.name: TensorKind(tensor.data_type, None)})
        try:
            if tensor.data_type:
                array_of(tensor)
        except ValueError:
            message = f"the data of tensor `{tensor.name}` does not have the length of its shape"
            raise model_error("model-damaged", path, message, _AGAIN) from None
        except (KeyError, NotImplementedError, TypeError):
            continue  # of an element type that is refused by name later


def invalid(path: Path, error: Exception) -> DiagnosticError:
    """The refusal of a model in which ONNX's own checks found a fault."""
    reason = str(error).strip().splitlines()[0].rstrip(".")
    unknown = re.match(r"No Op registered for (\S+)", reason)
    if unknown is None:
        return model_error("model-damaged", path, f"the model is not valid: {reason}", _AGAIN)
    return model_error("unsupported-operator", path, f"{plural([unknown.group(1)])} not supported", HINT)


def data_files(path: Path) -> dict[str, Path]:
    """The files beside a model in which its tensors are, by their places in the model's folder. Those that
    `loaded` refuses are left out, as is everything of a file that it cannot read.
    """
    data, folder = path.read_bytes(), path.resolve().parent
    if _LOCATION not in data:
        return {}
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError:
        return {}
    outside = (_location(tensor) for tensor in _tensors(model) if uses_external_data(tensor))
    files = {place: folder / place for place in sorted(set(outside)) if _is_inside(folder, place)}
    return {place: file for place, file in files.items() if file.is_file()}


def _load_external(path: Path, model: Any, tensors: Iterable[Any]) -> None:
    folder = path.resolve().parent
    for tensor in tensors:
        _check_location(path, folder, tensor)
    try:
        load_external_data_for_model(model, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        message = f"its external data cannot be read: {reason}"
        raise model_error("model-damaged", path, message, _BESIDE) from None


def _check_location(path: Path, folder: Path, tensor: Any) -> None:
    """DiagnosticError where the data of a tensor is not in the folder of the model, or below."""
    location = _location(tensor)
    if not _is_inside(folder, location):
        message = f"the data of tensor `{tensor.name}` is outside of the model's folder: `{location}`"
        raise model_error("model-damaged", path, message, _BESIDE)


def _location(tensor: Any) -> str:
    return next((str(entry.value) for entry in tensor.external_data if entry.key == "location"), "")


def _is_inside(folder: Path, location: str) -> bool:
    return "\0" not in location and (folder / location).resolve().is_relative_to(folder)


def _tensors(model: Any) -> Iterator[Any]:
    """Every tensor with data: initializers, and attributes of nodes, in subgraphs and functions as well."""
    for part in _parts(model):
        if isinstance(part, onnx.GraphProto):
            yield from part.initializer
            continue
        for attribute in part.attribute:
            yield attribute.t
            yield from attribute.tensors


def _parts(model: Any) -> Iterator[Any]:
    """Every graph and every node, in subgraphs and functions as well."""
    left = [model.graph, *(node for function in model.functions for node in function.node)]
    while left:
        part = left.pop()
        yield part
        if isinstance(part, onnx.GraphProto):
            left += part.node
            continue
        for attribute in part.attribute:
            left += [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs


_BESIDE = "put the file with the weights beside the model"
