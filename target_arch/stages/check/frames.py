"""The checker of frames in flight. It believes nothing of the scheduler and shares no code with it.

The table of rounds is executed as the runtime does, for frames that come without a gap and for some that do
not. All rules of a run's steps apply to what is executed, and each frame by itself has to be a run that
computes what the model means.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve

from target_arch.diagnostics import Diagnostic
from target_arch.plan.frames import FramePipeline
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Copy, Dispatch, Fill, StepOrder
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.check.plan import step_faults
from target_arch.stages.check.rules import at_rest
from target_arch.stages.check.rules.faults import at
from target_arch.stages.check.rules.frames import FrameStates, executed
from target_arch.stages.errors import CheckError
from target_arch.stages.garbage_collector import gc_paused


@gc_paused()
def check_frames(
    soc: SoC,
    pipeline: FramePipeline,
    graph: PartitionGraph,
    kernels: Mapping[str, Kernel],
    sizes: Mapping[str, int],
    run: tuple[StepOrder, MemoryPlan],
) -> None:
    """Raises CheckError with every fault of what is executed: those of steps and plans (`check.plan`), steps
    on the buffers of another frame, states that are not those of the frame before, frames that are not over
    when they are said to be, constants and states that are not where the `run` has them.
    """
    faults = [*at("frames in flight", _at_rest(soc, pipeline, sizes, run))]
    count = pipeline.frames + 2 * pipeline.rounds
    full = (True,) * count
    for present in (full, tuple(number % 3 != 1 for number in range(count))):
        faults += _faults(soc, pipeline, present)
    if faults:
        raise CheckError(tuple(dict.fromkeys(faults)))
    for frame in range(pipeline.rounds):
        check_meaning(graph, kernels, *_one_frame(soc, pipeline, full, frame, run[0]))


def _at_rest(
    soc: SoC, pipeline: FramePipeline, sizes: Mapping[str, int], run: tuple[StepOrder, MemoryPlan]
) -> Iterator[tuple[str, str]]:
    order, plan = pipeline.order, pipeline.plan
    yield from at_rest.offsets(soc, order, plan)
    yield from at_rest.sizes((evolve(b, name=pipeline.buffers[b.name].of) for b in order.buffers), sizes)
    yield from at_rest.unseen(soc, order)
    yield from at_rest.capacities(soc, order.buffers, plan)
    known = {buffer.name: buffer for buffer in run[0].buffers}
    for buffer in order.buffers:
        of = pipeline.buffers[buffer.name].of
        same = of in known and (known[of].memory, known[of].bytes) == (buffer.memory, buffer.bytes)
        if not same:
            yield "wrong-buffers", f"`{buffer.name}` is not as `{of}` of a run"
        elif buffer.kind.settled and plan.offsets.get(buffer.name) != run[1].offsets.get(of):
            yield "wrong-buffers", f"`{buffer.name}` is not where a run has it"


def _faults(soc: SoC, pipeline: FramePipeline, present: tuple[bool, ...]) -> Iterator[Diagnostic]:
    frames = executed(pipeline, soc.host.name, present)
    yield from at("frames in flight", frames.faults)
    yield from step_faults(soc, frames.order, frames.plan)
    states = FrameStates(pipeline, present)
    for each in frames.steps:
        if each.frame is not None and each.number is not None:
            yield from at(f"frame {each.frame}", states.touch(each.number, each.frame))


def _one_frame(
    soc: SoC, pipeline: FramePipeline, present: tuple[bool, ...], frame: int, run: StepOrder
) -> tuple[StepOrder, MemoryPlan]:
    """The steps of one frame as those of a run: on the buffers of the run, in the places of the frame."""
    names = {
        name: about.of
        for name, about in pipeline.buffers.items()
        if about.round in (None, frame % pipeline.rounds)
    }
    there = executed(pipeline, soc.host.name, present).steps
    own = (each.number for each in there if each.frame == frame and each.number is not None)
    fills = [step for step in pipeline.order.at_init if isinstance(step, Fill)]
    steps = [*fills, *(_renamed(pipeline.order.steps[number], names) for number in own)]
    buffers = tuple(buffer for buffer in run.buffers if buffer.name in set(names.values()))
    offsets = {of: pipeline.plan.offsets[name] for name, of in names.items()}
    return (
        evolve(run, steps=tuple(steps), buffers=buffers),
        MemoryPlan(buffers=buffers, offsets=offsets),
    )


def _renamed(step: object, names: Mapping[str, str]) -> Copy | Dispatch:
    if isinstance(step, Copy):
        source, target = step.source, step.target
        return evolve(step, source=source.renamed(names[source.of]), target=target.renamed(names[target.of]))
    assert isinstance(step, Dispatch)
    operands = (
        evolve(operand, of=names[operand.of], over=tuple(names[name] for name in operand.over))
        for operand in step.operands
    )
    return evolve(step, operands=tuple(operands))
