"""The piece of a region: one function, one call, and the scratch for its lines."""

from collections.abc import Sequence

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.backends.plain_c.lower import Piece, operands
from target_arch.backends.plain_c.stripes.channels_text import channels_function
from target_arch.backends.plain_c.stripes.regions import Regions
from target_arch.backends.plain_c.stripes.rows_text import RowsText
from target_arch.plan.kernels import Access, Call, LocalBuffer, Operand
from target_arch.plan.model import Operator
from target_arch.plan.regions.region import Region
from target_arch.plan.regions.stripes import Stripes
from target_arch.relax.c.codegen import in_place


def _regions(request: LoweringRequest) -> Regions:
    """The regions of the model, whose weights are packed once for a compilation."""
    isa = request.instance.arch.isa
    found: Regions = request.kept.setdefault(
        ("regions", isa), Regions(model=request.model, layout=layout_of(isa))
    )
    return found


def region_piece(region: Region, operators: Sequence[Operator], request: LoweringRequest) -> Piece:
    """The piece of a region of a partition, whose operators these are."""
    model, regions = request.model, _regions(request)
    units = regions.units(operators)
    assert units is not None
    plan = regions.plan(region, units)
    if isinstance(plan, Stripes):
        function = RowsText(plan=plan, units=units, model=model).function()
        given, output = [image.name for image in plan.given], plan.output.name
    else:
        function = channels_function(plan, units[0], model)
        given, output = [plan.tensor], plan.output
    packed = tuple(constant for unit in units for constant in unit.weighed.packed)
    site = operators[-1].id
    memory = region.memory or request.instance.memory[0]
    lines = LocalBuffer(name=f"{site}.lines", bytes=plan.scratch, memory=memory, alignment=4)
    buffers = (lines,) if plan.scratch else ()
    written = Operand(of=output, access=Access.WRITE, smaller=region.over is not None)
    touched = (
        *operands((*given, *(constant.name for constant in packed)), Access.READ),
        written,
        *operands((buffer.name for buffer in buffers), Access.WRITE),
    )
    call = Call(function=function.name, operands=in_place(function, touched), operator=site)
    return Piece(
        functions=(function,),
        constants=packed,
        buffers=buffers,
        calls=(call,),
        stripes={function.name: plan},
        notes=(f"stripes: {region}",),
    )
