"""The operators of a model file, before anything is made of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.api.model_file import Model, model_file
from target_arch.api.options import CompileOptions, Wish
from target_arch.api.options import input_shapes as fixed_inputs
from target_arch.registry import PlugIns
from target_arch.relax.tvm_import import import_tvm
from target_arch.stages.garbage_collector import gc_seldom

if TYPE_CHECKING:
    from target_arch.relax.inventory import Inventory


def operators(
    model: Model,
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    batch: int | None = None,
    input_values: Mapping[str, float] | None = None,
    begin: Wish = (),
    end: Wish = (),
    backend_dirs: Sequence[str | Path] = (),
) -> "Inventory":
    """The operators of a model by name: how often each is there, where first, and why it has no form,
    where it has none; with the refusal of the model, if there is one. The inputs as of `compile`. Operator
    libraries are those that are installed, and those in `backend_dirs`.

    DiagnosticError for a file that cannot be read.
    """
    import_tvm()
    from target_arch.relax.inventory import inventory

    options = CompileOptions(
        input_shapes=input_shapes or {}, batch=batch, input_values=input_values or {}, begin=begin, end=end
    )
    plug_ins = PlugIns.discover(tuple(map(Path, backend_dirs)))
    with model_file(model) as file, gc_seldom():
        return inventory(file, fixed_inputs(options), plug_ins.operators.converter)
