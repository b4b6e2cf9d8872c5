"""The checker of step order and memory plan. It shares no code with the planner and relies on none of its
results.

It replays the steps: which steps are in flight, which bytes were written, when each buffer is really live.
Then it sweeps over time: buffers that are live together must not share bytes. Obvious before fast, yet
near-linear.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from attrs import evolve, frozen

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import Access, Slice
from target_arch.plan.memory import Arena, Buffer, BufferKind, MemoryPlan
from target_arch.plan.model import State
from target_arch.plan.steps import Copy, Dispatch, Event, Load, Step, StepOrder, Wait
from target_arch.soc.model import HOST_ENGINE, SoC
from target_arch.soc.rounding import round_up
from target_arch.soc.words import OperandRule
from target_arch.stages.check.aliases import Holders, Part
from target_arch.stages.check.places import Lying, Overwriting, described, meeting, violation
from target_arch.stages.check.states import state_faults
from target_arch.stages.check.written import Written, meet
from target_arch.stages.errors import CheckError


def check(
    soc: SoC,
    steps: StepOrder,
    plan: MemoryPlan,
    sizes: Mapping[str, int] = MappingProxyType({}),
    parts: Iterable[Part] = (),
    states: Iterable[State] = (),
) -> None:
    """Raises CheckError with every fault. `sizes` are the bytes of tensors, and of buffers that hold none, by
    name, `parts` are tensors that the model makes parts of others, `states` its states.

    Covers: offsets, alignment and capacity, in whole cache lines where a memory is shared behind the cache;
    buffers that share bytes and time, unless a call that may do
    so writes one over the other; tensors inside the buffers of others; declared copy paths with their
    engine, limits and cache duties; which memories an instance can touch; numbering of events, steps that
    race with one in flight, steps still in flight at the end; bytes read before they were written;
    instances used before they are loaded; states whose next value the next run would not find, or that
    are read after it was written.
    """
    checker = _Checker(soc, steps, plan)
    checker.run(sizes, tuple(parts))
    checker.faults += (
        Diagnostic(rule="wrong-state", place="memory plan", message=said)
        for said in state_faults(soc, steps, plan, states)
    )
    if checker.faults:
        raise CheckError(checker.faults)


_THERE = (BufferKind.INPUT, BufferKind.CONSTANT, BufferKind.STATE)
_IN_ORDER = (
    (BufferKind.CONSTANT,),
    (BufferKind.STATE, BufferKind.NEXT),
    (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.ACTIVATION, BufferKind.LOCAL),
)


@frozen(kw_only=True)
class _Touch:
    """Bytes of a buffer that a step reads or writes."""

    part: Slice
    write: bool


@frozen(kw_only=True)
class _Flying:
    """A step in flight."""

    number: int
    event: Event
    touches: tuple[_Touch, ...]


class _Checker:
    def __init__(self, soc: SoC, steps: StepOrder, plan: MemoryPlan) -> None:
        self.faults: list[Diagnostic] = []
        self._soc, self._order, self._plan = soc, steps, plan
        self._buffers = {buffer.name: buffer for buffer in steps.buffers}
        self._place = "memory plan"
        self._instances = {instance.name: instance for instance in soc.instances}
        self._flying: dict[str, deque[_Flying]] = {}
        self._near: dict[str, list[_Flying]] = {}
        self._issued: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._loaded: set[str] = set()
        self._started = False
        self._live: dict[str, tuple[int, int]] = {}
        constants = (buffer.name for buffer in steps.buffers if buffer.kind == BufferKind.CONSTANT)
        kept = (*(name for _, name in steps.outputs), *(each.next for each in steps.states))
        self._overwriting = Overwriting((*kept, *constants))
        self._written = {
            name: Written(buffer.bytes, buffer.kind in _THERE) for name, buffer in self._buffers.items()
        }
        self._holders = Holders(steps.buffers)

    def run(self, sizes: Mapping[str, int], parts: tuple[Part, ...]) -> None:
        self._offsets()
        self._sizes(sizes)
        for rule, message in self._holders.resting(self._plan, sizes, parts):
            self._fault(rule, message)
        self._extremes()
        for number, step in enumerate(self._order.steps):
            self._place = described(number, step)
            self._replay(number, step)
        self._place = "end of run"
        self._ending()
        self._place = "memory plan"
        self._lifetimes()
        self._overlaps()
        self._capacities()

    def _fault(self, rule: str, message: str) -> None:
        self.faults.append(Diagnostic(rule=rule, place=self._place, message=message))

    # The plan at rest.

    def _offsets(self) -> None:
        for buffer in self._order.buffers:
            offset = self._plan.offsets.get(buffer.name)
            if offset is None:
                self._fault("no-offset", f"buffer `{buffer.name}` has no offset")
            elif offset < 0 or offset + buffer.bytes > self._soc.memory(buffer.memory).size:
                self._fault(
                    "out-of-bounds", f"buffer `{buffer.name}` at {offset} ends outside `{buffer.memory}`"
                )
            elif offset % buffer.alignment:
                self._fault(
                    "misaligned", f"buffer `{buffer.name}` at {offset} is not aligned to {buffer.alignment} B"
                )
            elif offset % self._soc.own_line(buffer.memory):
                self._fault("shared-line", f"buffer `{buffer.name}` at {offset} begins inside a cache line")
        if {*self._plan.buffers} != {*self._order.buffers}:
            self._fault("wrong-buffers", "the memory plan and the step order have different buffers")

    def _sizes(self, sizes: Mapping[str, int]) -> None:
        for buffer in self._order.buffers:
            size = sizes.get(buffer.tensor or buffer.name, buffer.bytes)
            if buffer.bytes != size:
                self._fault("wrong-size", f"buffer `{buffer.name}` has {buffer.bytes:,} B for {size:,} B")

    def _capacities(self) -> None:
        """The arenas of a memory are one after the other, constants and states first."""
        for memory in self._soc.memories:
            unit = max((buffer.alignment for buffer in self._of(memory.name)), default=1)
            end = 0
            for kinds in _IN_ORDER:
                size = self._top(b for b in self._of(memory.name) if b.kind in kinds)
                end = round_up(end, unit) + size if size else end
            end = round_up(end, self._soc.own_line(memory.name))
            if end > memory.size:
                self._fault("over-capacity", f"`{memory.name}` needs {end:,} B, it has {memory.size:,} B")

    def _of(self, memory: str) -> Iterator[Buffer]:
        return (buffer for buffer in self._order.buffers if buffer.memory == memory)

    def _top(self, buffers: Iterable[Buffer]) -> int:
        return max((self._plan.offsets.get(buffer.name, 0) + buffer.bytes for buffer in buffers), default=0)

    def _extremes(self) -> None:
        """Inputs are written before the run, outputs and next values of states read after it, constants are
        there always.
        """
        last = max(len(self._order.steps) - 1, 0)
        outputs = {name for _, name in self._order.outputs} | {each.next for each in self._order.states}
        for buffer in self._order.buffers:
            if buffer.kind in (BufferKind.INPUT, BufferKind.CONSTANT):
                self._lives(buffer.name, 0)
            if buffer.kind == BufferKind.CONSTANT or buffer.name in outputs:
                self._lives(buffer.name, last)
        for tensor, name in (*self._order.inputs, *self._order.outputs):
            if name not in self._buffers:
                self._fault("unknown-buffer", f"`{tensor}` is said to be in `{name}`, which is no buffer")

    def _lifetimes(self) -> None:
        """The lives by the steps must be within the lives that the buffers state. A state that is read is
        there from the start.
        """
        for buffer in self._order.buffers:
            if buffer.kind == BufferKind.STATE and buffer.name in self._live:
                self._lives(buffer.name, 0)
        for buffer in self._order.buffers:
            first, last = self._live.get(buffer.name, (buffer.first, buffer.last))
            if first < buffer.first or last > buffer.last:
                self._fault(
                    "wrong-lifetime",
                    f"buffer `{buffer.name}` says {buffer.first}..{buffer.last}, is live {first}..{last}",
                )

    def _overlaps(self) -> None:
        places = {
            buffer.name: self._lying(buffer)
            for buffer in self._order.buffers
            if buffer.name in self._live and buffer.name in self._plan.offsets
        }
        for over, under in self._plan.in_place:
            self._overwritten(places, over, under)
        arenas: dict[Arena, list[Lying]] = {}
        for buffer in self._order.buffers:
            if buffer.name in places:
                there = places[buffer.name]
                lines = round_up(there.bytes, self._soc.own_line(buffer.memory))
                arenas.setdefault(buffer.arena, []).append(evolve(there, bytes=lines))
        for lying in arenas.values():
            for one, other in meeting(lying):
                if not {(one.name, other.name), (other.name, one.name)} & {*self._plan.in_place}:
                    self._fault(
                        "overlap",
                        f"buffers `{one.name}` and `{other.name}` share bytes while both are live",
                    )

    def _overwritten(self, places: dict[str, Lying], over: str, under: str) -> None:
        """One buffer has the place of another: from the call that writes it on, the place is its own."""
        names = (over, under)
        later = self._buffers.get(over)
        follows = later is not None and later.replaces == under
        if follows and under not in places:
            return
        if any(name not in places for name in names):
            self._fault("unsafe-in-place", f"buffer `{over}` is written over `{under}`: one is never used")
            return
        if follows and places[under].last < places[over].first:
            return
        apart = self._buffers[over].arena != self._buffers[under].arena
        why = "they lie in two arenas" if apart else self._overwriting.fault(places[over], places[under])
        if why is None:
            places[under] = self._overwriting.cut(places[over], places[under])
        else:
            self._fault("unsafe-in-place", f"buffer `{over}` is written over `{under}`: {why}")

    def _lying(self, buffer: Buffer) -> Lying:
        first, last = self._live[buffer.name]
        offset = self._plan.offsets[buffer.name]
        return Lying(name=buffer.name, offset=offset, bytes=buffer.bytes, first=first, last=last)

    def _lives(self, name: str, step: int) -> None:
        first, last = self._live.get(name, (step, step))
        self._live[name] = (min(first, step), max(last, step))

    # The steps, one after the other.

    def _replay(self, number: int, step: Step) -> None:
        self._started = self._started or not isinstance(step, Load)
        if isinstance(step, Load):
            self._load(step)
        elif isinstance(step, Wait):
            self._wait(number, step.event)
        else:
            touches = self._copy_touches(step) if isinstance(step, Copy) else self._dispatch_touches(step)
            if all(self._known(touch.part) for touch in touches):
                if isinstance(step, Dispatch):
                    self._overwriting.dispatched(number, step, self._busy)
                self._execute(number, step.event, touches)
                for part in (touch.part for touch in touches if touch.write):
                    other = self._holders.write(part, step)
                    if other is not None:
                        self._fault("written-twice", f"`{part}` is written over what `{other}` wrote there")
                self._rules(step)

    def _load(self, step: Load) -> None:
        if self._started:
            self._fault("late-load", "a load must stand before every other step")
        self._loaded.add(step.instance)

    def _wait(self, number: int, event: Event) -> None:
        if event.value > self._issued.get(event.timeline, 0):
            self._fault("unknown-event", f"nothing issued so far signals `{event}`")
        flying = self._flying.get(event.timeline, deque())
        while flying and flying[0].event.value <= event.value:
            self._touch(number, flying.popleft().touches)
        self._done[event.timeline] = max(event.value, self._done.get(event.timeline, 0))

    def _in_flight_near(self, touches: Iterable[_Touch]) -> list[_Flying]:
        """The steps in flight that touch the same buffers, each once, in order."""
        found: dict[int, _Flying] = {}
        for name in {touch.part.of for touch in touches}:
            near = self._near.get(name, [])
            near[:] = [f for f in near if f.event.value > self._done.get(f.event.timeline, 0)]
            found |= {flying.number: flying for flying in near}
        return [found[number] for number in sorted(found)]

    def _busy(self, name: str, event: Event | None) -> bool:
        """True where something in flight touches the buffer that may end after a step with that event
        starts.
        """
        own = None if event is None else event.timeline
        flying = (f.event for f in self._near.get(name, ()) if f.event.timeline != own)
        return any(other.value > self._done.get(other.timeline, 0) for other in flying)

    def _known(self, part: Slice) -> bool:
        if part.of not in self._buffers:
            self._fault("unknown-buffer", f"`{part.of}` is no buffer")
        elif (
            part.offset < 0
            or part.end > self._buffers[part.of].bytes
            or part.row_bytes <= 0
            or part.rows <= 0
        ):
            self._fault(
                "out-of-bounds", f"`{part}` lies outside its buffer of {self._buffers[part.of].bytes:,} B"
            )
        else:
            return True
        return False

    def _execute(self, number: int, event: Event | None, touches: tuple[_Touch, ...]) -> None:
        for flying in self._in_flight_near(touches):
            if (event is None or flying.event.timeline != event.timeline) and _race(touches, flying.touches):
                self._fault(
                    "race",
                    f"it starts while step {flying.number} (`{flying.event}`) is in flight on the same bytes",
                )
        self._touch(number, touches)
        self._overwriting.touched(number, (touch.part.of for touch in touches))
        for touch in touches:
            if not touch.write and not self._written[touch.part.of].covers(touch.part):
                self._fault("read-before-write", f"`{touch.part}` is read before all of it was written")
        for touch in touches:
            if touch.write and self._buffers[touch.part.of].kind == BufferKind.CONSTANT:
                self._fault("constant-written", f"`{touch.part}` is a constant and written to")
            if touch.write and self._buffers[touch.part.of].kind == BufferKind.STATE:
                self._fault("wrong-state", f"`{touch.part}` is what the run finds, not what it leaves")
            if touch.write:
                self._written[touch.part.of].write(touch.part)
        if event is not None:
            self._issue(number, event, touches)

    def _issue(self, number: int, event: Event, touches: tuple[_Touch, ...]) -> None:
        expected = self._issued.get(event.timeline, 0) + 1
        if event.value != expected:
            self._fault("wrong-event", f"it signals `{event}`, value {expected} is the next of that timeline")
        self._issued[event.timeline] = event.value
        flying = _Flying(number=number, event=event, touches=touches)
        self._flying.setdefault(event.timeline, deque()).append(flying)
        for name in {touch.part.of for touch in touches}:
            self._near.setdefault(name, []).append(flying)

    def _touch(self, number: int, touches: Iterable[_Touch]) -> None:
        for touch in touches:
            self._lives(touch.part.of, number)

    def _ending(self) -> None:
        left = (flying for timeline in self._flying.values() for flying in timeline)
        for flying in sorted(left, key=lambda flying: flying.number):
            self._fault("in-flight", f"step {flying.number} (`{flying.event}`) is still in flight")
        nexts = ((f"next value of {each.tensor}", each.next) for each in self._order.states)
        for tensor, name in (*self._order.outputs, *nexts):
            if name in self._buffers and not self._written[name].complete:
                self._fault("read-before-write", f"output `{tensor}` in `{name}` is not written entirely")

    # What the description allows.

    def _rules(self, step: Copy | Dispatch) -> None:
        if isinstance(step, Copy):
            self._copy_rules(step)
        else:
            self._dispatch_rules(step)

    def _copy_touches(self, step: Copy) -> tuple[_Touch, ...]:
        return (_Touch(part=step.source, write=False), _Touch(part=step.target, write=True))

    def _copy_rules(self, step: Copy) -> None:
        start, end = self._buffers[step.source.of].memory, self._buffers[step.target.of].memory
        paths = [p for p in self._soc.copies if (p.source, p.target, p.engine) == (start, end, step.engine)]
        if not paths:
            self._fault("no-copy-path", f"no path from `{start}` to `{end}` by `{step.engine}` is declared")
            return
        refusals = [violation(path, step, self._plan.offsets) for path in paths]
        if None not in refusals:
            self._fault("copy-path-limit", str(refusals[0]))
        if (step.source.rows, step.source.row_bytes) != (step.target.rows, step.target.row_bytes):
            self._fault("copy-sizes", f"`{step.source}` and `{step.target}` have different rows")
        channel = step.event.timeline.rpartition(".") if step.event is not None else None
        if (step.engine == HOST_ENGINE) != (channel is None):
            self._fault(
                "wrong-event", f"a copy by `{step.engine}` and the event `{step.event}` do not go together"
            )
        elif channel is not None and not self._is_channel(step.engine, channel):
            self._fault("wrong-event", f"`{step.event}` is on no channel of `{step.engine}`")

    def _is_channel(self, engine: str, channel: tuple[str, str, str]) -> bool:
        name, _, number = channel
        return name == engine and number.isdigit() and int(number) < self._soc.dma(engine).channels

    def _dispatch_touches(self, step: Dispatch) -> tuple[_Touch, ...]:
        touches = []
        for operand in step.operands:
            size = self._buffers[operand.of].bytes if operand.of in self._buffers else 0
            count = size - operand.offset if operand.bytes is None else operand.bytes
            rows, stride = operand.rows, operand.stride
            part = Slice(of=operand.of, offset=operand.offset, row_bytes=count, rows=rows, stride=stride)
            if operand.access.reads:
                touches.append(_Touch(part=part, write=False))
            if operand.access.writes:
                touches.append(_Touch(part=part, write=True))
        return tuple(touches)

    def _dispatch_rules(self, step: Dispatch) -> None:
        instance = self._instances[step.instance]
        if not step.function:
            self._fault("not-lowered", f"partition `{step.partition}` has no kernel")
        if instance.arch.host != (step.event is None):
            self._fault(
                "wrong-event",
                f"a dispatch to `{step.instance}` and the event `{step.event}` do not go together",
            )
        if step.event is not None and step.event.timeline != step.instance:
            self._fault("wrong-event", f"`{step.event}` is not on the timeline of `{step.instance}`")
        if not instance.arch.host and step.instance not in self._loaded:
            self._fault("not-loaded", f"`{step.instance}` is used without a load")
        own = (*instance.memory, *instance.buffers.values())
        for operand in step.operands:
            memory = self._buffers[operand.of].memory
            observed = self._soc.sees(instance, memory)
            free = instance.arch.host or (
                instance.arch.operands == OperandRule.OUTPUTS and operand.access == Access.READ
            )
            if not (observed if free else memory in own):
                self._fault(
                    "not-observed",
                    f"`{step.instance}` cannot take `{operand.of}` where it lies, in `{memory}`",
                )
            if operand.access.writes and not self._soc.memory(memory).writable:
                self._fault(
                    "not-writable", f"`{operand.of}` is written in `{memory}`, which cannot be written"
                )


def _race(touches: Iterable[_Touch], others: tuple[_Touch, ...]) -> bool:
    return any(
        (touch.write or other.write) and touch.part.of == other.part.of and meet(touch.part, other.part)
        for touch in touches
        for other in others
    )
