"""The piece of an operator that has a form on the vectors of a core: HVX."""

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.cores.hvx.forms import hvx_form
from target_arch.backends.plain_c.lower import Piece, operands
from target_arch.plan.kernels import Access, Call, LocalBuffer
from target_arch.plan.model import Operator
from target_arch.relax.c.codegen import in_place, scratch_memory
from target_arch.relax.lower.objects import LlvmTarget


def vector_piece(operator: Operator, request: LoweringRequest, target: LlvmTarget) -> Piece | None:
    """The piece of an operator for a core with HVX; None where it has no form.

    Raises DoesNotFit where no memory has room for its scratch.
    """
    form = hvx_form(operator, request.model)
    if form is None:
        return None
    function = form.function(target)
    memory = scratch_memory(operator.id, request, form.room)
    room = LocalBuffer(name=f"{operator.id}.scratch0", bytes=form.room, memory=memory)
    buffers = (room,) if form.room else ()
    reads = (*operator.inputs, *(constant.name for constant in form.constants))
    writes = (operator.output, *(buffer.name for buffer in buffers))
    call = Call(
        function=function.name,
        operands=in_place(function, (*operands(reads, Access.READ), *operands(writes, Access.WRITE))),
        operator=operator.id,
    )
    return Piece(
        functions=(function,),
        constants=form.constants,
        buffers=buffers,
        calls=(call,),
        notes=(f"{operator.id}: on vectors of HVX",),
    )
