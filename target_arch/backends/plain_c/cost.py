"""The cost of an operator on a CPU: the work of the kernel that it gets, or of its definition, at the rates
of its target_arch's instruction set.

The options of a target_arch replace them by one rate, for a core that was measured. `pick` imports NumPy, so
it is imported where a cost is asked for: commands without a model start without it.
"""

from typing import TYPE_CHECKING

from target_arch.backend.contract import Backend, Option, Question, WorkPart
from target_arch.backends.plain_c.work.forms import WorkUnit
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.products import is_stepped, widens
from target_arch.soc.chip.chip import cycles_per_instruction

INTEGER_RATE = Option(
    name="macs_per_cycle",
    default=0.0,
    help="8-bit multiply-accumulates per clock cycle of all C, in place of the rates of kernels on its isa",
    positive=True,
)
FLOAT_RATE = Option(
    name="float_macs_per_cycle",
    default=0.0,
    help="float32 multiply-accumulates per clock cycle of all C, in place of the rates of kernels on its isa",
    positive=True,
)
if TYPE_CHECKING:
    from target_arch.backends.plain_c.kernels.pick import Pick

CLOCK = 100e6
"""Hertz, where the description gives no clock."""


def work(operator: Operator, model: Model) -> float:
    """The work of an operator, in multiply-accumulates."""
    from target_arch.backends.plain_c.kernels.pick import defined

    return sum(defined(operator, model).values())


def seconds(question: Question, backend: Backend) -> float:
    """Seconds of computing at the instance, with kernels."""
    stated = _stated(question, backend)
    if stated is not None:
        return stated
    counted = cycles(_predicted(question).work, question.instance.arch.isa)
    return counted * _each(question) / _clock(question)


def parts(question: Question) -> dict[str, WorkPart] | None:
    """The work of the kernel that an operator gets, by its units; None where it has none."""
    isa, found = question.instance.arch.isa, _predicted(question)
    if found.kernel is None:
        return None
    return {
        unit.value: WorkPart(
            count=float(count), seconds=cycles({unit: count}, isa) * _each(question) / _clock(question)
        )
        for unit, count in found.work.items()
        if count
    }


def way(question: Question, backend: Backend) -> str:
    """The kernel and its expected cycles, in words."""
    operator, model, isa = question.operator, question.model, question.instance.arch.isa
    found = _predicted(question)
    narrow = "integers" if is_stepped(operator) else "float16"
    widening = f", widens weights of {narrow}" if widens(operator, model) else ""
    widening += ", widens weights of 4 bits" if WorkUnit.WIDENED in found.work else ""
    if _stated(question, backend) is not None:
        return f"{found}{widening}, at the stated rate"
    return f"{found}{widening}, about {cycles(found.work, isa):,.0f} cycles of {isa}"


def _predicted(question: Question) -> "Pick":
    """The kernel that the operator gets, which depends on the instruction set alone."""
    from target_arch.backends.plain_c.kernels.pick import predicted

    operator, isa = question.operator, question.instance.arch.isa
    return question.once(
        ("kernel of plain C", operator.id, isa),
        lambda: predicted(operator, question.model, isa, question.goal),
    )


def _stated(question: Question, backend: Backend) -> float | None:
    """Seconds at the rate that the description states, None where it states none."""
    option = FLOAT_RATE if question.operator.arithmetic is Arithmetic.FLOAT else INTEGER_RATE
    rate = float(question.option(backend, option.name))
    return work(question.operator, question.model) / (rate * _clock(question)) if rate else None


def _each(question: Question) -> float:
    """Cycles of each instruction there; 1 where the description is of no real part."""
    arch = question.instance.arch
    return cycles_per_instruction(question.soc.chip, arch.name, arch.isa)


def _clock(question: Question) -> float:
    return question.instance.arch.clock or CLOCK
