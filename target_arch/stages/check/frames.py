"""The checker of frames in flight. It believes nothing of the scheduler and shares no code with it.

The table of rounds is executed as the runtime does, for frames that come without a gap and for some that do
not. All rules of a run's steps apply to what is executed, and each frame by itself has to be a run that
computes what the model means.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve

from target_arch.diagnostics import Diagnostic
from target_arch.plan.frames import FrameBuffer, FramePipeline
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Copy, Dispatch, Fill, Load, Step, StepOrder, Wait
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.check.plan import step_faults
from target_arch.stages.check.rules import at_rest
from target_arch.stages.check.rules.cores import unequal
from target_arch.stages.check.rules.faults import Fault, at
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
    for found in (_malformed(pipeline), _unknown(pipeline), unequal(soc, pipeline.cores)):
        faults = [*at("frames in flight", found)]
        if faults:
            raise CheckError(tuple(faults))
    faults = [*at("frames in flight", _at_rest(soc, pipeline, sizes, run))]
    count = pipeline.frames + 2 * pipeline.rounds
    full = (True,) * count
    for present in (full, tuple(number % 3 != 1 for number in range(count))):
        faults += _faults(soc, pipeline, present)
    if faults:
        raise CheckError(tuple(dict.fromkeys(faults)))
    for frame in range(pipeline.rounds):
        check_meaning(soc, graph, kernels, *_one_frame(soc, pipeline, full, frame, run[0]))


def _malformed(pipeline: FramePipeline) -> Iterator[Fault]:
    """Faults of a table that cannot be executed, round by round."""
    kinds, steps = max(len(pipeline.cores), 1), pipeline.order.steps
    length = len(pipeline.stages) // kinds
    before, table = steps[: max(pipeline.loads, 0)], steps[max(pipeline.loads, 0) :]
    if pipeline.rounds < 1 or pipeline.loads < 0 or not 0 <= pipeline.done < length:
        yield "wrong-table", f"{len(steps)} steps are no {pipeline.rounds} rounds of {length}"
    if pipeline.rounds % kinds or len(pipeline.stages) % kinds:
        yield "wrong-table", f"its rounds do not take turns on {kinds} cores"
    if not all(0 <= stage < pipeline.frames for stage in pipeline.stages):
        yield "wrong-table", f"a stage is none of the {pipeline.frames} that a frame goes through"
    if not all(isinstance(step, Load | Fill) for step in before):
        yield "wrong-table", "a step before the rounds is none of `init`"
    if not all(isinstance(step, Copy | Dispatch | Wait) for step in table):
        yield "wrong-table", "a step of a round is one of `init`"


def _unknown(pipeline: FramePipeline) -> Iterator[Fault]:
    """Names of buffers that do not exist."""
    order = pipeline.order
    known = {buffer.name for buffer in order.buffers} & set(pipeline.buffers)
    named = {name: None for _, name in (*order.inputs, *order.outputs)}
    named |= {buffer.name: None for buffer in order.buffers}
    named |= {name: None for step in order.steps for name in _names(step)}
    for name in named:
        if name not in known:
            yield "wrong-buffers", f"`{name}` is no buffer of a frame"


def _names(step: Step) -> tuple[str, ...]:
    copy = step.copy if isinstance(step, Fill) else step
    if isinstance(copy, Copy):
        return (copy.source.of, copy.target.of)
    operands = copy.operands if isinstance(copy, Dispatch) else ()
    return tuple(name for operand in operands for name in (operand.of, *operand.over))


def _at_rest(
    soc: SoC, pipeline: FramePipeline, sizes: Mapping[str, int], run: tuple[StepOrder, MemoryPlan]
) -> Iterator[tuple[str, str]]:
    order, plan = pipeline.order, pipeline.plan
    yield from _ends(pipeline, run[0])
    yield from at_rest.offsets(soc, order, plan)
    yield from at_rest.sizes((evolve(b, name=pipeline.buffers[b.name].of) for b in order.buffers), sizes)
    yield from at_rest.owners(soc, order)
    yield from at_rest.unseen(soc, order)
    yield from at_rest.capacities(soc, order.buffers, plan)
    known = {buffer.name: _timeless(buffer) for buffer in run[0].buffers}
    for buffer in order.buffers:
        about = pipeline.buffers[buffer.name]
        same = known.get(about.of) == _timeless(evolve(buffer, name=about.of))
        if not same or (about.round is None and about.of != buffer.name):
            yield "wrong-buffers", f"`{buffer.name}` is not as `{about.of}` of a run"
        elif buffer.caller and buffer.turn != about.round:
            yield "wrong-owner", f"`{buffer.name}` is not memory that the caller lends for its frame"
        elif buffer.kind.settled and plan.offsets.get(buffer.name) != run[1].offsets.get(about.of):
            yield "wrong-buffers", f"`{buffer.name}` is not where a run has it"


def _timeless(buffer: Buffer) -> Buffer:
    return evolve(buffer, first=0, last=0, over=(), turn=None, calls=None)


def _ends(pipeline: FramePipeline, run: StepOrder) -> Iterator[Fault]:
    """The inputs and outputs are those of the run, frame after frame, and the states are those of the run."""
    order = pipeline.order
    sides = (("inputs", order.inputs, run.inputs), ("outputs", order.outputs, run.outputs))
    for side, pairs, own in sides:
        found = [(tensor, pipeline.buffers[name]) for tensor, name in pairs]
        wanted = [
            (tensor, FrameBuffer(of=name, round=turn))
            for turn in range(pipeline.rounds)
            for tensor, name in own
        ]
        if found != wanted:
            yield "wrong-buffers", f"the {side} are not those of a run, frame after frame"
    if order.states != run.states:
        yield "wrong-buffers", "the states are not those of a run"


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
    names = {name: about.of for name, about in pipeline.buffers.items() if about.round in (None, frame)}
    there = executed(pipeline, soc.host.name, present).steps
    own = (each.number for each in there if each.frame == frame and each.number is not None)
    fills = [step for step in pipeline.order.at_init if isinstance(step, Fill)]
    calls = (_of_run(pipeline, frame, pipeline.order.steps[number]) for number in own)
    steps = [*fills, *(_renamed(step, names) for step in calls)]
    buffers = tuple(buffer for buffer in run.buffers if buffer.name in set(names.values()))
    offsets = {of: pipeline.plan.offsets[name] for name, of in names.items()}
    return (
        evolve(run, steps=tuple(steps), buffers=buffers),
        MemoryPlan(buffers=buffers, offsets=offsets),
    )


def _of_run(pipeline: FramePipeline, frame: int, step: Step) -> Step:
    """A call on the core of a frame as one on the core that computes a run."""
    cores = pipeline.cores
    if cores and isinstance(step, Dispatch) and step.instance == cores[frame % len(cores)]:
        return evolve(step, instance=cores[0])
    return step


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
