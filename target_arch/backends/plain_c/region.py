"""The piece of a region: one function, one call, and the scratch for its lines."""

from collections.abc import Sequence

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.lower import Piece, operands
from target_arch.backends.plain_c.stripes.channels_text import channels_function
from target_arch.backends.plain_c.stripes.convolution import StripedConvolution
from target_arch.backends.plain_c.stripes.regions import Regions
from target_arch.backends.plain_c.stripes.rows_text import RowsText
from target_arch.plan.kernels import Access, Call, LocalBuffer, Operand
from target_arch.plan.model import Operator
from target_arch.plan.regions.region import Region
from target_arch.plan.regions.stripes import Stripes
from target_arch.relax.c.codegen import in_place


def regions_of(request: LoweringRequest) -> Regions:
    """The regions of the model, whose weights are packed once for a compilation."""
    isa = request.instance.arch.isa
    found: Regions = request.kept.setdefault(("regions", isa), Regions(model=request.model, isa=isa))
    return found


def region_piece(region: Region, operators: Sequence[Operator], request: LoweringRequest) -> Piece:
    """The piece of a region of a partition, whose operators these are."""
    model, regions = request.model, regions_of(request)
    units = regions.units(operators)
    assert units is not None
    plan = regions.plan(region, units)
    if isinstance(plan, Stripes):
        function = RowsText(plan=plan, units=units, model=model).function()
        given, output = [image.name for image in plan.given], plan.output.name
    else:
        (unit,) = units
        assert isinstance(unit, StripedConvolution)
        function = channels_function(plan, unit, model)
        given, output = [plan.tensor], plan.output
    constants = [name for unit in units for name in unit.constants]
    site = operators[-1].id
    memory = region.memory or request.instance.memory[0]
    lines = LocalBuffer(name=f"{site}.lines", bytes=plan.scratch, memory=memory, alignment=4)
    buffers = (lines,) if plan.scratch else ()
    written = Operand(of=output, access=Access.WRITE, smaller=region.over is not None)
    touched = (
        *operands((*given, *constants), Access.READ),
        written,
        *operands((buffer.name for buffer in buffers), Access.WRITE),
    )
    call = Call(function=function.name, operands=in_place(function, touched), operator=site)
    return Piece(
        functions=(*(each for unit in units for each in unit.functions), function),
        constants=tuple(constant for unit in units for constant in unit.packed),
        buffers=buffers,
        calls=(call,),
        stripes={function.name: plan},
        notes=(f"stripes: {region}",),
    )
