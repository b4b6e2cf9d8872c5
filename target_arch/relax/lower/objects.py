"""From NS-TIR to an object file for another core, by the LLVM inside TVM.

The function is the one that `target_arch.relax.c.printer` prints: the same parameters in the same order,
large local buffers as further ones behind them, nothing of TVM's runtime, and parameters that may alias there
(see `in_place`) may alias here. So the C is its behavioural model.

Tests: `tests/relax/lower/test_objects.py`; bundles that run it: `tests/firmware`.
"""

import tempfile
from pathlib import Path
from typing import Any

import tvm
from attrs import frozen
from tvm import tirx

from target_arch.relax.c.in_place import in_place
from target_arch.relax.c.printer import is_scratch, walk
from target_arch.relax.lower.lowering import lowered, scheduled
from target_arch.relax.te.definition import Definition
from target_arch.relax.tir.passes import pointer_to


@frozen(kw_only=True)
class LlvmTarget:
    """A core as LLVM is configured for it."""

    triple: str
    cpu: str
    features: tuple[str, ...] = ()


def object_file(definition: Definition, name: str, target: LlvmTarget) -> bytes:
    """The object file that defines `name`. Functions that LLVM itself calls are in
    `runtime_c/firmware/library.c`.
    """
    function = lowered(scheduled(definition))
    buffers = [node.buffer for node in walk(function.body) if isinstance(node, tirx.AllocBuffer)]
    scratch = [buffer for buffer in buffers if is_scratch(buffer)]
    views = {buffer: pointer_to(buffer) for buffer in (*function.params, *scratch)}
    declared = [tirx.DeclBuffer(buffer, data=views[buffer]) for buffer in function.params]
    body = tirx.SeqStmt([*declared, _with_parameters(function.body, {b: views[b] for b in scratch})])
    bare = tirx.PrimFunc(list(views.values()), body).with_attr("tirx.noalias", not in_place(function))
    return object_of(bare, name, target)


def object_of(function: Any, name: str, target: LlvmTarget) -> bytes:
    """The object file of a function in NS-TIR whose parameters are pointers, under `name`."""
    llvm = _llvm(target)
    bare = function.with_attr("global_symbol", name).with_attr("target", llvm)
    return _built(tvm.IRModule({name: bare}), llvm)


def _llvm(target: LlvmTarget) -> Any:
    about: dict[str, Any] = {"kind": "llvm", "mtriple": target.triple, "mcpu": target.cpu}
    if target.features:
        about["mattr"] = list(target.features)
    return tvm.target.Target(about)


def _with_parameters(statement: Any, handles: dict[Any, Any]) -> Any:
    """The statement with each allocation of a scratch buffer replaced by the parameter that holds it."""
    if isinstance(statement, tirx.SeqStmt):
        return tirx.SeqStmt([_with_parameters(child, handles) for child in statement.seq])
    if isinstance(statement, tirx.AllocBuffer) and statement.buffer in handles:
        return tirx.DeclBuffer(statement.buffer, data=handles[statement.buffer])
    if isinstance(statement, tirx.AttrStmt):
        body = _with_parameters(statement.body, handles)
        return tirx.AttrStmt(statement.node, statement.attr_key, statement.value, body)
    return statement


def _built(module: Any, llvm: Any) -> bytes:
    made = tvm.get_global_func("target.build.llvm")(tirx.transform.LowerIntrin()(module), llvm)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "function.o"
        made.write_to_file(str(path), "o")
        return path.read_bytes()
