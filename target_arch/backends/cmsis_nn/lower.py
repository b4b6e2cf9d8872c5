"""From a partition to its kernel: a call of the library for each operator that it has, plain C for the rest.

Imports TVM; the backend loads it when it is asked to lower.
"""

from target_arch.backend.contract import Backend, LoweringRequest
from target_arch.backends.cmsis_nn.calls import function_of, library_call
from target_arch.backends.cmsis_nn.folder import folder_at
from target_arch.backends.cmsis_nn.host import host_library
from target_arch.backends.cmsis_nn.matrices import matrices_call
from target_arch.backends.cmsis_nn.support import library_refusal
from target_arch.backends.plain_c.fast import fast_piece
from target_arch.backends.plain_c.lower import Piece, kernel, operands, piece
from target_arch.plan.kernels import Access, Call, Kernel, LocalBuffer
from target_arch.plan.model import Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.c.codegen import scratch_memory


def lower(request: LoweringRequest, backend: Backend) -> Kernel:
    """The kernel of a partition. Raises as `plain_c.lower` does, and where the library refuses one."""
    pieces: list[Piece] = []
    notes: list[str] = []
    called: list[str] = []
    for operator in request.partition.operators:
        reason = library_refusal(operator, request.model, request.instance, backend)
        if reason is None:
            made, note = _library_piece(operator, request, backend)
            called.append(function_of(operator, request.model))
        else:
            made = fast_piece(operator, request) or piece(operator, request)
            note = f"{operator.id} in plain C: {reason}"
        pieces.append(made)
        notes.append(note)
    folder = folder_at(backend.option(request.instance, "library"))
    library = folder.library(called, carried=backend.option(request.instance, "carry"))
    return kernel(request, pieces, notes=tuple(notes), libraries=(library,) if called else ())


def _library_piece(operator: Operator, request: LoweringRequest, backend: Backend) -> tuple[Piece, str]:
    library = host_library(backend.option(request.instance, "library"))
    call = matrices_call if operator.kind is OperatorKind.MATMUL else library_call
    made = call(operator, request.model, library, backend.option(request.instance, "core"))
    memory = scratch_memory(operator.id, request, made.scratch)
    scratch = LocalBuffer(name=f"{operator.id}.scratch", bytes=made.scratch, memory=memory)
    buffers = (scratch,) if made.scratch else ()
    reads = (*operator.inputs, *operator.constants, *(tensor.name for tensor in made.packed))
    step = Call(
        function=made.function.name,
        operands=(
            *operands(reads, Access.READ),
            *operands((operator.output,), Access.WRITE),
            *operands(tuple(buffer.name for buffer in buffers), Access.WRITE),
        ),
        operator=operator.id,
    )
    function = function_of(operator, request.model)
    note = f"{operator.id} by {function}" + (f", {made.scratch} B of scratch" if made.scratch else "")
    return Piece(functions=(made.function,), constants=made.packed, buffers=buffers, calls=(step,)), note
