"""Loops to threads, and the kernel of a partition: one CUDA function and one call per operator.

Imports TVM; the backend loads it when it is asked to lower.
"""

from typing import Any

from attrs import evolve
from tvm import s_tir, tirx

from target_arch.backend.hooks import TirFunction
from target_arch.backend.lowering import LoweringRequest
from target_arch.plan.kernels import Access, Call, CFunction, Kernel, Operand
from target_arch.plan.operators.facts import Aliasing
from target_arch.plan.operators.kinds import facts_of
from target_arch.relax.c.cuda import cuda_function
from target_arch.relax.lower.operators import lower_operator

THREADS = 128
"""Threads of a block: four warps, so that a small layer still spreads over several multiprocessors."""


def bind_threads(function: TirFunction) -> s_tir.Schedule:
    """The function with the outer loops of its result spread over blocks of threads, one element (or one row,
    where the stages before the result work on rows) per thread.

    Stages before the result are computed inside, in registers of the thread.
    """
    schedule = s_tir.Schedule(function.function)
    *stages, out = schedule.get_child_blocks(schedule.get_sblock("root"))
    depth = min(_spatial(schedule.get(block)) for block in (*stages, out))
    loops = schedule.get_loops(out)[:depth]
    for block in reversed(stages):
        schedule.compute_at(block, loops[-1])
        schedule.set_scope(block, 0, "local")
    each = schedule.fuse(*loops)
    outer, inner = schedule.split(each, [None, min(THREADS, int(schedule.get(each).extent))])
    schedule.bind(outer, "blockIdx.x")
    schedule.bind(inner, "threadIdx.x")
    return schedule


def cuda_kernel(functions: tuple[TirFunction, ...], request: LoweringRequest) -> Kernel:
    """The kernel of functions that run one after the other.

    Without a GPU, the plain C of the same definition stands in for a function. Neither works in place: loops
    in C could, but threads have no order.
    """
    operators = {operator.id: operator for operator in request.partition.operators}
    made = []
    for function in functions:
        stand_in = lower_operator(operators[function.operator], request.model).function
        device = cuda_function(function.function, stand_in.name)
        made.append((function, evolve(stand_in, device=device, in_place=())))
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        functions=tuple({printed.name: printed for _, printed in made}.values()),
        constants=tuple(constant for function in functions for constant in function.constants),
        actions=tuple(_call(printed.name, function) for function, printed in made),
        notes=tuple(_note(function, printed) for function, printed in made),
    )


def _call(name: str, function: TirFunction) -> Call:
    operands = (
        Operand(of=each, access=Access.WRITE if each in function.writes else "r")
        for each in function.operands
    )
    copies = facts_of(function.kind).aliasing is Aliasing.WHOLE
    return Call(function=name, operands=tuple(operands), operator=function.operator, copies=copies)


def _note(function: TirFunction, printed: CFunction) -> str:
    assert printed.device is not None
    return f"{function.operator}: {printed.device.blocks} blocks of {printed.device.threads} threads"


def _spatial(block: Any) -> int:
    """How many axes of a block are not summed over."""
    return sum(axis.iter_type == tirx.IterVar.DataPar for axis in block.iter_vars)
