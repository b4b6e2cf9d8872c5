"""Core operators of PyTorch become Relax, one by one, so that each that cannot is named.

TVM's frontend takes most operators; those that it lacks or computes differently have converters in
`torch_operators`.
Imports PyTorch.
"""

import operator as operators
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tag
from tvm import relax
from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

from target_arch.backend.operators import Foreign, ForeignConverter, ModelFormat
from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.attempts import Attempts, zeros
from target_arch.relax.readers.foreign import results_of
from target_arch.relax.readers.pytorch.torch_numbers import KnownValues, lifted
from target_arch.relax.readers.pytorch.torch_operators import (
    arithmetic,
    bags,
    counted,
    images,
    indexing,
    recurrent,
    reductions,
    sampling,
    scans,
    windows,
)
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall, dtype_name
from target_arch.relax.readers.pytorch.torch_operators.counted import counted_values, filled
from target_arch.relax.readers.pytorch.torch_operators.counts import CountedTensors
from target_arch.relax.readers.pytorch.torch_operators.promotion import promoted
from target_arch.relax.readers.pytorch.torch_quantized import quantized_converters
from target_arch.relax.readers.unsupported import Unsupported, unsupported
from target_arch.relax.site import NotConverted, constant


def convert(
    path: Path, program: Any, counted: CountedTensors, in_file: dict[Any, str], foreign: Foreign
) -> Any:
    """The Relax module of a program that is decomposed into core operators; its outputs are followed by the
    counts of `counted`, and by states. `in_file` receives the names of its nodes by the expressions they
    became; `foreign` gives the converters of operators of libraries.

    Raises DiagnosticError that names every operator that cannot be converted.
    """
    tensors = _tensors(program)
    importer = _Importer(lifted(program), tensors, counted, foreign)
    module = importer.from_exported_program(
        program,
        keep_params_as_input=False,
        unwrap_unit_return_tuple=True,
        no_bind_return_tuple=False,
        custom_convert_map=quantized_converters(tensors),
    )
    if importer.attempts.failures:
        raise unsupported(path, importer.attempts.failures)
    for node, value in importer.env.items():
        whole = node not in counted.of
        if whole and isinstance(value, relax.Var) and isinstance(value.ty, relax.TensorType):
            in_file.setdefault(value, node.name)
    return module


def _tensors(program: Any) -> dict[str, Any]:
    """The tensors of the file by the names of their nodes."""
    stored: dict[Any, Any] = {**program.state_dict, **program.constants}
    named = ((spec.arg.name, stored.get(spec.target)) for spec in program.graph_signature.input_specs)
    return {name: value.detach().numpy() for name, value in named if value is not None}


class _Importer(ExportedProgramImporter):  # type: ignore[misc]
    """The frontend, which goes on after an operator that fails, with zeros for its outputs."""

    def __init__(
        self,
        constants: Mapping[str, Any],
        tensors: Mapping[str, Any],
        counted: CountedTensors,
        foreign: Foreign,
    ) -> None:
        super().__init__()
        self.attempts = Attempts()
        self.foreign = foreign
        self.tensors = tensors
        self.counted = counted
        self.counts: dict[str, Any] = {}
        self.numbers = KnownValues(constants)
        self.stored = KnownValues({name: torch.from_numpy(value) for name, value in tensors.items()})

    def _check_unsupported_func_type(self, nodes: Any) -> None:
        """They are met one by one."""

    def _translate_fx_graph(self, graph_module: Any, nodes: Any, inputs_vars: Any, custom_ops: Any) -> Any:
        names = {node.target.__name__ for node in nodes if node.op == "call_function"}
        known: Mapping[str, Any] = dict(self.convert_map)
        self.convert_map: dict[str, Any] = {
            name: _guarded(self, name, known.get(name, known.get(_of_copy(name))), own=name in custom_ops)
            for name in names
        }
        found = super()._translate_fx_graph(graph_module, nodes, inputs_vars, set())
        return found if not self.counted.bounded else self._with_counts(nodes, found)

    def _with_counts(self, nodes: Any, outputs: Any) -> Any:
        """The outputs with zeros behind the counts, which follow the results."""
        (node,) = (each for each in nodes if each.op == "output")
        call = TorchCall(operator="output", builder=self.block_builder, node=node, importer=self)
        values = list(self._flatten_output_args(outputs))
        for place, each in enumerate(node.args[0]):
            if each in self.counted.of and not self.attempts.failures:
                values[place] = filled(call, each)
        unknown = constant(np.zeros(1, np.int64))
        counts = [self.counts.get(size, unknown) for size in self.counted.sizes]
        results = self.counted.results
        return (*values[:results], *counts, *values[results:])


def _of_copy(name: str) -> str:
    """The operator that gives a view of what this one copies."""
    return name.replace("_copy.", ".")


