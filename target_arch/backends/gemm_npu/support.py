"""The operators that the matrix engine takes, reasons to refuse the rest, and costs."""

from target_arch.backend.contract import Option, Question
from target_arch.backends.gemm_npu.tiles import SCRATCHPADS, GemmEngine, product, smallest
from target_arch.backends.quantized import DEFAULT_CLOCK, refused
from target_arch.backends.tiling import link
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.soc.model import Instance, SoC

OPTIONS = (
    Option(
        name="macs_per_cycle", default=256, help="int8 multiply-accumulates per clock cycle", positive=True
    ),
    Option(
        name="start_cycles", default=400, help="cycles to write the registers and see the end of a command"
    ),
)
BUFFERS = ("inp", "wgt", "acc")

_DEFAULTS = {option.name: int(option.default) for option in OPTIONS}


def option(instance: Instance, name: str) -> int:
    """The value of an engine option at an instance, or its default."""
    return int(instance.arch.options.get(name, _DEFAULTS[name]))


def supports(question: Question) -> str | None:
    """None, or why this engine does not take the operator."""
    operator, model = question.operator, question.model
    if operator.kind not in (OperatorKind.DENSE, OperatorKind.CONV2D):
        return f"the engine computes dense and pointwise conv2d only, this is {operator.kind}"
    return refused(question) or _not_pointwise(operator, model) or _too_large(question)


def cost(question: Question) -> float:
    """Seconds of one undivided command: set-up cycles, and multiply-accumulates at the engine's rate."""
    engine = describe(question.soc, question.instance)
    return engine.start + product(question.operator, question.model).macs * engine.per_mac


def describe(soc: SoC, instance: Instance) -> GemmEngine:
    """The scratchpads, links and speed of an instance that `supports` accepted something for."""
    memories = {role: instance.buffers[buffer] for role, buffer in SCRATCHPADS.items()}
    inputs, weights = link(soc, memories["input"], inward=True), link(soc, memories["weights"], inward=True)
    outward = link(soc, memories["output"], inward=False)
    assert inputs is not None
    assert weights is not None
    assert outward is not None
    clock = instance.arch.clock or DEFAULT_CLOCK
    return GemmEngine(
        memories=memories,
        inputs=inputs,
        weights=weights,
        outward=outward,
        start=option(instance, "start_cycles") / clock,
        per_mac=1 / (option(instance, "macs_per_cycle") * clock),
    )


def _not_pointwise(operator: Operator, model: Model) -> str | None:
    """Why a conv2d is no matrix product of its pixels."""
    if operator.kind is not OperatorKind.CONV2D:
        return None
    _, height, width, _ = model.tensors[operator.constants[0]].shape
    if (height, width) != (1, 1):
        return f"kernel is {height} x {width}, the engine takes 1 x 1"
    for name in ("strides", "padding"):
        value = operator.attributes[name]
        least = 1 if name == "strides" else 0
        if not isinstance(value, tuple) or any(each != least for each in value):
            return f"{name} of {value}, the engine takes {least} in every direction"
    return None


def _too_large(question: Question) -> str | None:
    """The smallest tiling against the whole scratchpads of the instance."""
    soc, instance = question.soc, question.instance
    for buffer in BUFFERS:
        if buffer not in instance.buffers:
            return f"`{instance.arch.name}` maps no memory to the buffer `{buffer}`"
    for buffer, inward, way in (("inp", True, "into"), ("wgt", True, "into"), ("acc", False, "out of")):
        if link(soc, instance.buffers[buffer], inward=inward) is None:
            return f"no copy path leads {way} `{instance.buffers[buffer]}`"
    engine = describe(soc, instance)
    sizes = product(question.operator, question.model)
    least_of = question.once(("smallest of gemm_npu", sizes, engine.shape), lambda: smallest(sizes, engine))
    for name, least in sorted(least_of.items()):
        if least > soc.memory(name).size:
            return f"the smallest block needs {least:,} B of `{name}`, it has {soc.memory(name).size:,} B"
    return None
