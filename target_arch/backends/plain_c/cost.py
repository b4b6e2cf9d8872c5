"""The cost of an operator on a CPU: counted work over an assumed rate.

Convolutions and dense layers count multiply-accumulates, everything else elements read. The rates are
options of the target_arch, in multiply-accumulates per cycle, for a compiler's plain code; measure and
set them for your core.
"""

from math import prod

from target_arch.backend.contract import Backend, Option, Question
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic

INTEGER_RATE = Option(
    name="macs_per_cycle",
    default=1.0,
    help="8-bit multiply-accumulates per clock cycle of compiled C",
    positive=True,
)
FLOAT_RATE = Option(
    name="float_macs_per_cycle",
    default=0.5,
    help="float32 multiply-accumulates per clock cycle of compiled C",
    positive=True,
)
CLOCK = 100e6
"""Hertz, where the description gives no clock."""


def work(operator: Operator, model: Model) -> float:
    """The work of an operator, in multiply-accumulates."""
    out, each = prod(model.tensors[operator.output].shape), operator.facts.element_work
    products = model.macs_per_output(operator)
    if products:
        return out * (products + each)
    elements = sum(prod(model.tensors[name].shape) for name in operator.inputs)
    return max(elements, out) * each


def seconds(question: Question, backend: Backend) -> float:
    """Seconds of computing at the instance."""
    option = FLOAT_RATE if question.operator.arithmetic == Arithmetic.FLOAT else INTEGER_RATE
    rate = float(question.option(backend, option.name))
    clock = question.instance.arch.clock or CLOCK
    return work(question.operator, question.model) / (rate * clock)
