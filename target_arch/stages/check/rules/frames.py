"""Frames in flight, for the checker alone: what the runtime does with the table of rounds, written out as the
steps of several frames one after the other.

Every frame has buffers of its own there, in the places that the table names, so that the rules of a run apply
to all frames together. The caller's writing of inputs and reading of outputs are steps of the host. Memory
that it lends is written in full when a frame is submitted, and read when its result is taken. A state and its
next value are one buffer.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen, mutable

from target_arch.plan.frames import FramePipeline
from target_arch.plan.kernels import Access, Operand
from target_arch.plan.memory import Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Event, Step, StepOrder, Wait
from target_arch.stages.check.rules.aliases import CALLER, LEND, RESET
from target_arch.stages.check.rules.faults import Fault


@frozen(kw_only=True)
class FrameStep:
    """A step that is executed, the frame it works for (None for none), and its number in the table, None for
    one of the caller's and for a wait.
    """

    step: Step
    frame: int | None
    number: int | None


@frozen(kw_only=True)
class FrameExecution:
    """The steps of several frames as they are executed, over buffers of each frame, with their places."""

    order: StepOrder = field(repr=False)
    plan: MemoryPlan = field(repr=False)
    steps: tuple[FrameStep, ...] = field(repr=False)
    faults: tuple[Fault, ...]


@mutable
class _Timeline:
    """A timeline: by the number of steps that the table had for it, how many of them were executed; and how
    many of these are known to be over.
    """

    executed: list[int] = field(factory=lambda: [0])
    over: int = 0


def executed(pipeline: FramePipeline, host: str, present: tuple[bool, ...]) -> FrameExecution:
    """The steps that are executed where in these rounds a frame is started or not, until all are over."""
    return _Execution(pipeline, host, present).frames()


class _Execution:
    def __init__(self, pipeline: FramePipeline, host: str, present: tuple[bool, ...]) -> None:
        self._pipeline, self._host, self._present = pipeline, host, present
        self._kinds = max(len(pipeline.cores), 1)
        self._length = len(pipeline.stages) // self._kinds
        self._table = pipeline.order.steps[pipeline.loads :]
        self._counts = _counts(self._table)
        self._timelines: dict[str, _Timeline] = {name: _Timeline() for name in self._counts}
        self._states = {state.next: state.now for state in pipeline.order.states}
        self._lent = {buffer.name for buffer in pipeline.order.buffers if buffer.caller}
        self._given = {name for _, name in pipeline.order.inputs} & self._lent
        self._issued: dict[int, list[Event]] = {}
        self._ended = set[int]()
        self._out: list[FrameStep] = []
        self._faults: list[Fault] = []

    def frames(self) -> FrameExecution:
        pipeline = self._pipeline
        loads = pipeline.order.steps[: pipeline.loads]
        self._out += [FrameStep(step=step, frame=None, number=n) for n, step in enumerate(loads)]
        rounds = len(self._present) + pipeline.frames + 1
        self._by_caller(None, RESET, [state.now for state in pipeline.order.states], Access.WRITE)
        self._submit(0)
        for turn in range(rounds):
            self._submit(turn + 1)
            for number in range(self._length):
                self._step(turn, number)
                if number == pipeline.done:
                    self._end(turn - pipeline.frames + 1)
            self._submitted(turn + 1)
            self._collect(turn - pipeline.frames)
        buffers = tuple(self._buffers())
        offsets = {name: pipeline.plan.offsets[of] for name, of in self._names().items()}
        steps = tuple(each.step for each in self._out)
        plan = MemoryPlan(buffers=buffers, offsets=offsets)
        order = StepOrder(steps=steps, buffers=buffers, inputs=(), outputs=())
        return FrameExecution(order=order, plan=plan, steps=tuple(self._out), faults=tuple(self._faults))

    def _there(self, frame: int) -> bool:
        return 0 <= frame < len(self._present) and self._present[frame]

    def _submit(self, frame: int) -> None:
        """The caller begins to write the inputs of a frame that is started in the next round, and lends the
        memory of its outputs.
        """
        if self._there(frame):
            order = self._pipeline.order
            self._by_caller(frame, "submit", self._of_frame(order.inputs, frame), Access.WRITE)
            self._by_caller(frame, LEND, self._lent_of(order.outputs, frame), Access.WRITE)

    def _submitted(self, frame: int) -> None:
        """At the end of the round they are written, and nothing has been there since it began."""
        if self._there(frame):
            order = self._pipeline.order
            names = [*self._of_frame(order.inputs, frame), *self._lent_of(order.outputs, frame)]
            self._by_caller(frame, "submit", names, Access.READ)

    def _lent_of(self, pairs: tuple[tuple[str, str], ...], frame: int) -> list[str]:
        return [name for name in self._of_frame(pairs, frame) if name in self._lent]

    def _collect(self, frame: int) -> None:
        """The caller has read the outputs of a frame, and has its memory back."""
        if self._there(frame):
            order = self._pipeline.order
            names = [*self._lent_of(order.inputs, frame), *self._of_frame(order.outputs, frame)]
            self._by_caller(frame, "result", names, Access.READ)

    def _end(self, frame: int) -> None:
        """A frame is said to be over: faults for its steps that may not be."""
        self._ended.add(frame)
        for event in self._issued.get(frame, ()):
            if event.value > self._timelines[event.timeline].over:
                said = f"frame {frame} is over, and `{event}` may be in flight"
                self._faults.append(("frame-not-over", said))

    def _of_frame(self, pairs: tuple[tuple[str, str], ...], frame: int) -> list[str]:
        each = len(pairs) // self._pipeline.rounds
        first = frame % self._pipeline.rounds * each
        return [name for _, name in pairs[first : first + each]]

    def _by_caller(self, frame: int | None, what: str, names: list[str], access: Access) -> None:
        operands = tuple(Operand(of=self._named(name, frame), access=access) for name in names)
        if operands:
            step = Dispatch(
                partition=CALLER, operator=what, instance=self._host, function=what, operands=operands
            )
            self._out.append(FrameStep(step=step, frame=frame, number=None))

    def _step(self, turn: int, number: int) -> None:
        at = turn % self._pipeline.rounds * self._length + number
        step = self._table[at]
        if isinstance(step, Wait):
            self._wait(step, at)
            return
        assert isinstance(step, Copy | Dispatch)
        frame, event = turn - self._pipeline.stages[turn % self._kinds * self._length + number], step.event
        if event is not None:
            timeline = self._timelines[event.timeline]
            timeline.executed.append(timeline.executed[-1] + self._there(frame))
            place = (len(timeline.executed) - 2) % self._counts[event.timeline] + 1
            if event.value != place:
                self._faults.append(("wrong-event", f"step {at} of the table signals `{event}`"))
            event = Event(timeline=event.timeline, value=timeline.executed[-1])
        if self._there(frame):
            self._on_its_core(step, frame)
            if frame in self._ended:
                self._faults.append(
                    ("frame-not-over", f"step {at} of the table comes after the end of its frame")
                )
            where = at + self._pipeline.loads
            self._out.append(FrameStep(step=self._of(step, frame, event), frame=frame, number=where))
            if event is not None:
                self._issued.setdefault(frame, []).append(event)

    def _on_its_core(self, step: Copy | Dispatch, frame: int) -> None:
        """A fault for a call on a core that is another frame's."""
        cores = self._pipeline.cores
        if (
            isinstance(step, Dispatch)
            and step.instance in cores
            and step.instance != cores[frame % self._kinds]
        ):
            self._faults.append(("wrong-core", f"frame {frame} is computed by `{step.instance}`"))

    def _wait(self, step: Wait, at: int) -> None:
        """The latest step of the timeline with that value in the table."""
        timeline = self._timelines.get(step.event.timeline)
        if timeline is None or not 0 < step.event.value <= self._counts[step.event.timeline]:
            self._faults.append(("unknown-event", f"step {at} of the table waits for `{step.event}`"))
            return
        count, values = self._counts[step.event.timeline], len(timeline.executed) - 1
        value = values - (values - step.event.value) % count
        done = timeline.executed[max(value, 0)]
        timeline.over = max(timeline.over, done)
        if done:
            event = Event(timeline=step.event.timeline, value=done)
            self._out.append(FrameStep(step=Wait(event=event), frame=None, number=None))

    def _of(self, step: Copy | Dispatch, frame: int, event: Event | None) -> Step:
        """The step on the buffers of a frame."""
        self._unwritten(step)
        if isinstance(step, Copy):
            source = step.source.renamed(self._named(step.source.of, frame))
            target = step.target.renamed(self._named(step.target.of, frame))
            return evolve(step, source=source, target=target, event=event)
        operands = (
            evolve(
                operand,
                of=self._named(operand.of, frame),
                over=tuple(self._named(name, frame) for name in operand.over),
            )
            for operand in step.operands
        )
        return evolve(step, operands=tuple(operands), event=event)

    def _unwritten(self, step: Copy | Dispatch) -> None:
        """A fault for a step that writes to an input that is lent."""
        if isinstance(step, Copy):
            written = [step.target.of]
        else:
            written = [operand.of for operand in step.operands if operand.access.writes]
        for name in (name for name in written if name in self._given):
            self._faults.append(("input-written", f"`{name}` is the caller's input and written to"))

    def _named(self, name: str, frame: int | None) -> str:
        """The buffer of a frame; a fault where it is another frame's."""
        about = self._pipeline.buffers[name]
        if about.round is None or frame is None:
            return self._states.get(name, name)
        if about.round != frame % self._pipeline.rounds:
            self._faults.append(("wrong-frame", f"frame {frame} touches `{name}`, which is another frame's"))
        return f"{name} of frame {frame}"

    def _names(self) -> Mapping[str, str]:
        """Every buffer, and the one of the table that has its place."""
        names: dict[str, str] = {}
        for name, about in self._pipeline.buffers.items():
            if about.round is None:
                names[name] = name
                continue
            for frame in range(about.round, len(self._present), self._pipeline.rounds):
                if self._there(frame):
                    names[f"{name} of frame {frame}"] = name
        return names

    def _buffers(self) -> Iterator[Buffer]:
        known = {buffer.name: buffer for buffer in self._pipeline.order.buffers}
        for name, of in self._names().items():
            one = known[of]
            if one.kind is BufferKind.INPUT:
                one = evolve(one, kind=BufferKind.ACTIVATION)
            elif one.kind is BufferKind.STATE:
                one = evolve(one, kind=BufferKind.NEXT)
            yield evolve(one, name=name, first=0, last=len(self._out))


