"""The piece of a region: one function, one call, and the scratch for its lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.lower import Piece, operands
from target_arch.plan.kernels import Access, Call, LocalBuffer, Operand
from target_arch.plan.model import Operator
from target_arch.plan.regions.region import Region
from target_arch.relax.c.codegen import in_place

if TYPE_CHECKING:
    from target_arch.backends.plain_c.regions.ways import Regions


def regions_of(request: LoweringRequest) -> "Regions":
    """The regions of the model, whose weights are packed once."""
    from target_arch.backends.plain_c.regions.ways import Regions

    isa = request.instance.arch.isa
    found: Regions = request.shared.setdefault(("regions", isa), Regions(model=request.model, isa=isa))
    return found


def region_piece(region: Region, operators: Sequence[Operator], request: LoweringRequest) -> Piece:
    """The piece of a region of a partition, whose operators these are."""
    code = regions_of(request).code(region, operators)
    site = operators[-1].id
    memory = region.memory or request.instance.memory[0]
    lines = LocalBuffer(name=f"{site}.lines", bytes=code.plan.scratch, memory=memory, alignment=4)
    buffers = (lines,) if code.plan.scratch else ()
    written = Operand(of=code.plan.output.name, access=Access.WRITE, smaller=region.over is not None)
    given = (image.name for image in code.plan.given)
    touched = (
        *operands((*given, *code.constants), Access.READ),
        written,
        *operands((buffer.name for buffer in buffers), Access.WRITE),
    )
    call = Call(function=code.function.name, operands=in_place(code.function, touched), operator=site)
    return Piece(
        functions=(*code.callees, code.function),
        constants=code.packed,
        buffers=buffers,
        calls=(call,),
        stripes={code.function.name: code.plan},
        notes=(f"stripes: {region}",),
    )
