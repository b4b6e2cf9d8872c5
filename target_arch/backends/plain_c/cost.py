"""What an operator costs on a CPU: counted work over an assumed rate.

Convolutions and dense layers count multiply-accumulates, everything else elements read. The rates are
options of the target_arch, in multiply-accumulates per cycle, for a compiler's plain code; measure and
set them for your core.
"""

from math import prod

from target_arch.backend.contract import Backend, Option, Question
from target_arch.plan.model import Arithmetic, Model, Operator

INTEGER_RATE = Option(
    name="macs_per_cycle", default=1.0, help="8-bit multiply-accumulates per clock cycle of compiled C"
)
FLOAT_RATE = Option(
    name="float_macs_per_cycle",
    default=0.5,
    help="float32 multiply-accumulates per clock cycle of compiled C",
)
CLOCK = 100e6
"""Hertz, where the description gives no clock."""
_PER_ELEMENT = {"reshape": 0.25, "transpose": 1.0, "concat": 1.0, "softmax": 40.0, "add": 12.0, "sub": 12.0}
"""Multiply-accumulates that one element is worth; scaling to another grid costs about eight."""
_OTHER = 8.0
_PER_OUTPUT = 8.0
"""What bias, scaling and clamping of one output are worth."""


def work(operator: Operator, model: Model) -> float:
    """The work of an operator, in multiply-accumulates."""
    out = prod(model.tensors[operator.output].shape)
    if operator.kind in ("conv2d", "dense"):
        weights = model.tensors[operator.constants[0]].shape
        return out * (prod(weights[1:]) + _PER_OUTPUT)
    if operator.kind == "depthwise_conv2d":
        weights = model.tensors[operator.constants[0]].shape
        return out * (prod(weights[:2]) + _PER_OUTPUT)
    elements = sum(prod(model.tensors[name].shape) for name in operator.inputs)
    return max(elements, out) * _PER_ELEMENT.get(operator.kind, _OTHER)


def seconds(question: Question, backend: Backend) -> float:
    """Seconds of computing at the instance."""
    option = FLOAT_RATE if question.operator.arithmetic == Arithmetic.FLOAT else INTEGER_RATE
    rate = float(question.option(backend, option.name))
    clock = question.instance.arch.clock or CLOCK
    return work(question.operator, question.model) / (rate * clock)
