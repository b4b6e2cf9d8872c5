"""Relax modules, as `tvm.ir.save_json` writes them: `.relax` files, and modules in memory.

Their `main` becomes the model. Private functions of Relax that it calls are inlined, so that composites of
the author's passes are operators again; functions of TIR that it calls stay as they are. Parameters that are
constants of the model are bound before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from attrs import evolve, frozen
from tvm import relax, tirx

from target_arch.diagnostics import listed
from target_arch.plan.inputs.shapes import Extent, InputShapes, ModelInput
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.errors import model_error
from target_arch.relax.ir.graph import FileFacts, operator_name
from target_arch.relax.readers.frontend import FAILURES, imported, translated
from target_arch.relax.readers.source import Imported
from target_arch.relax.readers.virtual_devices import without_devices

VERSION = str(tvm.__version__)
"""Of TVM."""
_NUMBER = re.compile(r"T\.int64\((-?\d+)\)")
_WRITE = "write it with `tvm.ir.save_json`"


def read_relax(path: Path, data: bytes, shapes: InputShapes, passes: Sequence[Any] = ()) -> Imported:
    """A Relax module in JSON, with open dimensions as in `shapes`, behind passes of the caller. Operators
    that it puts on devices know them.

    Raises DiagnosticError, see `importer.py`.
    """
    if shapes.cut:
        message = "a Relax module cannot be cut"
        raise model_error("wrong-cut", path, message, "return the tensors that you want from its `main`")
    module = translated(path, lambda: _flat(with_shapes(path, load_module(path, data), shapes)))
    for name in _called(module["main"]):
        message = f"`main` calls the function `{name}`, which could not be inlined"
        raise model_error("unsupported-model", path, message, "make it private, without recursion")
    outputs = _output_names(module["main"])
    behind = _behind(path, module, passes) if passes else module
    module, devices = translated(path, lambda: without_devices(path, behind))
    tensors = {var: str(var.name) for var in module["main"].params}
    facts = FileFacts(tensors=tensors, devices=devices)
    return imported(path, module, Arithmetic.ONNX, outputs, {}, facts)


def load_module(path: Path, data: bytes) -> Any:
    """The module of a file. Raises DiagnosticError."""
    try:
        module = tvm.ir.load_json(data.decode("utf-8"))
    except (UnicodeDecodeError, *FAILURES):
        message = "this is no Relax module: its JSON is not TVM's"
        raise model_error("model-damaged", path, message, _WRITE) from None
    if not isinstance(module, tvm.IRModule) or not isinstance(_main(module), relax.Function):
        message = "this is no Relax module with a function `main`"
        raise model_error("model-type", path, message, _WRITE)
    for var in _main(module).params:
        _require_ranked(path, var)
    return module


def _require_ranked(path: Path, var: Any) -> None:
    """DiagnosticError for an input that is no tensor, or one without its extents."""
    if not isinstance(var.ty, relax.TensorType):
        kind = type(var.ty).__name__.removesuffix("Type").lower()
        message = f"input `{var.name}` is of the kind {kind}, and no tensor"
        raise model_error("unsupported-type", path, message, "give each tensor an input of its own")
    if not isinstance(var.ty.shape, relax.ShapeExpr):
        hint = 'name them in its type, as in `R.Tensor(("n", 8), "float32")`'
        raise model_error("dynamic-shape", path, f"the extents of input `{var.name}` are unknown", hint)


def saved_module(module: Any, params: Mapping[str, Any] | None) -> bytes:
    """A module as JSON, with parameters of `main` bound to values: by their names, or the last ones in a
    list, as TVM's frontends have them. ValueError for a parameter that `main` does not have.
    """
    if params:
        module = relax.transform.BindParams("main", _values(module, params))(module)
    return str(tvm.ir.save_json(module)).encode()


def is_module(value: object) -> bool:
    """Whether it is a module of TVM."""
    return isinstance(value, tvm.IRModule)


def named_calls(path: Path, data: bytes) -> Iterator[tuple[str, str]]:
    """The operators of a module, each with the variable that it is bound to."""
    module = translated(path, lambda: _flat(load_module(path, data)))
    for binding in bindings_of(module["main"]):
        name = operator_name(binding.value)
        if name is not None:
            yield name, str(binding.var.name)


def with_passes(path: Path, found: Imported, passes: Sequence[Any]) -> Imported:
    """The program behind passes of the caller, with names of operators and tensors as far as their
    expressions are still there. Raises DiagnosticError where a pass fails, or a reader refuses the result.
    """
    graph, before = found.program.graph, found.program.module
    facts = FileFacts(
        authors={graph.bound[var]: name for var, name in graph.names.items()},
        quantizations={graph.bound.get(var, var): grid for var, grid in graph.quantizations.items()},
        tensors={graph.bound.get(var, var): name for var, name in graph.in_file.items()},
    )
    behind = _behind(path, before, passes)
    module, devices = translated(path, lambda: without_devices(path, behind))
    names = found.program.constant_names
    made = imported(path, module, graph.arithmetic, found.outputs, names, evolve(facts, devices=devices))
    return evolve(found, program=made.program)


def _behind(path: Path, before: Any, passes: Sequence[Any]) -> Any:
    """The module behind passes of the caller. DiagnosticError where one fails or changes the inputs."""
    try:
        module = _flat(tvm.ir.transform.Sequential(list(passes))(before))
    except Exception as error:
        # The passes are the caller's, and may raise anything.
        said = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise model_error("failed-pass", path, f"one of `passes` failed: {said}", None) from error
    if len(module["main"].params) != len(before["main"].params):
        message = "`passes` changed the number of inputs"
        raise model_error(
            "failed-pass", path, message, "bind parameters before, and leave inputs as they are"
        )
    return module


@frozen
class RelaxInput:
    """An input of a module."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


