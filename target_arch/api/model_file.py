"""Models in memory as the files that readers and references read."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve

from target_arch.diagnostics import Diagnostic, DiagnosticError, refusal
from target_arch.relax.tvm_import import import_tvm

Model: TypeAlias = Any
"""A model file (text or path), its bytes, an `onnx.ModelProto`, a `torch.export.ExportedProgram`, or a Relax
`tvm.IRModule`, alone or in a tuple with the values of parameters of its `main`.
"""

_KINDS = ("onnx", "pt2", "relax", "tflite")


@contextmanager
def model_file(model: Model) -> Iterator[Path]:
    """The file of a model, there as long as the context is. One in memory is called `model`, and no more than
    its name stays in what is made of it.

    DiagnosticError for anything that is no model.
    """
    if isinstance(model, str | PathLike):
        yield Path(model)
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield _written(model, Path(folder) / "model")
        except DiagnosticError as error:
            error.args = (tuple(_without(Path(folder), each) for each in error.diagnostics),)
            raise


def _without(folder: Path, diagnostic: Diagnostic) -> Diagnostic:
    """A message about a file in the folder, which nobody but us knows: its place is the file's name."""
    place = str(diagnostic.place)
    return evolve(diagnostic, place=Path(place).name) if place.startswith(f"{folder}/") else diagnostic


def _written(model: Model, place: Path) -> Path:
    """The model in a file whose ending is that of its kind."""
    if isinstance(model, bytes | bytearray | memoryview):
        return _of_bytes(bytes(model), place)
    name = f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    if name == "onnx.ModelProto":
        return _saved(model.SerializeToString(), place.with_suffix(".onnx"))
    if name == "torch.ExportedProgram":
        import torch

        file = place.with_suffix(".pt2")
        torch.export.save(model, file)
        return file
    if name == "tvm.IRModule" or (isinstance(model, tuple) and len(model) == 2):
        module, params = model if isinstance(model, tuple) else (model, None)
        return _of_relax(module, params, place)
    hint = "give a path, bytes, an `onnx.ModelProto`, a `torch.export.ExportedProgram` or a Relax `IRModule`"
    raise refusal("model-type", "model", f"a value of type `{name}` is no model", hint)


def _of_relax(module: Any, params: Any, place: Path) -> Path:
    import_tvm()
    from target_arch.relax.readers.relax_module import is_module, saved_module

    if not is_module(module):
        text = f"a tuple that begins with a `{type(module).__name__}` is no model"
        raise refusal(
            "model-type", "model", text, "give a Relax `IRModule`, and the values of its parameters"
        )
    try:
        return _saved(saved_module(module, params), place.with_suffix(".relax"))
    except ValueError as error:
        raise refusal("model-type", "model", f"{error}", None) from error


def _of_bytes(data: bytes, place: Path) -> Path:
    import_tvm()
    from target_arch.relax.readers.source import content_kind

    kind = content_kind(data)
    if kind not in _KINDS:
        found = "nothing known" if kind is None else kind
        raise refusal("model-type", "model", f"the bytes are {found}, and no model", None)
    return _saved(data, place.with_suffix(f".{kind}"))


def _saved(data: bytes, file: Path) -> Path:
    file.write_bytes(data)
    return file
