"""The piece of an operator that calls a kernel of `runtime_c/kernels`, where there is one for it."""

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.concat import Slot
from target_arch.backends.plain_c.kernels import products
from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.backends.plain_c.kernels.made import Made
from target_arch.backends.plain_c.lower import Piece, operands
from target_arch.plan.kernels import Access, Call, Operand
from target_arch.plan.model import Operator
from target_arch.relax.lower.operators import lower_operator


def fast_piece(operator: Operator, request: LoweringRequest, slot: Slot | None = None) -> Piece | None:
    """The piece of an operator, which writes into `slot` if there is one; None where no kernel is for it, or
    where a tuning record has a schedule that was measured for it.
    """
    layout = layout_of(request.instance.arch.isa)
    if products.refusal(operator, request.model, layout) is not None or _tuned(operator, request):
        return None
    made = products.made(operator, request.model, layout, apart=slot.stride if slot else 0)
    return _called(
        operator, made, slot.operand() if slot else Operand(of=operator.output, access=Access.WRITE)
    )


def _tuned(operator: Operator, request: LoweringRequest) -> bool:
    return bool(request.tuning) and lower_operator(operator, request.model, request.tuning).task is not None


def _called(operator: Operator, made: Made, out: Operand) -> Piece:
    reads = (*operator.inputs, *(constant.name for constant in made.packed))
    call = Call(
        function=made.function.name, operands=(*operands(reads, Access.READ), out), operator=operator.id
    )
    return Piece(functions=(made.function,), constants=made.packed, buffers=(), calls=(call,))
