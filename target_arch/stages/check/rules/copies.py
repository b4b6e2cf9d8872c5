"""Rules of copies: a declared path with its engine, its limits and its cache duty, and the same bytes at both
ends.
"""

from collections.abc import Iterator, Mapping

from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.steps import Copy
from target_arch.soc.model import HOST_ENGINE, CopyPath, SoC
from target_arch.stages.check.rules.faults import Fault


def copy_faults(soc: SoC, step: Copy, buffers: Mapping[str, Buffer], plan: MemoryPlan) -> Iterator[Fault]:
    """Everything wrong with a copy between known buffers."""
    source, target = buffers[step.source.of], buffers[step.target.of]
    ends = (source.memory, target.memory, step.engine)
    paths = [path for path in soc.copies if (path.source, path.target, path.engine) == ends]
    if not paths:
        yield "no-copy-path", f"no path from `{ends[0]}` to `{ends[1]}` by `{step.engine}` is declared"
        return
    refusals = [_violation(path, step, buffers, plan.offsets) for path in paths]
    if None not in refusals:
        yield "copy-path-limit", str(refusals[0])
    if (step.source.rows, step.source.row_bytes) != (step.target.rows, step.target.row_bytes):
        yield "copy-sizes", f"`{step.source}` and `{step.target}` have different rows"
    if step.target.rows > 1 and step.target.stride < step.target.row_bytes:
        yield "copy-sizes", f"`{step.target}` has rows over each other"
    yield from _event(soc, step)


def _event(soc: SoC, step: Copy) -> Iterator[Fault]:
    channel = step.event.timeline.rpartition(".") if step.event is not None else None
    if (step.engine == HOST_ENGINE) != (channel is None):
        yield "wrong-event", f"a copy by `{step.engine}` and the event `{step.event}` do not go together"
    elif channel is not None and not _is_channel(soc, step.engine, channel):
        yield "wrong-event", f"`{step.event}` is on no channel of `{step.engine}`"


def _is_channel(soc: SoC, engine: str, channel: tuple[str, str, str]) -> bool:
    name, _, number = channel
    return name == engine and number.isdigit() and int(number) < soc.dma(engine).channels


def _violation(
    path: CopyPath, step: Copy, buffers: Mapping[str, Buffer], offsets: Mapping[str, int]
) -> str | None:
    """The limit of a path that a copy violates, None if there is none."""
    ends = (step.source, step.target)
    addresses = [offsets.get(part.of, 0) + part.offset for part in ends]
    # An arena begins where its buffers allow it, so that an offset says nothing beyond their alignment.
    numbers = [*(part.stride for part in ends), *addresses, *(buffers[part.of].alignment for part in ends)]
    if any(number % path.alignment for number in numbers):
        return f"the path needs addresses and strides in multiples of {path.alignment} B"
    if path.max_bytes is not None and step.source.row_bytes > path.max_bytes:
        return f"the path carries {path.max_bytes:,} B at once, not {step.source.row_bytes:,} B"
    if step.source.rows > 1 and path.dimensions == 1:
        return "the path carries one row at once"
    if step.cache != path.cache:
        return f"the path has the cache duty `{path.cache}`, not `{step.cache}`"
    return None
