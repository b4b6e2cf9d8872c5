"""The step order: Loads and Fills, then all copies and dispatches with their events and Waits; and the life
of every buffer.

A buffer is live from the first step that touches it to the last, and while a step that touches it may be in
flight: to the Wait that completes it. Model inputs are live from step 0 (the caller writes them before a
run), outputs to the end, constants and residents always. A state is live from step 0 to where its next value
begins, which is live to the end.

Where asynchronous calls of one timeline alone touch a buffer, it says so (`Buffer.calls`): these run in turn.

A result may reuse the place of an operand (`Buffer.over`) if the kernel allows it, the operand is not used
again, and no step in flight touches it.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.memory import Buffer, BufferKind, CallSpan
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Load, Step, StepOrder, Wait
from target_arch.soc.model import SoC
from target_arch.soc.numbering import timelines
from target_arch.stages.program.dependences import touches
from target_arch.stages.program.hazards import ByteAccess, InFlight
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.program.in_place import has_room
from target_arch.stages.program.items import Item, Run, Slot, Transfer
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program
from target_arch.stages.steps.dead_bytes import DeadBytes
from target_arch.stages.steps.free_bytes import FreeBytes
from target_arch.stages.steps.simulation.clock import Clock
from target_arch.stages.steps.simulation.times import Times


def order_steps(work: PartialLowering, homes: TensorHomes) -> StepOrder:
    """The steps that the bundle executes, one partition after the other.

    A partition without a kernel is represented by one Dispatch without function per operator, whose operands
    are its tensors: an order with such stand-ins is for budgets, not for emission. Raises StepError for wrong
    kernels.
    """
    return steps_of(work, join(work, homes), homes, Times(work))


def steps_of(
    work: PartialLowering, program: Program, homes: TensorHomes, times: Times, *, crowded: bool = False
) -> StepOrder:
    """The steps of a program in the order of its items.

    With `crowded`, a buffer without room in its memory begins after a wait for steps in flight on dead
    buffers.
    """
    return _Orderer(work, program, homes, times, crowded=crowded).order()


_FROM_THE_START = (BufferKind.INPUT, BufferKind.CONSTANT, BufferKind.STATE, BufferKind.RESIDENT)
_IN_TURN = (BufferKind.LOCAL, BufferKind.ACTIVATION)
_ALWAYS = (
    BufferKind.INPUT,
    BufferKind.OUTPUT,
    BufferKind.STATE,
    BufferKind.NEXT,
    BufferKind.RESIDENT,
)


class _Orderer:
    def __init__(
        self, work: PartialLowering, program: Program, homes: TensorHomes, times: Times, *, crowded: bool
    ) -> None:
        self._soc, self._program, self._started = work.soc, program, work.setting.started
        self._ranks = {name: number for number, name in enumerate(timelines(work.soc))}
        self._hosts = frozenset(i.name for i in work.soc.instances if i.arch.host)
        self._flight = InFlight()
        self._channels = {
            dma.name: [f"{dma.name}.{number}" for number in range(dma.channels)] for dma in work.soc.dmas
        }
        self._steps: list[Step] = []
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._final: dict[str, int] = {}
        self._over: dict[str, tuple[str, ...]] = {}
        self._timelines: dict[str, set[str | None]] = {}
        """Whose calls touch a buffer; None for copies, and for calls that are over when they return."""
        self._open: dict[str, deque[tuple[int, tuple[str, ...]]]] = {}
        self._times, self._clock = times, Clock(orders=times.orders)
        self._dead = DeadBytes(program, homes, self._flight)
        self._free = FreeBytes(work.soc, program, self._flight, self._clock) if crowded else None

    def order(self) -> StepOrder:
        uses, begun = self._program.liveness.uses, self._first
        self._steps += (*_loads(self._soc, self._program, self._started), *_fills(self._program))
        for number, item in enumerate(self._program.items):
            names = tuple(dict.fromkeys(item.names()))
            self._begin(number, item, [name for name in names if name not in begun])
            if isinstance(item, Transfer):
                self._copy(item, names)
            else:
                self._dispatch(item, names)
            self._end([name for name in names if uses[name][1] == number])
        self._wait(self._flight.everything())
        return StepOrder(
            steps=tuple(self._steps),
            buffers=tuple(
                [self._buffer(slot) for slot in self._program.buffers.values() if self._used(slot)]
            ),
            inputs=self._program.inputs,
            outputs=self._program.outputs,
            states=self._program.states,
        )

    def _begin(self, number: int, item: Item, new: list[str]) -> None:
        """Wait until the new buffers of an item may begin."""
        if new:
            replaced = [self._replaced[name] for name in new if name in self._replaced]
            for name in (*self._dead.reused(number, item, new), *replaced):
                self._wait(self._flight.touching(name))
        dead = self._dead.before(item, new)
        if dead:
            self._wait(dead)
        if self._free is not None and new:
            self._free.begin(number, item, new, self._wait)

    def _end(self, names: list[str]) -> None:
        """Note that no later item names these buffers."""
        self._dead.end(names)
        if self._free is not None:
            self._free.end(names)

    def _copy(self, transfer: Transfer, names: tuple[str, ...]) -> None:
        path = transfer.path
        timeline: str | None = None
        for source, target in transfer.pieces:
            accesses = ((source, False), (target, True))
            needed = self._flight.hazards(accesses)
            if timeline is None and path.is_async:
                timeline = self._channel(path.engine, needed)
            event = self._start(timeline, needed)
            step = _copy(transfer, source, target, event)
            self._touch(names, event, None)
            self._issue(step, event, accesses, self._times.transfer(path, source.bytes))

    def _dispatch(self, run: Run, names: tuple[str, ...]) -> None:
        accesses = touches(self._program, run)
        synchronous = run.instance in self._hosts or run.reserved
        event = self._start(None if synchronous else run.instance, self._flight.hazards(accesses))
        step = Dispatch(
            partition=run.partition,
            operator=run.operator,
            instance=run.instance,
            function=run.function,
            operands=run.operands,
            words=run.words,
            event=event,
        )
        self._in_place(run, event)
        self._touch(names, event, None if event is None else event.timeline)
        self._issue(step, event, accesses, self._times.run(run.partition, run.operator))

    def _in_place(self, run: Run, event: Event | None) -> None:
        """Note results that may reuse the place of an operand: the ones that begin here, if only earlier
        steps of the same timeline in flight touch the operand.
        """
        own = set() if event is None else {event.timeline}
        for operand in run.operands:
            if operand.of not in self._first:
                safe = (name for name in operand.over if self._flight.touching(name).keys() <= own)
                self._over[operand.of] = tuple(name for name in safe if self._has_room(operand, name))

    def _start(self, timeline: str | None, needed: Mapping[str, int]) -> Event | None:
        """Wait for the steps that this one must not overtake. Returns the event it will have."""
        others = {other: value for other, value in needed.items() if other != timeline} if needed else None
        if others:
            self._wait(others)
        return None if timeline is None else self._flight.next_event(timeline)

    def _touch(self, names: tuple[str, ...], event: Event | None, calls: str | None) -> None:
        """Note that the next step touches these buffers, until its event, one of the calls of a timeline."""
        number = len(self._steps)
        for name in names:
            self._timelines.setdefault(name, set()).add(calls)
            self._first.setdefault(name, number)
            self._last[name] = self._final[name] = number
        if event is not None:
            self._open.setdefault(event.timeline, deque()).append((event.value, names))

    def _issue(self, step: Step, event: Event | None, accesses: Iterable[ByteAccess], takes: int) -> None:
        self._clock.issue(event, takes)
        self._steps.append(step)
        if event is not None:
            self._flight.issue(event, accesses)

    def _wait(self, needed: Mapping[str, int]) -> None:
        for timeline in sorted(needed, key=self._ranks.__getitem__):
            event = Event(timeline=timeline, value=needed[timeline])
            number = self._wait_step(event)
            flying = self._open.get(timeline, deque())
            while flying and flying[0][0] <= event.value:
                for name in flying.popleft()[1]:
                    self._last[name] = number
            self._flight.complete(event)
            self._clock.wait(event)

    def _wait_step(self, event: Event) -> int:
        """The number of the step that waits for an event: the last one, where that waits for an earlier event
        of the same timeline.
        """
        last = self._steps[-1] if self._steps else None
        if isinstance(last, Wait) and last.event.timeline == event.timeline:
            self._steps.pop()
        self._steps.append(Wait(event=event))
        return len(self._steps) - 1

    def _channel(self, engine: str, needed: Mapping[str, int]) -> str:
        """The channel of the engine on which a copy that needs these events begins first, then with the
        fewest waits, then the least busy one.
        """
        channels = self._channels[engine]
        if len(channels) == 1:
            return channels[0]
        return min(
            channels,
            key=lambda name: (
                self._clock.begins(name, needed),
                len(needed.keys() - {name}),
                self._flight.pending(name),
                self._flight.issued(name),
            ),
        )

    def _used(self, slot: Slot) -> bool:
        """True for a buffer that a step, the caller or a reset touches; others need no bytes."""
        known = slot.name in self._first or slot.name in self._initial or slot.name in self._filling
        return slot.kind in _ALWAYS or known

    def _buffer(self, slot: Slot) -> Buffer:
        name = slot.name
        first = 0 if slot.kind in _FROM_THE_START else self._first.get(name, 0)
        if slot.kind in (BufferKind.CONSTANT, BufferKind.RESIDENT) or name in self._program.kept:
            last = max(len(self._steps) - 1, 0)
        else:
            last = max(self._last.get(name, 0), self._followed.get(name, 0))
        over = self._over.get(name)
        return Buffer(
            name=name,
            kind=slot.kind,
            memory=slot.memory,
            bytes=slot.bytes,
            alignment=slot.alignment,
            first=first,
            last=last,
            tensor=slot.tensor,
            over=tuple([other for other in over if self._may_take(slot, other)]) if over else (),
            aliases=slot.aliases,
            replaces=slot.replaces,
            caller=slot.caller,
            calls=self._calls(slot, last),
        )

    def _calls(self, slot: Slot, last: int) -> CallSpan | None:
        """The calls of one timeline that alone touch a buffer, which is live to the step `last`; None where
        that is at most one step later.
        """
        name, timelines = slot.name, self._timelines.get(slot.name, set())
        if slot.kind not in _IN_TURN or slot.caller or name in self._program.kept or len(timelines) != 1:
            return None
        (timeline,) = timelines
        if timeline is None or last <= self._final[name] + 1:
            return None
        return CallSpan(timeline=timeline, first=self._first[name], last=self._final[name])

    @cached_property
    def _replaced(self) -> dict[str, str]:
        """By next value of a state the state, whose bytes it has."""
        slots = self._program.buffers.values()
        return {slot.name: slot.replaces for slot in slots if slot.replaces is not None}

    @cached_property
    def _initial(self) -> frozenset[str | None]:
        """The constants that states start with."""
        return frozenset(state.initial for state in self._program.states)

    @cached_property
    def _filling(self) -> frozenset[str]:
        """The constants that residents are filled with."""
        return frozenset(name for transfer in self._program.fills for name in transfer.names())

    @cached_property
    def _followed(self) -> dict[str, int]:
        """By state, the step before the one in which its next value begins: until then it keeps its bytes."""
        return {state.now: self._first[state.next] - 1 for state in self._program.states}

    def _has_room(self, operand: Operand, name: str) -> bool:
        buffers = self._program.buffers
        return has_room(operand, buffers[name].bytes, buffers[operand.of].bytes)

    def _may_take(self, slot: Slot, name: str) -> bool:
        """True if a buffer's life ends with the step in which the other's begins."""
        place = self._program.buffers[name]
        return (
            place.memory == slot.memory
            and not slot.caller
            and (not place.settled or slot.replaces == name)
            and name not in self._program.kept
            and self._final[name] == self._first[slot.name]
        )


def _loads(soc: SoC, program: Program, started: frozenset[str]) -> Iterator[Load]:
    """One Load for every instance in use but the host, and for those that are started in any case. A linked
    program is present already, but is still started.
    """
    used = started.union(item.instance for item in program.items if isinstance(item, Run))
    for instance in soc.instances:
        load = instance.arch.load
        if instance.name in used and not instance.arch.host:
            yield Load(instance=instance.name, process=load.process, image=load.image)


def _fills(program: Program) -> Iterator[Fill]:
    """The fills of residents, each copy of an engine on its first channel."""
    issued = Counter[str]()
    for transfer in program.fills:
        path = transfer.path
        for source, target in transfer.pieces:
            event = None
            if path.is_async:
                issued[path.engine] += 1
                event = Event(timeline=f"{path.engine}.0", value=issued[path.engine])
            yield Fill(copy=_copy(transfer, source, target, event))


def _copy(transfer: Transfer, source: Slice, target: Slice, event: Event | None) -> Copy:
    """The step for one piece of a transfer."""
    return Copy(
        source=source,
        target=target,
        engine=transfer.path.engine,
        cache=transfer.path.cache,
        event=event,
        partition=transfer.partition,
    )
