"""The operators that the conv2d engine takes, reasons to refuse the rest, and costs."""

from target_arch.backend.contract import Option, Question, WorkPart
from target_arch.backends.conv2d_engine.tiles import Conv2dEngine, Conv2dSizes, convolution, pair, smallest
from target_arch.backends.quantized import DEFAULT_CLOCK, refused
from target_arch.backends.tiling import link
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.soc.model import Instance, SoC
from target_arch.soc.rounding import ceil_div

OPTIONS = (
    Option(name="max_kernel", default=11, help="greatest height and width of a kernel"),
    Option(name="max_stride", default=4, help="greatest stride in either direction"),
    Option(name="max_channels", default=1024, help="most input or output channels of one layer"),
    Option(name="max_width", default=1024, help="greatest width of an input or output row, in pixels"),
    Option(
        name="macs_per_cycle", default=64, help="int8 multiply-accumulates per clock cycle", positive=True
    ),
    Option(
        name="start_cycles", default=400, help="cycles to write the registers and see the end of a command"
    ),
)

_PIXELS = 4
"""The pixels of an output row that the array of the RTL computes side by side."""

_DEFAULTS = {option.name: int(option.default) for option in OPTIONS}


def option(instance: Instance, name: str) -> int:
    """The value of an engine option at an instance, or its default."""
    return int(instance.arch.options.get(name, _DEFAULTS[name]))


def supports(question: Question) -> str | None:
    """None, or why this engine does not take the operator."""
    kind = question.operator.kind
    if kind is not OperatorKind.CONV2D:
        return f"the engine computes conv2d only, this is {kind}"
    return refused(question) or _beyond(question) or _too_large(question)


def cost(question: Question) -> float:
    """Seconds of one undivided command: set-up cycles, and multiply-accumulates at the engine's rate."""
    engine = describe(question.soc, question.instance)
    conv = _convolution(question, engine)
    return engine.start + conv.macs * engine.per_mac


def parts(question: Question) -> dict[str, WorkPart]:
    """The work of a convolution as `rtl/conv2d_engine` does it: for every group of pixels of an output row
    the windows are read, and each output channel streams its weights through the array.
    """
    engine = describe(question.soc, question.instance)
    conv = convolution(question.operator, question.model, engine.inward)
    lanes = max(option(question.instance, "macs_per_cycle") // _PIXELS, 1)
    groups = conv.rows.out * ceil_div(conv.columns.out, _PIXELS)
    taps, _ = conv.kernel
    width = (conv.columns.kernel + (_PIXELS - 1) * conv.columns.stride) * conv.channels
    streams = groups * conv.out_channels
    beats = ceil_div(conv.filter_bytes, lanes)
    own = {
        "beat of weights": streams * max(beats, _PIXELS - 1),
        "channel of a group": streams,
        "beat of a window's line": groups * taps * ceil_div(width, lanes),
        "group of pixels": groups,
        "channel of a command": conv.out_channels,
    }
    clock = question.instance.arch.clock or DEFAULT_CLOCK
    found = {unit: WorkPart(count=float(count), seconds=count / clock) for unit, count in own.items()}
    return {**found, "command": WorkPart(count=1.0, seconds=engine.start)}


def describe(soc: SoC, instance: Instance) -> Conv2dEngine:
    """The links and the speed of an instance that `supports` accepted something for."""
    inward, outward = link(soc, instance.memory[0], inward=True), link(soc, instance.memory[0], inward=False)
    assert inward is not None
    assert outward is not None
    clock = instance.arch.clock or DEFAULT_CLOCK
    return Conv2dEngine(
        inward=inward,
        outward=outward,
        start=option(instance, "start_cycles") / clock,
        per_mac=1 / (option(instance, "macs_per_cycle") * clock),
    )


def _convolution(question: Question, engine: Conv2dEngine) -> Conv2dSizes:
    inward = engine.inward
    return question.once(
        ("conv2d_engine", question.operator.id, inward.alignment, inward.two_dimensional),
        lambda: convolution(question.operator, question.model, inward),
    )


def _beyond(question: Question) -> str | None:
    """Sizes against the limits of the engine."""
    operator, model, instance = question.operator, question.model, question.instance
    batch, _, width, channels = model.tensors[operator.inputs[0]].shape
    out_channels, *kernel, _ = model.tensors[operator.constants[0]].shape
    strides, dilation, padding = (
        pair(operator, "strides"),
        pair(operator, "dilation"),
        operator.attributes["padding"],
    )
    assert isinstance(padding, tuple)
    if batch != 1:
        return f"batch is {batch}, the engine takes 1"
    if max(dilation) > 1:
        return f"dilation is {dilation[0]} x {dilation[1]}, the engine takes 1 x 1"
    limits = (
        ("kernel", max(kernel), "max_kernel", "taps"),
        ("stride", max(strides), "max_stride", "pixels"),
        ("channel count", max(channels, out_channels), "max_channels", "channels"),
        ("row width", max(width, model.tensors[operator.output].shape[2]), "max_width", "pixels"),
    )
    for what, size, name, unit in limits:
        if size > option(instance, name):
            return f"{what} is {size} {unit}, the engine takes at most {option(instance, name)} (`{name}`)"
    sides = zip(("top", "left", "bottom", "right"), padding, (*kernel, *kernel), strict=True)
    for side, pad, taps in sides:
        if pad >= taps:
            return f"padding at the {side} is {pad}, the engine takes less than the kernel's {taps}"
    return None


def _too_large(question: Question) -> str | None:
    """The smallest tiling against the whole memory of the instance."""
    soc, instance = question.soc, question.instance
    if not instance.memory:
        return f"`{instance.arch.name}` has no memory for tiles"
    name = instance.memory[0]
    for inward, way in ((True, "into"), (False, "out of")):
        if link(soc, name, inward=inward) is None:
            return f"no copy path leads {way} `{name}`"
    engine = describe(soc, instance)
    conv = _convolution(question, engine)
    least = question.once(("smallest of conv2d_engine", conv, engine.shape), lambda: smallest(conv, engine))
    size = soc.memory(name).size
    return f"the smallest tile needs {least:,} B of `{name}`, it has {size:,} B" if least > size else None