def _counts(table: tuple[Step, ...]) -> dict[str, int]:
    """The asynchronous steps of the table by timeline."""
    counts: dict[str, int] = {}
    for step in table:
        if isinstance(step, Copy | Dispatch) and step.event is not None:
            counts[step.event.timeline] = counts.get(step.event.timeline, 0) + 1
    return counts


class FrameStates:
    """Whose value every byte of a state is: a frame reads what the frame before left, and leaves its own."""

    def __init__(self, pipeline: FramePipeline, present: tuple[bool, ...]) -> None:
        self._now = frozenset(state.now for state in pipeline.order.states)
        self._next = {state.next: state.now for state in pipeline.order.states}
        self._sizes = {buffer.name: buffer.bytes for buffer in pipeline.order.buffers}
        self._pipeline = pipeline
        frames = [number for number, there in enumerate(present) if there]
        self._before = dict(zip(frames, (-1, *frames), strict=False))
        self._owners = {name: [-1] * self._sizes[name] for name in self._now}

    def touch(self, number: int, frame: int) -> Iterator[Fault]:
        """The step of that number in the table is executed for a frame."""
        step = self._pipeline.order.steps[number]
        if isinstance(step, Copy):
            parts = [(step.source, Access.READ), (step.target, Access.WRITE)]
        else:
            assert isinstance(step, Dispatch)
            parts = [(o.touched(self._sizes[o.of]), o.access) for o in step.operands]
        for part, access in parts:
            if part.of not in self._now and part.of not in self._next:
                continue
            owners = self._owners[self._next.get(part.of, part.of)]
            if part.end > len(owners):
                continue
            rows = range(part.offset, part.end, part.stride or part.row_bytes)
            places = [place for row in rows for place in range(row, row + part.row_bytes)]
            wanted = self._before[frame] if part.of in self._now else frame
            if access.reads and any(owners[place] != wanted for place in places):
                whose = "the frame before" if part.of in self._now else "its own frame"
                yield "wrong-state", f"frame {frame} reads `{part}`, and not all of it is of {whose}"
            for place in places if access.writes else ():
                owners[place] = frame
