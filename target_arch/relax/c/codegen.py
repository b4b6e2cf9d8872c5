"""The default `codegen` stage: one C function and one call per function in NS-TIR.

Local buffers beyond what the stack may hold become scratch in the first memory of the instance with room.

Tests: `tests/relax/lower/test_hook_stages.py`, `tests/backends/c`.
"""

from attrs import evolve

from target_arch.backend.hooks import TirFunction
from target_arch.backend.lowering import DoesNotFit, LoweringRequest
from target_arch.plan.kernels import Access, Call, CFunction, Kernel, LocalBuffer, Operand
from target_arch.plan.operators.facts import Aliasing
from target_arch.plan.operators.kinds import facts_of
from target_arch.relax.c.printer import print_function
from target_arch.relax.tir.predicates import hoist_predicates


def c_kernel(functions: tuple[TirFunction, ...], request: LoweringRequest) -> Kernel:
    """The kernel of a partition whose functions run one after the other.

    Raises DoesNotFit where no memory has room for an operator's scratch, UnprintableError for TIR without C.
    """
    printed = {}
    calls = []
    buffers = [buffer for function in functions for buffer in function.buffers]
    for function in functions:
        body = hoist_predicates(function.function.body)
        made = print_function(function.function.with_body(body), function.kind, loops=function.loops)
        printed[made.function.name] = made.function
        memory = scratch_memory(function.operator, request, sum(made.scratch))
        scratch = [
            LocalBuffer(name=f"{function.operator}.scratch{len(buffers) + n}", bytes=size, memory=memory)
            for n, size in enumerate(made.scratch)
        ]
        buffers += scratch
        calls.append(_call(made.function, function, scratch))
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        functions=tuple(printed.values()),
        constants=tuple(constant for function in functions for constant in function.constants),
        buffers=tuple(buffers),
        actions=tuple(calls),
        notes=tuple(function.note for function in functions if function.note),
        tuned=tuple(dict.fromkeys(function.tuned for function in functions if function.tuned)),
    )


def _call(made: CFunction, function: TirFunction, scratch: list[LocalBuffer]) -> Call:
    """A call of a function. Scratch counts as written only: the function reads only scratch that it wrote
    itself.
    """
    written = function.writes
    operands = [
        Operand(of=each, access=Access.WRITE if each in written else "r") for each in function.operands
    ]
    operands += [Operand(of=buffer.name, access=Access.WRITE) for buffer in scratch]
    return Call(
        function=made.name,
        operands=in_place(made, tuple(operands)),
        operator=function.operator,
        copies=facts_of(function.kind).aliasing is Aliasing.WHOLE,
    )


def in_place(function: CFunction, given: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """The operands, each written one with the operands that it may overwrite: pairs that may be one parameter
    of the function, at every place where the call names them.
    """

    def over(written: int) -> tuple[str, ...]:
        reads = {read for write, read in function.in_place if write == written}
        others = {operand.of for number, operand in enumerate(given) if number not in reads}
        return tuple(dict.fromkeys(given[read].of for read in sorted(reads) if given[read].of not in others))

    return tuple(
        evolve(operand, over=over(number)) if operand.access == Access.WRITE else operand
        for number, operand in enumerate(given)
    )


def scratch_memory(operator: str, request: LoweringRequest, needed: int) -> str:
    """The first memory of the instance that has room for an operator's scratch."""
    preferred = request.instance.memory
    if needed == 0 or operator not in request.budget.sites:
        return preferred[0] if preferred else ""
    rooms = {memory: request.budget.guaranteed(operator, memory) for memory in preferred}
    for memory, room in rooms.items():
        if room >= needed:
            return memory
    widest = max(rooms, key=lambda memory: rooms[memory])
    raise DoesNotFit(operator, widest, needed, rooms[widest])
