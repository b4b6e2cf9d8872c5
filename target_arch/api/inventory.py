"""The operators of a model file, before anything is made of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.api.model_file import Model, model_file
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.registry import PlugIns
from target_arch.relax.tvm_import import import_tvm

if TYPE_CHECKING:
    from target_arch.relax.inventory import Inventory


def operators(
    model: Model,
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    batch: int | None = None,
    input_values: Mapping[str, float] | None = None,
    backend_dirs: Sequence[str | Path] = (),
) -> "Inventory":
    """The operators of a model by name: how often each is there, where first, and why it has no form,
    where it has none; with the refusal of the model, if there is one. The inputs as of `compile`. Operator
    libraries are those that are installed, and those in `backend_dirs`.

    DiagnosticError for a file that cannot be read.
    """
    import_tvm()
    from target_arch.relax.inventory import inventory

    shapes = {name: tuple(shape) for name, shape in (input_shapes or {}).items()}
    plug_ins = PlugIns.discover(tuple(map(Path, backend_dirs)))
    inputs = InputShapes(shapes=shapes, batch=batch, values=input_values or {})
    with model_file(model) as file:
        return inventory(file, inputs, plug_ins.operators.converter)
