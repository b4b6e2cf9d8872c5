"""From a round to the table of steps: as many rounds as buffers need places, and an offset for each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from target_arch.plan.frames import FrameBuffer
from target_arch.plan.memory import Arena, Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Event, Step, StepOrder, Wait
from target_arch.soc.rounding import ceil_div
from target_arch.stages.frames.packing import Arc, TimelineSpan, bound, packed
from target_arch.stages.frames.problem import FrameProblem, names_of
from target_arch.stages.frames.rounds import Round, RoundStep, RoundTask, RoundWait
from target_arch.stages.steps.simulation.clock import HOST


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
        stages=tuple(_stages(problem, one)),
        rounds=rounds * one.frames,
        buffers={buffer.name: about for buffer, about in buffers},
        plan=_plan(plan, buffers, _spans(problem, one, rounds), rounds * length),
    )


def _stages(problem: FrameProblem, one: Round) -> Iterator[int]:
    """Before how many parts of the round the frame of each step was started."""
    length = len(one.steps) // one.frames
    for number, step in enumerate(one.steps):
        if isinstance(step, RoundTask):
            yield step.stage * one.frames + number // length - problem.frame(step.task)
        else:
            yield 0


class _Writer:
    """Writes the steps of the rounds with the names of the buffers and the values of the events there."""

    def __init__(self, problem: FrameProblem, one: Round, rounds: int) -> None:
        self._problem, self._one, self._rounds = problem, one, rounds
        self._values: dict[str, int] = {}

    def name(self, buffer: str, turn: int) -> str:
        """The buffer of the frames that start in a round."""
        if buffer not in self._one.lives:
            return buffer
        of, part = _part_of(self._problem, buffer, turn % self._rounds)
        return f"{of}#{part}"

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


def _part_of(problem: FrameProblem, buffer: str, turn: int) -> tuple[str, int]:
    """The buffer of a run that one of a round is, and the part of the table that starts its frame."""
    copied = problem.copies.get(buffer)
    return (buffer, turn) if copied is None else (copied.of, turn * problem.frames + copied.frame)


def _buffers(
    problem: FrameProblem, one: Round, rounds: int, loads: int, end: int
) -> Iterator[tuple[Buffer, FrameBuffer]]:
    """Every buffer with what it is. A life that ends after the table does goes on at its start."""
    length = len(one.steps)
    for buffer in problem.run.buffers:
        life = one.lives.get(buffer.name)
        if life is None:
            yield (
                evolve(buffer, first=0, last=end, over=(), calls=None),
                FrameBuffer(of=buffer.name, round=None),
            )
            continue
        for turn in range(rounds):
            first = loads + (life[0] + turn * length) % (rounds * length)
            of, part = _part_of(problem, buffer.name, turn)
            moved = evolve(
                buffer,
                name=f"{of}#{part}",
                first=first,
                last=first + life[1] - life[0],
                over=(),
                turn=part if buffer.caller else None,
                calls=None,
            )
            yield moved, FrameBuffer(of=of, round=part)


def _spans(problem: FrameProblem, one: Round, rounds: int) -> dict[str, TimelineSpan]:
    """The buffers of the table that steps of one timeline alone touch, with their spans there: those of
    frames that take turns on cores, else those that one step needs for itself.
    """
    found: dict[str, TimelineSpan] = {}
    for name, (timeline, first, last) in _steps_of_one_timeline(problem, one).items():
        count = one.counts[timeline]
        for turn in range(rounds if problem.cores or first == last else 0):
            of, part = _part_of(problem, name, turn)
            found[f"{of}#{part}"] = TimelineSpan(
                timeline=timeline,
                first=(first + turn * count) % (rounds * count),
                length=last - first + 1,
                circle=rounds * count,
            )
    return found


def _steps_of_one_timeline(problem: FrameProblem, one: Round) -> dict[str, tuple[str, int, int]]:
    """The buffers that only calls on one timeline touch, with it and the numbers of the first and the last,
    counted from the first of the round in which the frame is started. Where one step needs local bytes, that
    is its number.
    """
    kinds = (BufferKind.LOCAL, BufferKind.ACTIVATION) if problem.cores else (BufferKind.LOCAL,)
    outside = {name for _, name in problem.run.outputs}
    own = {b.name for b in problem.run.buffers if b.kind in kinds and not b.caller} - outside
    counts = Counter[str]()
    touched: dict[str, list[tuple[str, int]]] = {}
    for step in one.steps:
        if isinstance(step, RoundTask):
            timeline, what = step.timeline or HOST, problem.steps[step.task]
            number = step.stage * one.counts.get(timeline, 0) + counts[timeline]
            counts[timeline] += 1
            timeline = timeline if isinstance(what, Dispatch) else HOST
            for name in own.intersection(names_of(what)):
                touched.setdefault(name, []).append((timeline, number))
    return {
        name: (there[0][0], min(number for _, number in there), max(number for _, number in there))
        for name, there in sorted(touched.items())
        if {timeline for timeline, _ in there} == {there[0][0]} and there[0][0] != HOST
    }


def _plan(
    run: MemoryPlan,
    buffers: Sequence[tuple[Buffer, FrameBuffer]],
    spans: Mapping[str, TimelineSpan],
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
                span=spans.get(buffer.name),
            )
            for buffer, _ in there
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
