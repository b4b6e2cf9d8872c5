"""The operators of a model file, and which of them have no form here, all at once.

Tests: `tests/cli/commands/test_operators.py`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from attrs import frozen

from target_arch.backend.operators import Foreign, no_libraries
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import AS_IN_FILE, InputShapes
from target_arch.plan.model import Model
from target_arch.plan.opaque import OpaqueShare, opaque_share
from target_arch.relax.importer import import_model, model_kind, model_of
from target_arch.relax.ir.errors import UnsupportedOperatorsError

Named = Iterable[tuple[str, str]]
"""Operators in the model's order, each with its place."""


@frozen(kw_only=True)
class OperatorUse:
    """An operator of a model: how often it is there, where first, and why it has no form; None if it has."""

    name: str
    count: int
    first: str
    reason: str | None


@frozen(kw_only=True)
class Inventory:
    """The operators of a model by name, and the refusal of the whole model where there is one, else how much
    of it is in operators that no row of the table of kinds describes.
    """

    uses: tuple[OperatorUse, ...]
    refusal: DiagnosticError | None
    opaque: OpaqueShare | None


def inventory(path: Path, shapes: InputShapes = AS_IN_FILE, foreign: Foreign = no_libraries) -> Inventory:
    """The operators of a model file: of an ONNX model in normal form, of others as they are in the file.
    `foreign` gives the converters of those that are not known here.

    Raises DiagnosticError where they cannot be read.
    """
    places: dict[str, list[str]] = {}
    named, outcome = _read(path, shapes, foreign)
    for name, place in named:
        places.setdefault(name, []).append(place)
    refusal, opaque = _outcome(outcome)
    reasons = refusal.reasons if isinstance(refusal, UnsupportedOperatorsError) else {}
    uses = [
        OperatorUse(name=name, count=len(found), first=found[0], reason=reasons.get(name))
        for name, found in sorted(places.items())
    ]
    return Inventory(uses=tuple(uses), refusal=refusal, opaque=opaque)


def _outcome(
    imported: Callable[[], tuple[Model, object]],
) -> tuple[DiagnosticError, None] | tuple[None, OpaqueShare]:
    """The refusal that an import ends in, or the share of the model that it makes."""
    try:
        model, _ = imported()
    except DiagnosticError as error:
        return error, None
    return None, opaque_share(model)


def _read(
    path: Path, shapes: InputShapes, foreign: Foreign
) -> tuple[Named, Callable[[], tuple[Model, object]]]:
    """The operators of a model, and what imports it; an ONNX model is in normal form once for both."""
    kind, data = model_kind(path)
    if kind != "onnx":
        return _named(path, kind, data, shapes, foreign), partial(
            import_model, path, shapes=shapes, foreign=foreign
        )
    from target_arch.relax.readers.onnx.reader import in_normal_form, named_nodes, of_normal_form

    graph = in_normal_form(path, data, shapes, foreign)
    return tuple(named_nodes(graph)), lambda: model_of(path, of_normal_form(path, graph, foreign))


def _named(path: Path, kind: str, data: bytes, shapes: InputShapes, foreign: Foreign) -> Named:
    """Read by the reader of the file's kind; only that reader is imported."""
    if kind == "tflite":
        from target_arch.relax.readers.tflite.reader import named_operators

        return named_operators(path, data, shapes)
    if kind == "relax":
        from target_arch.relax.readers import relax_module

        return relax_module.named_calls(path, data)
    from target_arch.relax.readers.pytorch.torch_export import named_calls

    return named_calls(path, data, shapes, foreign)