def inputs_of(module: Any) -> tuple[RelaxInput, ...]:
    """The inputs of `main`; an extent that is open is None."""
    return tuple(
        RelaxInput(str(var.name), tuple(map(_extent, var.ty.shape)), str(var.ty.dtype))
        for var in module["main"].params
    )


def executable(path: Path, module: Any) -> Any:
    """A function of arrays that runs `main` by TVM's own virtual machine on this computer, whatever devices
    its author puts it on, and returns a tuple of arrays.
    """
    plain, _ = without_devices(path, _flat(module))
    machine = relax.VirtualMachine(tvm.compile(plain, target="llvm"), tvm.cpu())

    def run(*values: Any) -> tuple[Any, ...]:
        result = machine["main"](*map(tvm.runtime.tensor, values))
        results = (result,) if hasattr(result, "numpy") else tuple(result)
        return tuple(np.array(each.numpy()) for each in results)

    return run


def with_shapes(path: Path, module: Any, shapes: InputShapes) -> Any:
    """The module with open extents of inputs as asked for, and those that are computed from them.
    DiagnosticError where one stays open, and for shapes that contradict it.
    """
    bound = _bound_extents(module["main"].params, shapes)
    fixed = relax.transform.BindSymbolicVars(bound, "main")(module) if bound else module
    declared = [
        ModelInput(name=str(var.name), extents=tuple(map(_named, var.ty.shape)))
        for var in fixed["main"].params
    ]
    shapes.fixed(str(path), declared)
    return fixed


def _bound_extents(inputs: Sequence[Any], shapes: InputShapes) -> dict[Any, int]:
    """The open extents that are variables, by what is asked for; a shape goes before the batch."""
    bound: dict[Any, int] = {}
    for var in sorted(inputs, key=lambda one: str(one.name) not in shapes.shapes):
        wanted = shapes.shapes.get(str(var.name), (shapes.batch,))
        for extent, value in zip(var.ty.shape, wanted, strict=False):
            if isinstance(extent, tirx.Var) and value is not None:
                bound.setdefault(extent, value)
    return bound


def _named(extent: Any) -> Extent:
    """The extent, or what it is computed from, without the types of numbers."""
    return int(extent) if isinstance(extent, tirx.IntImm) else _NUMBER.sub(r"\1", str(extent))


def _extent(extent: Any) -> int | None:
    return int(extent) if isinstance(extent, tirx.IntImm) else None


def _main(module: Any) -> Any:
    return next((module[name] for name in module.get_global_vars() if name.name_hint == "main"), None)


def _flat(module: Any) -> Any:
    """`main` as one dataflow block that calls operators and functions of TIR."""
    passes = [
        relax.transform.LambdaLift(),
        relax.transform.InlinePrivateFunctions(),
        relax.transform.ConvertToDataflow(),
        relax.transform.Normalize(),
    ]
    return tvm.ir.transform.Sequential(passes)(module)


def _called(function: Any) -> list[str]:
    """Functions of Relax that it still calls."""
    values = [binding.value for binding in bindings_of(function)]
    calls = [value.op for value in values if isinstance(value, relax.Call)]
    return [each.name_hint for each in calls if isinstance(each, tvm.ir.GlobalVar)]


def _output_names(function: Any) -> tuple[str, ...]:
    """The variables that `main` returns, by their names."""
    bound = {binding.var: binding.value for binding in bindings_of(function)}
    returned = function.body.body
    while isinstance(returned, relax.Var) and isinstance(bound.get(returned), relax.Var | relax.Tuple):
        returned = bound[returned]
    fields = list(returned.fields) if isinstance(returned, relax.Tuple) else [returned]
    names = [str(each.name) if isinstance(each, relax.Var) else "output" for each in fields]
    return tuple(name if names.count(name) == 1 else f"{name}_{number}" for number, name in enumerate(names))


def _values(module: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """The values of parameters by their names."""
    names = [str(var.name) for var in module["main"].params]
    own = params.get("main")
    named = dict(zip(names[len(names) - len(own) :], own, strict=True)) if isinstance(own, list) else params
    unknown = sorted(set(named) - set(names))
    if unknown:
        raise ValueError(f"`main` has no parameter {listed(unknown)}")
    return {name: value if _is_tensor(value) else tvm.runtime.tensor(value) for name, value in named.items()}


def _is_tensor(value: object) -> bool:
    return isinstance(value, tvm.runtime.Tensor)
