"""From a partition to its kernel: one C function and one call per operator, in the partition's order.

Imports TVM; a backend loads it when it is asked to lower.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.concat import ConcatSlice, slots
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.kernels import (
    MOST_OPERANDS,
    Access,
    Call,
    CFunction,
    Kernel,
    Library,
    LocalBuffer,
    Operand,
)
from target_arch.plan.model import Operator, Tensor
from target_arch.plan.operators.facts import RELAX_OP, Aliasing, Lowering
from target_arch.plan.regions.lines import RegionPlan
from target_arch.plan.runs import copied_runs
from target_arch.relax.c.codegen import in_place, scratch_memory
from target_arch.relax.c.expressions import UnprintableError
from target_arch.relax.ir.errors import reason_of
from target_arch.relax.lower.fallback import NotLegalizedError, lower_relax
from target_arch.relax.lower.operators import (
    LoweredOperator,
    lower_copy,
    lower_into_rows,
    lower_operator,
    lower_pair,
)


@frozen(kw_only=True)
class Piece:
    """One operator's part of a kernel."""

    functions: tuple[CFunction, ...]
    constants: tuple[Tensor, ...]
    buffers: tuple[LocalBuffer, ...]
    calls: tuple[Call, ...]
    tuned: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stripes: Mapping[str, RegionPlan] = field(factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(factory=dict)


def lower(request: LoweringRequest) -> Kernel:
    """The kernel of a partition.

    Raises DoesNotFit where no memory has room for an operator's scratch, DiagnosticError where it has no C.
    """
    return kernel(request, [piece(operator, request) for operator in request.partition.operators])


def kernel(
    request: LoweringRequest,
    pieces: Sequence[Piece],
    *,
    notes: tuple[str, ...] = (),
    libraries: tuple[Library, ...] = (),
) -> Kernel:
    """The kernel of a partition from the pieces of its operators, in their order. Raises DiagnosticError for
    a call with more operands than the runtime passes on.
    """
    functions = {function.name: function for each in pieces for function in each.functions}
    for call in (call for each in pieces for call in each.calls):
        if len(call.operands) > MOST_OPERANDS:
            raise _too_many(call)
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        functions=tuple(functions.values()),
        constants=tuple(constant for each in pieces for constant in each.constants),
        buffers=tuple(buffer for each in pieces for buffer in each.buffers),
        actions=tuple(call for each in pieces for call in each.calls),
        notes=(*notes, *(note for each in pieces for note in each.notes)),
        libraries=libraries,
        stripes={name: plan for each in pieces for name, plan in each.stripes.items()},
        tuned=tuple(dict.fromkeys(task for each in pieces for task in each.tuned)),
        choices={name: codes for each in pieces for name, codes in each.choices.items()},
    )


def piece(operator: Operator, request: LoweringRequest) -> Piece:
    """The piece of one operator. Raises as `lower` does."""
    try:
        match operator.lowering:
            case Lowering.COPIES:
                return concat_piece(operator, request, {})
            case Lowering.ONE_COPY:
                return store_piece(operator, request)
            case Lowering.TVM:
                return _relax_piece(operator, request)
            case Lowering.DEFINITION | Lowering.FOREIGN:
                return view_piece(operator, request) or _te_piece(operator, request)
    except (NotLegalizedError, UnprintableError, ValueError) as error:
        raise _unsupported(operator, error) from error


def joint_piece(operator: Operator, after: Operator, request: LoweringRequest) -> Piece:
    """The piece of two operators as one function, see `lower_pair`. Raises as `lower` does."""
    try:
        lowered = lower_pair(operator, after, request.model)
    except (UnprintableError, ValueError) as error:
        raise _unsupported(operator, error) from error
    others = tuple(name for name in after.inputs if name != operator.output)
    return _called(operator, request, lowered, others, after.output)


def concat_piece(operator: Operator, request: LoweringRequest, through: Mapping[str, ConcatSlice]) -> Piece:
    """A copy for each operand of a concatenation, except operands written `through` to it."""
    functions: dict[str, CFunction] = {}
    calls: list[Call] = []
    for name, slot in zip(operator.inputs, slots(operator, request.model), strict=True):
        if name not in through:
            made = lower_copy(
                request.model.tensors[name], slot.run, slot.run if slot.rows == 1 else slot.stride
            )
            functions[made.function.name] = made.function
            target = slot.operand()
            read = Operand(of=name, access=Access.READ)
            copies = slot.rows == 1
            calls.append(
                Call(
                    function=made.function.name, operands=(read, target), operator=operator.id, copies=copies
                )
            )
    return Piece(functions=tuple(functions.values()), constants=(), buffers=(), calls=tuple(calls))


def view_piece(operator: Operator, request: LoweringRequest) -> Piece | None:
    """A copy of one run of bytes, which is no copy where the planner places the result there; None for other
    operators.
    """
    runs = copied_runs(operator, request.model)
    if runs is None:
        return None
    ((source, _),) = runs
    tensor = request.model.tensors[operator.output]
    made = lower_copy(tensor, tensor.bytes, tensor.bytes)
    read = Operand(of=source.of, access=Access.READ, offset=source.offset, bytes=source.row_bytes)
    write = Operand(of=operator.output, access=Access.WRITE)
    call = Call(function=made.function.name, operands=(read, write), operator=operator.id, copies=True)
    return Piece(functions=(made.function,), constants=(), buffers=(), calls=(call,))