def _guarded(importer: _Importer, name: str, known: Any, *, own: bool) -> Callable[[Any], Any]:
    """The converter of an operator as one that never fails."""

    operator = name.removesuffix(".default")

    def converted(node: Any) -> Any:
        _CHECKS.get(name, _not_drawn)(node)
        if node not in importer.counted.of and importer.numbers.knows(node):
            return importer.numbers.constants(node)
        call = TorchCall(operator=operator, builder=importer.block_builder, node=node, importer=importer)
        library = _library(importer.foreign, node)
        if library is not None:
            results = results_of(library, call)
            return results if isinstance(node.meta.get("val"), tuple | list) else results[0]
        made = counted_values(call, lambda: _made(call, name, known, own=own))
        # Some of TVM's are not bound to a variable, and have no type yet.
        if isinstance(made, relax.Call):
            made = importer.block_builder.emit(made)
        return _as_in_pytorch(node, made)

    def convert_node(node: Any) -> Any:
        return importer.attempts.tried(
            lambda: converted(node),
            lambda reason: Unsupported(operator=operator, place=node.name, reason=reason),
            lambda: _stand_in(importer, node.meta.get("val")),
        )

    return convert_node


def _library(foreign: Foreign, node: Any) -> ForeignConverter | None:
    """Return the converter of an operator that is none of PyTorch's own."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or getattr(node.target, "namespace", "aten") in _OWN:
        return None
    return foreign(ModelFormat.PYTORCH, schema.name)


_OWN = ("aten", "prims", "quantized_decomposed")


def _made(call: TorchCall, name: str, known: Any, *, own: bool) -> Any:
    """Return the result by our converter or the frontend's."""
    if any(not isinstance(extent, int) for each in _results(call.node) for extent in each.shape):
        raise NotConverted("the shape of its result depends on values")
    if name in _CONVERTERS:
        return promoted(call, lambda: _CONVERTERS[name](call))
    special = windows.SPECIAL.get(name)
    if special is not None and special[0](call.node):
        return special[1](call)
    if known is None:
        raise NotConverted("not known here")
    if own:
        return known(call.node, call.importer)
    return promoted(call, lambda: known(call.node))


def _results(node: Any) -> list[Any]:
    """The tensors of PyTorch that stand for what a node gives."""
    value = node.meta.get("val")
    listed = value if isinstance(value, tuple | list) else [value]
    return [each for each in listed if hasattr(each, "dtype")]


def _as_in_pytorch(node: Any, value: Any) -> Any:
    """The value, if its shape and the type of its elements are those that PyTorch gives it."""
    found = [value] if isinstance(value, relax.Var) and isinstance(value.ty, relax.TensorType) else []
    for one, wanted in zip(value if isinstance(value, list) else found, _results(node), strict=False):
        dtype = _dtype(wanted)
        if dtype is not None and dtype_of(one) != dtype:
            raise NotConverted(f"it gives {dtype_of(one)} where PyTorch gives {dtype}")
        if shape_of(one) != _shape(wanted):
            raise NotConverted(f"it gives {list(shape_of(one))} where PyTorch gives {list(_shape(wanted))}")
    return value


def _stand_in(importer: _Importer, value: Any) -> Any:
    """Zeros of the shape and type of a failed operator's output."""
    if isinstance(value, tuple | list):
        return tuple(_stand_in(importer, each) for each in value)
    dtype = _dtype(value)
    return value if dtype is None else zeros(importer.block_builder, _shape(value), dtype)


def _dtype(value: Any) -> str | None:
    """The element type of a tensor of PyTorch; None for one that has no form here, and for no tensor."""
    dtype = dtype_name(getattr(value, "dtype", ""))
    return dtype if dtype in DTYPE_BYTES else None


def _shape(value: Any) -> tuple[int, ...]:
    """One element stands for an extent that depends on values."""
    return tuple(extent if isinstance(extent, int) else 1 for extent in value.shape)


def _only_first(node: Any) -> None:
    """The frontend gives the first result in place of each."""
    for user in node.users:
        if user.target is operators.getitem and user.args[1] != 0 and user.users:
            raise NotConverted(f"its result {user.args[1]} is used, not only the first")


def _not_drawn(node: Any) -> None:
    """The frontend draws the numbers of most random operators once, and makes them constants."""
    if Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
        raise NotConverted(_RANDOM)


def _not_random(node: Any) -> None:
    _, share, training = (*node.args, True)[:3]
    if training is not False and share:
        raise NotConverted(_RANDOM)


def _not_trained(node: Any) -> None:
    if (*node.args, False, False, False)[4]:
        raise NotConverted(_RANDOM)


def _not_dropped(node: Any) -> None:
    """A recurrent layer drops values between layers while it is trained."""
    layers, dropout, training = node.args[4:7]
    if training and dropout and layers > 1:
        raise NotConverted(_RANDOM)


_RANDOM = "its results are random; export the model after `eval()`"


_MULTIPLE = (
    "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "max_pool1d_with_indices", "native_batch_norm",
    "native_group_norm", "native_layer_norm",
)  # fmt: skip
_CHECKS: Mapping[str, Callable[[Any], None]] = {
    **{name if "." in name else f"{name}.default": _only_first for name in _MULTIPLE},
    **dict.fromkeys(recurrent.CONVERTERS, _not_dropped),
    "native_dropout.default": _not_random,
    "rrelu_with_noise_functional.default": _not_trained,
}
"""What the frontend ignores of an operator: each raises NotConverted where that matters."""

_CONVERTERS: Mapping[str, Convert] = {
    **arithmetic.CONVERTERS,
    **bags.CONVERTERS,
    **counted.CONVERTERS,
    **images.CONVERTERS,
    **indexing.CONVERTERS,
    **recurrent.CONVERTERS,
    **reductions.CONVERTERS,
    **sampling.CONVERTERS,
    **scans.CONVERTERS,
    **windows.CONVERTERS,
}
