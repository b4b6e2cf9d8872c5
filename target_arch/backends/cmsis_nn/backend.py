"""The backend value and its options."""

from target_arch.backend.contract import Backend, DefaultArch, LoweringRequest, Option, Question
from target_arch.backends.cmsis_nn.support import library_refusal, refusal
from target_arch.backends.plain_c.cost import CLOCK, FLOAT_RATE, INTEGER_RATE, seconds, work
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.soc.model import LoadProcess, Memory
from target_arch.soc.words import DLDeviceType

LIBRARY = Option(
    name="library",
    default="",
    help="folder of a C library with the calling convention of CMSIS-NN; without one, the example that is"
    " shipped",
)
CORE = Option(
    name="core",
    default="plain",
    help="whose scratch sizes to ask for: `plain`, `dsp` or `mve`; those of this computer hold too",
)
CARRY = Option(
    name="carry",
    default=True,
    help="true: the bundle has the C files it needs; false: `make` finds them through CMSIS_NN",
)
FALLBACK = Option(
    name="fallback", default=True, help="lower what the library lacks as plain C; false: refuse it"
)
LIBRARY_RATE = Option(
    name="library_macs_per_cycle",
    default=2.0,
    help="8-bit multiply-accumulates per clock cycle of the library",
    positive=True,
)


def _refusal(question: Question) -> str | None:
    return refusal(question, backend)


def _cost(question: Question) -> float:
    """Seconds: at the library's rate where it is a call, else as plain C."""
    if library_refusal(question.operator, question.model, question.instance, backend) is not None:
        return seconds(question, backend)
    clock = question.instance.arch.clock or CLOCK
    rate = float(question.option(backend, LIBRARY_RATE.name))
    return work(question.operator, question.model) / (rate * clock)


def _lower(request: LoweringRequest) -> Kernel:
    from target_arch.backends.cmsis_nn.lower import lower

    return lower(request, backend)


backend = Backend(
    name="cmsis_nn",
    description="calls of a C library with CMSIS-NN's convention, plain C for the rest",
    codegen=Codegen.C,
    patterns=standard_patterns(),
    supports=_refusal,
    cost=_cost,
    lower=_lower,
    options=(LIBRARY, CORE, CARRY, FALLBACK, LIBRARY_RATE, INTEGER_RATE, FLOAT_RATE),
    default_arch=DefaultArch(
        device=DLDeviceType.CPU,
        clock=CLOCK,
        memories=(Memory(name="ram", size=16 << 20, read_bandwidth=1e9, write_bandwidth=1e9),),
        load=LoadProcess(),
    ),
    contract=2,
)
