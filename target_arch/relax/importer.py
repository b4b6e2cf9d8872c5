"""Read a model file: `.tflite`, `.onnx`, `.pt2` (a saved `torch.export` program) or `.relax` (a Relax module
in TVM's JSON).

Any fault of the file becomes a DiagnosticError with one message; rules:

    model-not-found      there is no such file, or it cannot be read
    model-empty          the file has no bytes
    model-type           the content is not what the extension says, or no model at all
    model-damaged        truncated, or inconsistent in itself
    unsupported-operator an operator that cannot be imported
    unsupported-model    anything else a frontend refuses, with its words
    dynamic-shape        a dimension without a fixed extent
    input-shape          a wanted shape of an input that it cannot have
    input-value          a wanted value of an input that it cannot have
    unsupported-type     elements of a type that is not supported, such as float16
    unsafe-model         a `.pt2` file that PyTorch would run code from
    missing-extra        the file type needs an optional dependency
    two-quantizations    see `finder.py`
    failed-pass          one of the caller's passes fails, or changes the inputs
    unknown-device       a device that the module does not list, or that no SoC can have
    wrong-device         devices of a Relax module that contradict each other
    wrong-state          an input and an output that cannot be one state

Tests: `tests/relax/readers`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import frozen

from target_arch.backend.contract import Pattern
from target_arch.backend.operators import Foreign, no_libraries
from target_arch.plan.inputs.shapes import AS_IN_FILE, InputShapes
from target_arch.plan.model import Model
from target_arch.relax.ir.errors import model_error
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.relax.operators.finder import find_operators
from target_arch.relax.operators.program import RelaxProgram
from target_arch.relax.readers.asked_states import asked_states
from target_arch.relax.readers.source import Imported, content_kind
from target_arch.soc import shipped_socs

NO_STATES: Mapping[str, str] = MappingProxyType({})

_EXTENSIONS = {".tflite": "tflite", ".onnx": "onnx", ".pt2": "pt2", ".relax": "relax"}
_NAMES = {
    "tflite": "a TFLite model",
    "onnx": "an ONNX model",
    "pt2": "a saved torch.export program",
    "relax": "a Relax module",
}
SWAPPED = "that is a SoC: name the model first, and the SoC after it"
"""The hint for a SoC in the place of a model."""


@frozen(kw_only=True)
class _Checked:
    kind: str
    data: bytes


def import_model(
    path: str | Path,
    name: str | None = None,
    patterns: tuple[Pattern, ...] | None = None,
    shapes: InputShapes = AS_IN_FILE,
    states: Mapping[str, str] = NO_STATES,
    foreign: Foreign = no_libraries,
    passes: Sequence[Any] = (),
) -> tuple[Model, RelaxProgram]:
    """The model in a file as operators on NHWC tensors, and its Relax program.

    `name` is the model's name (a C identifier is made of it), by default the file's stem. `patterns` are the
    composites to look for, by default `standard_patterns()`. `shapes` fix open dimensions of inputs. `states`
    maps names of inputs to those of outputs that are their values in the next run. `foreign` gives the
    converters of operators that are not known here. `passes` are TVM's, of the caller: they run on the Relax
    program of the model, before composites are looked for. Raises DiagnosticError, see above.
    """
    path = Path(path)
    imported = _imported(path, _checked(path), shapes, foreign, passes)
    return model_of(path, imported, name, patterns, states)


def model_of(
    path: Path,
    imported: Imported,
    name: str | None = None,
    patterns: tuple[Pattern, ...] | None = None,
    states: Mapping[str, str] = NO_STATES,
) -> tuple[Model, RelaxProgram]:
    """As `import_model`, of what the reader of a file made."""
    wanted = standard_patterns() if patterns is None else patterns
    pairs = (*imported.states, *asked_states(path, imported, states))
    return find_operators(
        imported.program,
        wanted,
        name or path.stem,
        path.name,
        imported.outputs,
        pairs,
        [(each.output, each.axis, each.count) for each in imported.bounded],
    )


def model_kind(path: Path) -> tuple[str, bytes]:
    """`onnx`, `pt2`, `relax` or `tflite`, and the bytes of the file. Raises DiagnosticError."""
    checked = _checked(path)
    return checked.kind, checked.data


def _imported(
    path: Path, checked: _Checked, shapes: InputShapes, foreign: Foreign, passes: Sequence[Any]
) -> Imported:
    """Read by the reader of the file's kind, behind passes of the caller."""
    if shapes.values and checked.kind != "onnx":
        message = f"values of inputs can be fixed in an ONNX model, this is {_NAMES[checked.kind]}"
        raise model_error("input-value", path, message, "export the model with the value")
    if checked.kind == "relax":
        from target_arch.relax.readers.relax_module import read_relax

        return read_relax(path, checked.data, shapes, passes)
    imported = _read(path, checked, shapes, foreign)
    if not passes:
        return imported
    from target_arch.relax.readers.relax_module import with_passes

    return with_passes(path, imported, passes)


def _read(path: Path, checked: _Checked, shapes: InputShapes, foreign: Foreign) -> Imported:
    """A file of another library; only the reader of its kind is imported, since each imports that."""
    if checked.kind == "tflite":
        from target_arch.relax.readers.tflite.reader import read_tflite

        return read_tflite(path, checked.data, shapes, foreign)
    if checked.kind == "onnx":
        from target_arch.relax.readers.onnx.reader import read_onnx

        return read_onnx(path, checked.data, shapes, foreign)
    from target_arch.relax.readers.pytorch.torch_export import read_torch

    return read_torch(path, checked.data, shapes, foreign)


def _checked(path: Path) -> _Checked:
    """The bytes of the file. Refuses content of another format than the extension's."""
    kind = _EXTENSIONS.get(path.suffix.lower())
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        hint = SWAPPED if str(path) in shipped_socs() else None
        raise model_error("model-not-found", path, "there is no such file", hint) from None
    except IsADirectoryError:
        raise model_error("model-not-found", path, "this is a folder, not a model file") from None
    except OSError as error:
        raise model_error("model-not-found", path, f"cannot be read: {error.strerror}") from None
    if kind is None:
        raise model_error(
            "model-type",
            path,
            f"extension `{path.suffix}` is not one of a model",
            SWAPPED if path.suffix == ".toml" else "known are `.onnx`, `.pt2`, `.relax` and `.tflite`",
        )
    if not data:
        raise model_error("model-empty", path, "the file is empty", "copy or export the model again")
    content = content_kind(data)
    if content is not None and content != kind:
        hint = f"name it `*.{content}`" if content in _NAMES else "give the path of the model itself"
        found = _NAMES.get(content, content)
        raise model_error("model-type", path, f"this is {found}, not {_NAMES[kind]}", hint)
    return _Checked(kind=kind, data=data)
