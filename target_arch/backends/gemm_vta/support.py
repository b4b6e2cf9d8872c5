"""The operators that the engine takes, reasons to refuse the rest, and costs."""

from target_arch.backend.contract import Option, Question
from target_arch.backends.gemm_vta.description import LANES
from target_arch.backends.gemm_vta.layer import layer_of
from target_arch.backends.gemm_vta.tiles import ENTRY_BYTES, MOST, entries, smallest
from target_arch.backends.quantized import DEFAULT_CLOCK, refused
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind

OPTIONS = (
    Option(
        name="products_per_cycle", default=1, help=f"vectors times {LANES} x {LANES} blocks per clock cycle"
    ),
    Option(name="start_cycles", default=600, help="cycles to start a stream and see its end"),
)
BUFFERS = tuple(ENTRY_BYTES)
PADDING_MOST = 255


def supports(question: Question) -> str | None:
    """None, or why this engine does not take the operator."""
    operator, model = question.operator, question.model
    if operator.kind not in (OperatorKind.CONV2D, OperatorKind.DENSE):
        return f"the engine computes conv2d and dense only, this is {operator.kind}"
    return refused(question) or _geometry(operator, model) or _too_large(question)


def cost(question: Question) -> float:
    """Seconds: one product of a vector with a block at a time, then five ALU passes over the accumulators."""
    layer = layer_of(question.operator, question.model)
    rows, columns, _ = layer.result
    rate = _option(question, "products_per_cycle")
    cycles = _option(question, "start_cycles") + layer.products / rate + 5 * rows * columns * layer.outputs
    return cycles / (question.instance.arch.clock or DEFAULT_CLOCK)


def _option(question: Question, name: str) -> float:
    default = next(option.default for option in OPTIONS if option.name == name)
    return float(question.instance.arch.options.get(name, default))


def _geometry(operator: Operator, model: Model) -> str | None:
    if operator.kind is OperatorKind.DENSE:
        return None
    dilation = operator.attributes.get("dilation", (1, 1))
    if dilation != (1, 1):
        return f"dilation of {dilation}, the engine takes 1 in every direction"
    if model.tensors[operator.inputs[0]].shape[0] != 1:
        return f"{model.tensors[operator.inputs[0]].shape[0]} images, the engine takes one at a time"
    most = max(layer_of(operator, model).padding)
    return f"padding of {most}, the engine takes at most {PADDING_MOST}" if most > PADDING_MOST else None


def _too_large(question: Question) -> str | None:
    """A tile of one result against the whole buffers of the instance."""
    instance = question.instance
    layer = layer_of(question.operator, question.model)
    for name, count in entries(layer, smallest(layer)).items():
        if name not in instance.buffers:
            return f"`{instance.arch.name}` maps no memory to the buffer `{name}`"
        size = question.soc.memory(instance.buffers[name]).size
        there = min(size // ENTRY_BYTES[name], MOST[name])
        if count > there:
            return f"one result needs {count} entries of `{instance.buffers[name]}`, there are {there}"
    return None
