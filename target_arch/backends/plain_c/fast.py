"""The piece of an operator that calls a kernel of `runtime_c/kernels`, where there is one for it."""

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.concat import Slot
from target_arch.backends.plain_c.kernels import depthwise, products, reals
from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.backends.plain_c.kernels.made import Made
from target_arch.backends.plain_c.kernels.scale import OutOfRange
from target_arch.backends.plain_c.kernels.sums import Sum, sum_after
from target_arch.backends.plain_c.lower import Piece, operands
from target_arch.plan.kernels import Access, Call, Operand
from target_arch.plan.model import Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.c.codegen import in_place
from target_arch.relax.lower.operators import lower_operator
from target_arch.soc.words import InstructionSet


def fast_piece(operator: Operator, request: LoweringRequest, slot: Slot | None = None) -> Piece | None:
    """The piece of an operator, which writes into `slot` if there is one; None where no kernel is for it, or
    where a tuning record has a schedule that was measured for it.
    """
    if slot and slot.run != _outputs(operator, request):
        return None
    made = _made(operator, request, slot.stride if slot else 0, None)
    if made is None or _tuned(operator, request):
        return None
    out = slot.operand() if slot else Operand(of=operator.output, access=Access.WRITE)
    return _called(operator, made, (), out)


def fast_pair(operator: Operator, after: Operator, request: LoweringRequest) -> Piece | None:
    """The piece of two operators, the second of which adds another tensor to the result of the first; None as
    above.
    """
    added = sum_after(after, operator.output, request.model)
    if added is None:
        return _real_pair(operator, after, request)
    made = _made(operator, request, 0, added)
    return None if made is None else _joint(operator, made, added.other.name, after.output)


def _real_pair(operator: Operator, after: Operator, request: LoweringRequest) -> Piece | None:
    added = reals.sum_after(after, operator.output, request.model)
    if added is None or not _real(operator, request):
        return None
    made = reals.made(operator, request.model, 0, added)
    return _joint(operator, made, added.other.name, after.output)


def _joint(operator: Operator, made: Made, other: str, output: str) -> Piece:
    return _called(operator, made, (other,), Operand(of=output, access=Access.WRITE))


def _made(operator: Operator, request: LoweringRequest, apart: int, after: Sum | None) -> Made | None:
    model, layout = request.model, layout_of(request.instance.arch.isa)
    try:
        if products.refusal(operator, model, layout) is None:
            return products.made(operator, model, layout, apart, after)
        if depthwise.refusal(operator, model) is None:
            return depthwise.made(operator, model, apart, after)
    except OutOfRange:
        return None
    if after is None and _real(operator, request):
        return reals.made(operator, model, apart)
    return None


def _real(operator: Operator, request: LoweringRequest) -> bool:
    """Whether the kernel in float32 is for it. It has no form for Cortex-M7, where the portable one takes a
    quarter more instructions than the definition.
    """
    slow = request.instance.arch.isa is InstructionSet.ARMV7E_M
    return not slow and reals.refusal(operator, request.model) is None


def _outputs(operator: Operator, request: LoweringRequest) -> int:
    """The outputs of a pixel; those of a dense layer, whose result may have any shape, are in its weights."""
    tensors = request.model.tensors
    if operator.kind is OperatorKind.DENSE:
        return tensors[operator.constants[0]].shape[0]
    return tensors[operator.output].shape[-1]


def _tuned(operator: Operator, request: LoweringRequest) -> bool:
    return bool(request.tuning) and lower_operator(operator, request.model, request.tuning).task is not None


def _called(operator: Operator, made: Made, others: tuple[str, ...], out: Operand) -> Piece:
    reads = (*operator.inputs, *(constant.name for constant in made.packed), *others)
    given = in_place(made.function, (*operands(reads, Access.READ), out))
    call = Call(function=made.function.name, operands=given, operator=operator.id)
    return Piece(functions=(made.function,), constants=made.packed, buffers=(), calls=(call,))
