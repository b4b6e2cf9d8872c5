"""The passes of TVM that take scheduled S-TIR to NS-TIR, in the pieces that hooks stand between."""

from collections.abc import Callable
from typing import Any

import tvm
from tvm import s_tir, tirx

from target_arch.relax.quiet import quiet
from target_arch.relax.tir.unread import without_unread


def compact(function: Any) -> Any:
    """A scheduled function with opaque blocks, and with local buffers cut to the part in use."""
    return _run_quietly(
        function,
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
        s_tir.transform.CompactBufferAllocation(),
    )


def without_blocks(function: Any) -> Any:
    """NS-TIR: no blocks, buffers of one dimension."""
    return _run_quietly(
        function,
        s_tir.transform.LowerMatchBuffer(),
        s_tir.transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
    )


def simplified(function: Any) -> Any:
    """NS-TIR with narrow integers, without statements that do nothing, and with intrinsics lowered."""
    narrow = _run_quietly(function, tirx.transform.NarrowDataType(32), tirx.transform.StmtSimplify())
    return _run_quietly(without_unread(narrow), tirx.transform.RemoveNoOp(), tirx.transform.LowerIntrin())


def pointer_to(buffer: Any) -> Any:
    """A parameter that points to the bytes of a buffer: buffers as parameters are the host's convention."""
    return tirx.Var(buffer.name, tirx.buffer.buffer_data_pointer_type(buffer))


def run_passes(function: Any, *passes: Callable[[Any], Any]) -> Any:
    """The function after passes over a module of it alone."""
    target = tvm.target.Target("c")
    module = tvm.IRModule({"main": function.with_attr("target", target).with_attr("global_symbol", "main")})
    for step in passes:
        module = step(module)
    return module["main"]


def _run_quietly(function: Any, *passes: Callable[[Any], Any]) -> Any:
    """As `run_passes`, without what TVM says of expressions that are right: it warns of powers above 2."""
    with quiet():
        return run_passes(function, *passes)
