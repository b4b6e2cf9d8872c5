"""The backend value, and the lowering of a partition: one C function and one call per operator, or per pair
of operators.
"""

from target_arch.backend.contract import Backend, DefaultArch, LoweringRequest, Option, Question
from target_arch.backends.plain_c.cost import CLOCK, FLOAT_RATE, INTEGER_RATE, parts, seconds, way
from target_arch.backends.plain_c.support import refusal
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.plan.model import Model
from target_arch.plan.regions.region import Striping
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.soc.model import Instance, LoadProcess, Memory
from target_arch.soc.words import DLDeviceType

ROWS_IN_FLIGHT = Option(
    name="rows_in_flight",
    default=False,
    help="images go to its own memory and from it in pieces of some rows, while it computes others",
)


def _cost(question: Question) -> float:
    return seconds(question, backend)


def _way(question: Question) -> str:
    return way(question, backend)


def _lower(request: LoweringRequest) -> Kernel:
    from target_arch.backends.plain_c.four_bits import with_four_bits
    from target_arch.backends.plain_c.lower import kernel
    from target_arch.backends.plain_c.pairs import pieces

    if backend.option(request.instance, ROWS_IN_FLIGHT.name):
        from target_arch.backends.plain_c.in_flight import kernel_in_flight

        found = kernel_in_flight(request, backend)
        if found is not None:
            return found
    return kernel(request, list(with_four_bits(pieces(request), request)))


def _regions(instance: Instance, model: Model) -> Striping:
    from target_arch.backends.plain_c.regions.ways import Regions

    return Regions(model=model, isa=instance.arch.isa)


backend = Backend(
    name="c",
    description="plain C99 from TIR, for any CPU",
    codegen=Codegen.C,
    patterns=standard_patterns(),
    supports=refusal,
    cost=_cost,
    lower=_lower,
    way=_way,
    work=parts,
    regions=_regions,
    options=(INTEGER_RATE, FLOAT_RATE, ROWS_IN_FLIGHT),
    default_arch=DefaultArch(
        device=DLDeviceType.CPU,
        clock=CLOCK,
        memories=(Memory(name="ram", size=1 << 30, read_bandwidth=1e9, write_bandwidth=1e9),),
        load=LoadProcess(),
    ),
    contract=2,
)