def store_piece(operator: Operator, request: LoweringRequest) -> Piece:
    """A copy of the next value of a state to where it is kept."""
    (name,) = operator.inputs
    tensor = request.model.tensors[name]
    made = lower_copy(tensor, tensor.bytes, tensor.bytes)
    moved = (Operand(of=name, access=Access.READ), Operand(of=operator.output, access=Access.WRITE))
    call = Call(function=made.function.name, operands=moved, operator=operator.id, copies=True)
    return Piece(functions=(made.function,), constants=(), buffers=(), calls=(call,))


def rows_piece(operator: Operator, slot: ConcatSlice, request: LoweringRequest) -> Piece:
    """The piece of an operator that writes its output into rows of another tensor. Raises as `lower` does."""
    try:
        lowered = lower_into_rows(operator, request.model, slot.run, slot.stride)
    except (UnprintableError, ValueError) as error:
        raise _unsupported(operator, error) from error
    made = _called(operator, request, lowered, (), operator.output)
    (call,) = made.calls
    targets = (slot.operand() if each.of == operator.output else each for each in call.operands)
    return evolve(made, calls=(evolve(call, operands=tuple(targets)),))


def _unsupported(operator: Operator, error: Exception) -> DiagnosticError:
    what = operator.attributes.get(RELAX_OP, operator.kind)
    diagnostic = Diagnostic(
        rule="unsupported-operator",
        place=f"operator {operator.location or operator.id}",
        message=f"`{what}` has no form in C: {reason_of(error)}",
        hint="express it with other operators, or give the SoC a target_arch whose backend takes it",
    )
    return DiagnosticError([diagnostic])


def _too_many(call: Call) -> DiagnosticError:
    diagnostic = Diagnostic(
        rule="too-many-operands",
        place=f"operator {call.operator}",
        message=f"its function reads and writes {len(call.operands)} tensors and constants, "
        f"the runtime passes at most {MOST_OPERANDS} on",
        hint="express it with operators of fewer inputs each",
    )
    return DiagnosticError([diagnostic])


def _te_piece(operator: Operator, request: LoweringRequest) -> Piece:
    lowered = lower_operator(operator, request.model, request.tuning)
    return _called(operator, request, lowered, (), operator.output)


def _called(
    operator: Operator,
    request: LoweringRequest,
    lowered: LoweredOperator,
    others: tuple[str, ...],
    output: str,
) -> Piece:
    """A call of the function with all its operands: `others` come after the constants of the operator."""
    constants = tuple(packed.tensor(operator) for packed in lowered.packed)
    buffers = own_memory(operator, lowered.scratch, request)
    reads = (*operator.inputs, *operator.constants, *(constant.name for constant in constants), *others)
    call = Call(
        function=lowered.function.name,
        operands=in_place(
            lowered.function,
            (*operands(reads, Access.READ), *operands((output,), Access.WRITE), *_scratch(buffers)),
        ),
        operator=operator.id,
        copies=operator.facts.aliasing is Aliasing.WHOLE,
    )
    return Piece(
        functions=(lowered.function,),
        constants=constants,
        buffers=buffers,
        calls=(call,),
        tuned=(lowered.task,) if lowered.task else (),
    )


def _relax_piece(operator: Operator, request: LoweringRequest) -> Piece:
    """Several functions in a row, where TVM made several; values between them are scratch."""
    lowered = lower_relax(request.program.alone(operator.id), operator)
    sizes = (*lowered.intermediates.items(), *lowered.scratch.items())
    memory = scratch_memory(operator.id, request, sum(size for _, size in sizes))
    buffers = tuple(_local(name, size, memory) for name, size in sizes)
    calls = tuple(
        Call(
            function=step.function.name,
            operands=in_place(
                step.function,
                (
                    *operands(step.reads, Access.READ),
                    *operands(step.writes, Access.WRITE),
                    *operands(step.scratch, Access.WRITE),
                ),
            ),
            operator=operator.id,
        )
        for step in lowered.steps
    )
    functions = tuple(step.function for step in lowered.steps)
    return Piece(functions=functions, constants=lowered.constants, buffers=buffers, calls=calls)


def own_memory(
    operator: Operator, sizes: tuple[int, ...], request: LoweringRequest
) -> tuple[LocalBuffer, ...]:
    """Buffers of so many bytes each, which the function of an operator writes before it reads them. Raises
    DoesNotFit where no memory has room for them.
    """
    memory = scratch_memory(operator.id, request, sum(sizes))
    return tuple(_local(f"{operator.id}.scratch{n}", size, memory) for n, size in enumerate(sizes))


def operands(names: Iterable[str], access: Access) -> Iterator[Operand]:
    """Operands of a call, whole."""
    return (Operand(of=name, access=access) for name in names)


def _scratch(buffers: tuple[LocalBuffer, ...]) -> Iterator[Operand]:
    """Scratch counts as written only: a function reads only scratch that it wrote itself."""
    return operands(tuple(buffer.name for buffer in buffers), Access.WRITE)


def _local(name: str, size: int, memory: str) -> LocalBuffer:
    return LocalBuffer(name=name, bytes=size, memory=memory)
