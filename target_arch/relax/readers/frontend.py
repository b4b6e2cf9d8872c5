"""Call a frontend of TVM so that a wrong model causes a diagnostic and no other output."""

import gc
import struct
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tvm
from tvm import relax, tirx

from target_arch.diagnostics import DiagnosticError, listed
from target_arch.plan.model import DTYPE_BYTES
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.errors import model_error
from target_arch.relax.ir.graph import FileFacts, read_graph
from target_arch.relax.ir.moves import with_moves_in_order
from target_arch.relax.operators.program import RelaxProgram
from target_arch.relax.quiet import quiet
from target_arch.relax.readers.batch_norm import with_known_statistics
from target_arch.relax.readers.outputs import with_computed_outputs
from target_arch.relax.readers.source import Imported
from target_arch.relax.readers.volumes import with_sliced_volumes
from target_arch.relax.site import MOST_DIMENSIONS
from target_arch.relax.te.half import HALF

# Errors that the frontends were seen to raise on models they cannot take; none is raised by our own code in
# there.
FAILURES = (
    tvm.error.InternalError,
    RuntimeError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    AssertionError,
    OverflowError,
    ZeroDivisionError,
    struct.error,
)


def translated(path: Path, translate: Callable[[], Any]) -> Any:
    """A frontend's translation of a model. Raises DiagnosticError for every model that it refuses.

    Frontends print and warn, and unfinished builders complain when they are deleted; none of that reaches the
    user's terminal.
    """
    with quiet():
        try:
            return translate()
        except DiagnosticError as error:
            refusal = error
            traceback.clear_frames(error.__traceback__)
        except FAILURES as error:
            refusal = model_error("unsupported-model", path, _UNREADABLE, HINT)
            traceback.clear_frames(error.__traceback__)
        gc.collect()  # objects in reference cycles would complain later, on the terminal
    raise refusal.with_traceback(None)


_UNREADABLE = "the model cannot be imported: its parts do not fit together in a known way"
"""A failing operator is caught and named by itself; this is for failures between operators."""


HINT = "replace it in the model, or split the model before it"


def imported(
    path: Path,
    module: Any,
    arithmetic: Arithmetic,
    outputs: tuple[str, ...],
    constants: Mapping[bytes, str],
    file: FileFacts,
    *,
    halves: bool = False,
) -> Imported:
    """The reader's result from a frontend's module whose quantized operators follow `arithmetic`.

    `outputs` and `constants` (by `content_of`) are the names in the file, which has more to say by the
    frontend's expressions. With `halves`, float16 is stored only, and computed in float32. Raises
    DiagnosticError for control flow, dynamic shapes, inputs without elements and element types that no tensor
    of ours can have.
    """
    module = with_computed_outputs(_normalized(module))
    function = module["main"]
    for var in (
        *function.params,
        *(binding.var for binding in bindings_of(function)),
    ):
        _check_value(path, var, halves=halves)
    for var in function.params:
        if any(int(extent) == 0 for extent in var.ty.shape):
            message = f"input `{var.name}` has no elements"
            raise model_error("unsupported-model", path, message, "leave it out of the model")
    for binding in bindings_of(function):
        if isinstance(binding.value, relax.If):
            raise model_error("unsupported-operator", path, "operator `If` is not supported", HINT)
    module, file = with_moves_in_order(module, file)
    graph = read_graph(module, arithmetic, file)
    return Imported(
        program=RelaxProgram(module=module, graph=graph, constant_names=constants), outputs=outputs
    )


def _normalized(module: Any) -> Any:
    """Without variables that only rename others, with batch normalization inside convolutions, or as two
    constants of each channel, and with images for volumes.
    """
    return with_sliced_volumes(with_known_statistics(relax.transform.CanonicalizeBindings()(module)))


def _check_value(path: Path, var: Any, *, halves: bool) -> None:
    fields = var.ty.fields if isinstance(var.ty, relax.TupleType) else [var.ty]
    for kind in fields:
        shape = kind.shape if isinstance(kind, relax.TensorType) else None
        if not isinstance(shape, relax.ShapeExpr):
            raise model_error("dynamic-shape", path, f"tensor `{var.name}` has no fixed shape", _FIXED)
        if len(shape) > MOST_DIMENSIONS:
            message = f"tensor `{var.name}` has {len(shape):,} dimensions, more than {MOST_DIMENSIONS}"
            raise model_error("unsupported-model", path, message, _FEWER)
        for index, extent in enumerate(shape.values[:]):
            if not isinstance(extent, tirx.IntImm):
                message = f"dimension {index} of tensor `{var.name}` is dynamic (`{extent}`)"
                raise model_error("dynamic-shape", path, message, _FIXED)
        known = [dtype for dtype in DTYPE_BYTES if halves or dtype != HALF]
        if str(kind.dtype) not in known:
            message = f"tensor `{var.name}` has elements of type `{kind.dtype}`"
            raise model_error("unsupported-type", path, message, f"known are {listed(known)}")


_FEWER = "reshape it in the model: dimensions of extent 1 say nothing"
_FIXED = "export the model with fixed shapes"


def plural(names: list[str]) -> str:
    """`operator `x` is` or `operators `x`, `y` are`."""
    return f"operator {listed(names)} is" if len(names) == 1 else f"operators {listed(names)} are"
