"""From a partition to its kernel: one C function and one call per operator, in the partition's order.

Imports TVM; a backend loads it when it is asked to lower.
"""

from collections.abc import Iterator

from attrs import frozen

from target_arch.backend.contract import LoweringRequest
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.kernels import Call, CFunction, Kernel, LocalBuffer, Operand
from target_arch.plan.model import Operator, Tensor
from target_arch.relax.c_codegen import scratch_memory
from target_arch.relax.c_printer_expressions import UnprintableError
from target_arch.relax.fallback import NotLegalizedError, lower_relax
from target_arch.relax.te_operators import lower_operator


@frozen(kw_only=True)
class _Piece:
    """What one operator adds to a kernel."""

    functions: tuple[CFunction, ...]
    constants: tuple[Tensor, ...]
    buffers: tuple[LocalBuffer, ...]
    calls: tuple[Call, ...]


def lower(request: LoweringRequest) -> Kernel:
    """The kernel of a partition.

    Raises DoesNotFit where no memory has room for an operator's scratch, DiagnosticError where it has no C.
    """
    pieces = [_piece(operator, request) for operator in request.partition.operators]
    functions = {function.name: function for piece in pieces for function in piece.functions}
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        functions=tuple(functions.values()),
        constants=tuple(constant for piece in pieces for constant in piece.constants),
        buffers=tuple(buffer for piece in pieces for buffer in piece.buffers),
        actions=tuple(call for piece in pieces for call in piece.calls),
    )


def _piece(operator: Operator, request: LoweringRequest) -> _Piece:
    try:
        return _relax_piece(operator, request) if operator.kind == "relax" else _te_piece(operator, request)
    except (NotLegalizedError, UnprintableError, ValueError) as error:
        raise _unsupported(operator, error) from error


def _unsupported(operator: Operator, error: Exception) -> DiagnosticError:
    what = operator.attributes.get("relax_op", operator.kind)
    diagnostic = Diagnostic(
        rule="unsupported-operator",
        place=f"operator {operator.location or operator.id}",
        message=f"`{what}` has no form in C: {error}",
        hint="express it with other operators, or give the SoC a target_arch whose backend takes it",
    )
    return DiagnosticError([diagnostic])


def _te_piece(operator: Operator, request: LoweringRequest) -> _Piece:
    lowered = lower_operator(operator, request.model)
    constants = tuple(packed.tensor(operator) for packed in lowered.packed)
    memory = scratch_memory(operator.id, request, sum(lowered.scratch))
    buffers = tuple(
        _local(f"{operator.id}.scratch{n}", size, memory) for n, size in enumerate(lowered.scratch)
    )
    reads = (*operator.inputs, *operator.constants, *(constant.name for constant in constants))
    call = Call(
        function=lowered.function.name,
        operands=(*_operands(reads, "r"), *_operands((operator.output,), "w"), *_scratch(buffers)),
        operator=operator.id,
    )
    return _Piece(functions=(lowered.function,), constants=constants, buffers=buffers, calls=(call,))


def _relax_piece(operator: Operator, request: LoweringRequest) -> _Piece:
    """Several functions in a row, where TVM made several; what lies between them is scratch."""
    lowered = lower_relax(request.program.functions[operator.id], operator)
    sizes = (*lowered.intermediates.items(), *lowered.scratch.items())
    memory = scratch_memory(operator.id, request, sum(size for _, size in sizes))
    buffers = tuple(_local(name, size, memory) for name, size in sizes)
    calls = tuple(
        Call(
            function=step.function.name,
            operands=(
                *_operands(step.reads, "r"),
                *_operands(step.writes, "w"),
                *_operands(step.scratch, "rw"),
            ),
            operator=operator.id,
        )
        for step in lowered.steps
    )
    functions = tuple(step.function for step in lowered.steps)
    return _Piece(functions=functions, constants=lowered.constants, buffers=buffers, calls=calls)


def _operands(names: tuple[str, ...], access: str) -> Iterator[Operand]:
    return (Operand(of=name, access=access) for name in names)


def _scratch(buffers: tuple[LocalBuffer, ...]) -> Iterator[Operand]:
    return _operands(tuple(buffer.name for buffer in buffers), "rw")


def _local(name: str, size: int, memory: str) -> LocalBuffer:
    return LocalBuffer(name=name, bytes=size, memory=memory)
