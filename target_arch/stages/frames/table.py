"""From a round to the table of steps: as many rounds as buffers need places, and an offset for each."""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from target_arch.plan.frames import FrameBuffer
from target_arch.plan.memory import Arena, Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Event, Step, StepOrder, Wait
from target_arch.soc.rounding import ceil_div
from target_arch.stages.frames.blocks import names_of
from target_arch.stages.frames.packing import Arc, bound, packed
from target_arch.stages.frames.problem import FrameProblem
from target_arch.stages.frames.rounds import Round, RoundStep, RoundTask, RoundWait


@frozen(kw_only=True)
class FrameTable:
    """The steps and buffers of all rounds, see `plan.frames.FramePipeline`."""

    order: StepOrder
    stages: tuple[int, ...]
    rounds: int
    buffers: Mapping[str, FrameBuffer]
    plan: MemoryPlan


def rounds_needed(one: Round) -> int:
    """The least rounds after which no frame needs the bytes of the first one, and no wait means an earlier
    one.
    """
    length = len(one.steps)
    lives = (ceil_div(last - first + 1, length) for first, last in one.lives.values())
    back = max((step.back for step in one.steps if isinstance(step, RoundWait)), default=0)
    return max(1, back + 1, *lives)


def frame_table(problem: FrameProblem, plan: MemoryPlan, one: Round) -> FrameTable:
    """The table of a round. Constants, states and residents stay where the plan of the run has them."""
    rounds, length = rounds_needed(one), len(one.steps)
    loads = problem.run.at_init
    writer = _Writer(problem, one, rounds)
    steps = (writer.step(turn, step) for turn in range(rounds) for step in one.steps)
    end = len(loads) + rounds * length - 1
    buffers = tuple(_buffers(problem, one, rounds, len(loads), end))
    run = problem.run
    turns = range(rounds)
    return FrameTable(
        order=StepOrder(
            steps=(*loads, *steps),
            buffers=tuple(buffer for buffer, _ in buffers),
            inputs=tuple((tensor, writer.name(name, turn)) for turn in turns for tensor, name in run.inputs),
            outputs=tuple(
                (tensor, writer.name(name, turn)) for turn in turns for tensor, name in run.outputs
            ),
            states=run.states,
        ),
        stages=tuple(step.stage if isinstance(step, RoundTask) else 0 for step in one.steps),
        rounds=rounds,
        buffers={buffer.name: about for buffer, about in buffers},
        plan=_plan(plan, buffers, _alone(problem), rounds * length),
    )


class _Writer:
    """Writes the steps of the rounds with the names of the buffers and the values of the events there."""

    def __init__(self, problem: FrameProblem, one: Round, rounds: int) -> None:
        self._problem, self._one, self._rounds = problem, one, rounds
        self._values: dict[str, int] = {}

    def name(self, buffer: str, turn: int) -> str:
        """The buffer of the frames that start in a round."""
        return f"{buffer}#{turn % self._rounds}" if buffer in self._one.lives else buffer

    def step(self, turn: int, step: RoundStep) -> Step:
        """The step in that round of the table; called in the order of the table."""
        if isinstance(step, RoundWait):
            value = (turn - step.back) % self._rounds * self._one.counts[step.timeline] + step.place
            return Wait(event=Event(timeline=step.timeline, value=value))
        event, frame = self._event(step.timeline), turn - step.stage
        what = self._problem.steps[step.task]
        if isinstance(what, Copy):
            source = what.source.renamed(self.name(what.source.of, frame))
            target = what.target.renamed(self.name(what.target.of, frame))
            return evolve(what, source=source, target=target, event=event)
        operands = (
            evolve(
                operand,
                of=self.name(operand.of, frame),
                over=tuple(self.name(name, frame) for name in operand.over),
            )
            for operand in what.operands
        )
        return evolve(what, operands=tuple(operands), event=event)

    def _event(self, timeline: str | None) -> Event | None:
        if timeline is None:
            return None
        self._values[timeline] = self._values.get(timeline, 0) + 1
        return Event(timeline=timeline, value=self._values[timeline])


def _buffers(
    problem: FrameProblem, one: Round, rounds: int, loads: int, end: int
) -> Iterator[tuple[Buffer, FrameBuffer]]:
    """Every buffer with what it is. A life that ends after the table does goes on at its start."""
    length = len(one.steps)
    for buffer in problem.run.buffers:
        life = one.lives.get(buffer.name)
        if life is None:
            yield evolve(buffer, first=0, last=end, over=()), FrameBuffer(of=buffer.name, round=None)
            continue
        for turn in range(rounds):
            first = loads + (life[0] + turn * length) % (rounds * length)
            moved = evolve(
                buffer,
                name=f"{buffer.name}#{turn}",
                first=first,
                last=first + life[1] - life[0],
                over=(),
                turn=turn if buffer.caller else None,
            )
            yield moved, FrameBuffer(of=buffer.name, round=turn)


def _alone(problem: FrameProblem) -> dict[str, str]:
    """The local buffers that one step alone touches, each with the timeline on which that runs."""
    steps: dict[str, list[Copy | Dispatch]] = {}
    for step in problem.steps:
        for name in dict.fromkeys(names_of(step)):
            steps.setdefault(name, []).append(step)
    local = (buffer.name for buffer in problem.run.buffers if buffer.kind is BufferKind.LOCAL)
    calls = ((name, *steps.get(name, ())) for name in local)
    return {
        name: one.event.timeline
        for name, *there in calls
        if len(there) == 1 and isinstance(one := there[0], Dispatch) and one.event is not None
    }


def _plan(
    run: MemoryPlan,
    buffers: Sequence[tuple[Buffer, FrameBuffer]],
    alone: Mapping[str, str],
    circle: int,
) -> MemoryPlan:
    offsets = {one.name: run.offsets[one.name] for one, _ in buffers if one.name in run.offsets}
    peaks, bounds = dict[Arena, int](), dict[Arena, int]()
    for arena in sorted({buffer.arena for buffer, _ in buffers}):
        there = [each for each in buffers if each[0].arena == arena]
        if there[0][0].name in offsets:
            peaks[arena], bounds[arena] = run.peaks[arena], run.bounds[arena]
            continue
        arcs = [
            Arc(
                name=buffer.name,
                bytes=buffer.bytes,
                alignment=buffer.alignment,
                first=buffer.first,
                length=buffer.last - buffer.first + 1,
                timeline=alone.get(about.of),
            )
            for buffer, about in there
        ]
        offsets |= packed(arcs, circle)
        peaks[arena] = max((offsets[buffer.name] + buffer.bytes for buffer, _ in there), default=0)
        bounds[arena] = bound(arcs, circle)
    proven = tuple(sorted(arena for arena in peaks if peaks[arena] == bounds[arena]))
    return MemoryPlan(
        buffers=tuple(buffer for buffer, _ in buffers),
        offsets=offsets,
        peaks=peaks,
        bounds=bounds,
        shared=bounds,
        found_by=dict.fromkeys(peaks, "first fit on a circle"),
        proven=proven,
    )
