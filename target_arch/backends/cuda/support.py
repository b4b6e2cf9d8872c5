"""The operators that a CUDA device takes, and the options of its cost model.

The rates are assumptions for a small GPU and kernels without shared memory; measure and set them for yours.
"""

from target_arch.backend.contract import Option, Question
from target_arch.backends.plain_c import support
from target_arch.plan.operators.facts import Lowering
from target_arch.plan.products import is_hybrid

RATE = Option(
    name="macs_per_cycle",
    default=128.0,
    help="multiply-accumulates per clock cycle of the whole device",
    positive=True,
)
LAUNCH = Option(name="launch_us", default=5.0, help="microseconds from a dispatch to its first thread")
TURN = Option(
    name="turn_ns",
    default=0.0,
    help="nanoseconds of a product, or element of a window or row: a thread takes one after the other",
)
OPTIONS = (RATE, LAUNCH, TURN)


def refusal(question: Question) -> str | None:
    """The reason why not, or None."""
    if question.operator.lowering in (Lowering.TVM, Lowering.COPIES):
        return "operators without a definition of our own are not bound to threads"
    if is_hybrid(question.operator, question.model):
        return "floats times int8 weights: their grids are found by one thread"
    return support.refusal(question)
