"""From the starts of tasks to a round of steps, with waits as late as possible, and the lives of buffers.

Rounds are issued one after the other, with all frames there, until they repeat: then a round has the waits
that it needs in steady state. Events count on over all rounds here; a step names its round relative to its
own.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, field, frozen, mutable

from target_arch.plan.memory import BufferKind
from target_arch.plan.steps import Copy, Event
from target_arch.stages.frames.modulo import ModuloSchedule
from target_arch.stages.frames.parts import Parts, parts_of
from target_arch.stages.frames.problem import FrameProblem, common, names_of
from target_arch.stages.program.hazards import ByteAccess, InFlight


@frozen(kw_only=True)
class RoundTask:
    """A task, issued for the frame that was started `stage` rounds before."""

    task: int
    stage: int
    timeline: str | None


@frozen(kw_only=True)
class RoundWait:
    """A wait for the asynchronous step number `place` (from 1) of a timeline, in the round `back` before."""

    timeline: str
    back: int
    place: int


RoundStep = RoundTask | RoundWait


@frozen(kw_only=True)
class Round:
    """The steps of every round. It has `frames` equal parts, each of which starts a frame. After step `done`
    of a part the frame is over that was started `stages - 1` parts before.

    `lives` are by buffer of the run the first and the last step in which that of one frame is live, counted
    from the first step of the round in which the frame is started; without constants and states. `counts` are
    the asynchronous steps by timeline.
    """

    steps: tuple[RoundStep, ...]
    frames: int
    stages: int
    done: int
    lives: Mapping[str, tuple[int, int]] = field(repr=False)
    counts: Mapping[str, int]


def round_of(problem: FrameProblem, schedule: ModuloSchedule, ranks: Mapping[str, int]) -> Round:
    """The round of a schedule. `ranks` order the timelines."""
    return _Issuer(problem, schedule, ranks).round()


@frozen
class _Entry:
    """A task in the order of a round, or without one the end of a frame that the round starts."""

    task: int | None
    stage: int
    frame: int


@mutable
class _Issued:
    """A round as it was issued."""

    steps: list[RoundStep] = field(factory=list)
    firsts: dict[int, int] = field(factory=dict)
    ends: dict[int, int] = field(factory=dict)
    """By frame its first step, and the one after which it is over."""


class _Issuer:
    def __init__(self, problem: FrameProblem, schedule: ModuloSchedule, ranks: Mapping[str, int]) -> None:
        self._problem, self._schedule, self._ranks = problem, schedule, ranks
        self._entries = _entries(problem, schedule)
        self._timelines = [_timeline(problem, schedule, number) for number in range(len(problem.steps))]
        names = [name for name in self._timelines if name is not None]
        self._counts = {name: names.count(name) for name in sorted(set(names), key=ranks.__getitem__)}
        self._shared = common(problem.run)
        self._sizes = {buffer.name: buffer.bytes for buffer in problem.run.buffers}
        self._flight = InFlight()
        self._rounds: list[_Issued] = []
        self._touched: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {}
        """By buffer of a frame its first and last step, each with its round."""
        self._dying = _last_tasks(problem, self._shared)
        self._born = _first_tasks(problem, self._shared)
        self._memories = {buffer.name: buffer.memory for buffer in problem.run.buffers}
        self._drained = {b.memory for b in problem.run.buffers if b.kind is BufferKind.LOCAL}
        self._closing: dict[str, list[tuple[int, str, int]]] = {}
        """By memory of local buffers, asynchronous steps that are the last on a buffer there: when they end,
        timeline and value.
        """
        self._open: dict[str, deque[tuple[int, list[str]]]] = {}
        self._last: dict[tuple[int, int, str], int] = {}
        """By round, frame that it starts and timeline the last value that the frame issued."""

    def round(self) -> Round:
        turns = self._schedule.stages + 1
        for number in range(2 * turns + 1):
            self._issue(number)
        last = self._rounds[-1]
        for other in self._rounds[-turns:]:
            assert other == last, "rounds do not repeat"
        firsts = [last.firsts.get(frame, 0) for frame in range(self._problem.frames)]
        parts = parts_of(len(last.steps), firsts)
        stages, done = self._over_after(parts)
        return Round(
            steps=tuple(_filled_up(last.steps, parts)),
            frames=self._problem.frames,
            stages=stages,
            done=done,
            lives=self._lives(turns, stages, parts),
            counts=self._counts,
        )

    def _over_after(self, parts: Parts) -> tuple[int, int]:
        """The parts that a frame takes part in, and the step of the last one after which every frame is
        over.
        """
        length, ends = parts.length, self._rounds[-1].ends
        found = []
        for entry in self._entries:
            if entry.task is None:
                turn, step = divmod(parts.place(ends[entry.frame]), length)
                found.append((entry.stage * self._problem.frames + turn - entry.frame + 1, step))
        return max(found)

    def _issue(self, number: int) -> None:
        self._rounds.append(_Issued())
        for entry in self._entries:
            turn = number - entry.stage
            if entry.task is None:
                self._end(turn, entry.frame)
            else:
                if entry.stage == 0:
                    self._rounds[-1].firsts.setdefault(entry.frame, len(self._rounds[-1].steps))
                self._start(entry.task, turn, entry.stage)

    def _start(self, task: int, frame: int, stage: int) -> None:
        accesses = tuple(self._accesses(task, frame))
        timeline = self._timelines[task]
        needed = self._flight.hazards(accesses)
        turn = frame * self._schedule.period
        needed = {other: value for other, value in needed.items() if other != timeline}
        self._wait(_later(needed, self._over(task, self._schedule.issues[task] + turn)))
        names = list(dict.fromkeys(access[0].of for access in accesses))
        self._touch(names)
        self._rounds[-1].steps.append(RoundTask(task=task, stage=stage, timeline=timeline))
        if timeline is not None:
            event = self._flight.next_event(timeline)
            self._flight.issue(event, accesses)
            self._open.setdefault(timeline, deque()).append((event.value, names))
            self._last[frame, self._problem.frame(task), timeline] = event.value
            for memory in sorted({self._memories[name] for name in self._dying[task]} & self._drained):
                end = turn + self._schedule.starts[task] + self._problem.takes[task]
                self._closing.setdefault(memory, []).append((end, timeline, event.value))

    def _over(self, task: int, now: int) -> dict[str, int]:
        """The steps in flight that are over by now, on buffers of no further use where a task needs bytes."""
        found: dict[str, int] = {}
        for memory in {self._memories[name] for name in self._born[task]} & self._drained:
            closing = self._closing.get(memory, [])
            for _, timeline, value in (each for each in closing if each[0] <= now):
                found[timeline] = max(value, found.get(timeline, 0))
            self._closing[memory] = [each for each in closing if each[0] > now]
        return self._flight.incomplete(found)

    def _end(self, turn: int, frame: int) -> None:
        """Wait for everything of a frame that was started in that round."""
        last = {name: value for name in self._counts if (value := self._last.get((turn, frame, name)))}
        done = self._flight.incomplete(last)
        self._wait(done)
        self._rounds[-1].ends[frame] = max(len(self._rounds[-1].steps) - 1, 0)

    def _wait(self, needed: Mapping[str, int]) -> None:
        for timeline in sorted(needed, key=self._ranks.__getitem__):
            steps = self._rounds[-1].steps
            if steps and isinstance(steps[-1], RoundWait) and steps[-1].timeline == timeline:
                steps.pop()
            value = needed[timeline]
            turn, place = divmod(value - 1, self._counts[timeline])
            back = len(self._rounds) - 1 - turn
            steps.append(RoundWait(timeline=timeline, back=back, place=place + 1))
            flying = self._open.get(timeline, deque())
            while flying and flying[0][0] <= value:
                self._touch(flying.popleft()[1], after=True)
            self._flight.complete(Event(timeline=timeline, value=value))

    def _touch(self, names: Sequence[str], *, after: bool = False) -> None:
        """The step that comes next touches these buffers; with `after`, the last one ends a touch."""
        number = len(self._rounds) - 1
        now = (number, len(self._rounds[-1].steps) - after)
        for name in names:
            self._touched[name] = (self._touched.get(name, (now, now))[0], now)

    def _accesses(self, task: int, frame: int) -> Iterator[ByteAccess]:
        step = self._problem.steps[task]
        if isinstance(step, Copy):
            yield step.source.renamed(self._name(step.source.of, frame)), False
            yield step.target.renamed(self._name(step.target.of, frame)), True
            return
        for operand in step.operands:
            part = operand.touched(self._sizes[operand.of])
            yield part.renamed(self._name(operand.of, frame)), operand.access.writes

    def _name(self, buffer: str, frame: int) -> str:
        return self._shared.get(buffer) or f"{frame} {buffer}"

    def _lives(self, turn: int, stages: int, parts: Parts) -> dict[str, tuple[int, int]]:
        """The lives of the buffers of the frames of one round. The caller has the inputs a part before the
        frame starts, and the outputs for the part after it is over; memory of its own is lent all the time.
        """
        lives: dict[str, tuple[int, int]] = {}
        for buffer in self._problem.run.buffers:
            if buffer.name in self._shared:
                continue
            copied = self._problem.copies.get(buffer.name)
            frame = 0 if copied is None else copied.frame
            found = self._touched.get(self._name(buffer.name, turn), ())
            life = [(at - turn) * parts.filled + parts.place(step) for at, step in found]
            life = life or [frame * parts.length] * 2
            if buffer.kind is BufferKind.INPUT or buffer.caller:
                life[0] = (frame - 1) * parts.length
            if buffer.caller or any(buffer.name == name for _, name in self._problem.run.outputs):
                life[1] = (frame + stages + 1) * parts.length - 1
            lives[buffer.name] = (life[0], life[1])
        return lives


def _filled_up(steps: Sequence[RoundStep], parts: Parts) -> Iterator[RoundStep]:
    """The steps with parts of one length: at the end of shorter ones, what was waited for last is waited for
    again.
    """
    for first, end in parts.spans:
        yield from steps[first:end]
        for _ in range(parts.length - (end - first)):
            yield _last_wait(steps, end)


def _last_wait(steps: Sequence[RoundStep], end: int) -> RoundWait:
    """The wait that is over since shortly before a step."""
    for step in reversed(steps[:end]):
        if isinstance(step, RoundWait):
            return step
    wait = next(step for step in reversed(steps) if isinstance(step, RoundWait))
    return evolve(wait, back=wait.back + 1)


def _later(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The later value of both by timeline."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _last_tasks(problem: FrameProblem, shared: Mapping[str, str]) -> list[list[str]]:
    """By task the buffers that no later one touches."""
    last = {name: number for number, step in enumerate(problem.steps) for name in names_of(step)}
    return [
        [n for n in dict.fromkeys(names_of(step)) if last[n] == k and n not in shared]
        for k, step in enumerate(problem.steps)
    ]


def _first_tasks(problem: FrameProblem, shared: Mapping[str, str]) -> list[list[str]]:
    """By task the buffers that no earlier one touches."""
    seen, found = set(shared), list[list[str]]()
    for step in problem.steps:
        found.append([name for name in dict.fromkeys(names_of(step)) if name not in seen])
        seen.update(found[-1])
    return found


def _entries(problem: FrameProblem, schedule: ModuloSchedule) -> list[_Entry]:
    """The tasks in the order of a round, with the ends of frames. Those on cores that all end with the round
    are over in it, and not in the next one.
    """
    period = schedule.period
    order = [
        (
            (issue % period, 1 + (step.event is None and takes > 0), start, number),
            _Entry(number, issue // period, problem.frame(number)),
        )
        for number, (step, issue, start, takes) in enumerate(
            zip(problem.steps, schedule.issues, schedule.starts, problem.takes, strict=True)
        )
    ]
    for frame, end in enumerate(_ends(problem, schedule)):
        turn = max(end - 1, 0) // period if problem.cores else end // period
        order.append(((end - turn * period, 0, 0, frame), _Entry(None, turn, frame)))
    return [entry for _, entry in sorted(order, key=lambda pair: pair[0])]


def _ends(problem: FrameProblem, schedule: ModuloSchedule) -> list[int]:
    """When the host waits for each frame that a round starts."""
    if problem.frames == 1:
        return [schedule.end]
    ends = [0] * problem.frames
    for number, (start, takes) in enumerate(zip(schedule.starts, problem.takes, strict=True)):
        end = start + takes + schedule.patience
        ends[problem.frame(number)] = max(ends[problem.frame(number)], end)
    return ends


def _timeline(problem: FrameProblem, schedule: ModuloSchedule, number: int) -> str | None:
    step = problem.steps[number]
    if step.event is None:
        return None
    return f"{step.engine}.{schedule.channels[number]}" if isinstance(step, Copy) else step.event.timeline
