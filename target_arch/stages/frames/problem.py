"""The steps of a run as tasks of a pipeline: time, resource, and the tasks that come before."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import inf

from attrs import field, frozen

from target_arch.plan.memory import Buffer, BufferKind, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.soc.model import HOST_ENGINE, CopyPath, SoC
from target_arch.soc.rounding import ceil_div
from target_arch.stages.memory.allocate import arena_capacity
from target_arch.stages.program.dependences import accesses, dependences
from target_arch.stages.program.hazards import overlap
from target_arch.stages.program.items import Item, Run, Slot, Transfer
from target_arch.stages.program.program import Program
from target_arch.stages.steps.simulation.clock import HOST
from target_arch.stages.steps.simulation.orders import NO_ORDERS, Orders
from target_arch.stages.steps.simulation.replay import step_times
from target_arch.stages.steps.simulation.times import Times


@frozen
class CopyOf:
    """A buffer of a round that starts several frames: that of a run, for the frame of this number."""

    of: str
    frame: int


@frozen(kw_only=True, slots=False)
class FrameProblem:
    """The copies and dispatches of a run as a modulo scheduling problem. Times are whole picoseconds.

    `before` has for each task those of the same frame that must have ended before it begins. `carried` are
    pairs: the first must have ended before the next frame's second begins, as both touch a state. `widths`
    is how many tasks a resource does at once: the channels of an engine. `orders` are what tasks of others
    take of the host; calls on one of the `joining` that follow each other are one order.

    `sizes` are the bytes of memories that buffers of frames may have.

    Where a round starts a frame on each of several equal `cores`, the tasks of these frames follow each
    other, and `copies` says whose each buffer is. It takes `wake` until one that has nothing to do begins.
    """

    run: StepOrder = field(repr=False)
    steps: tuple[Copy | Dispatch, ...] = field(repr=False)
    takes: tuple[int, ...]
    where: tuple[str, ...]
    before: Sequence[tuple[int, ...]]
    carried: tuple[tuple[int, int], ...]
    widths: Mapping[str, int]
    orders: Orders = NO_ORDERS
    joining: frozenset[str] = frozenset()
    sizes: Mapping[str, int] = field(factory=dict, repr=False)
    cores: tuple[str, ...] = ()
    wake: int = 0
    copies: Mapping[str, CopyOf] = field(factory=dict, repr=False)

    @property
    def frames(self) -> int:
        """The frames that a round starts."""
        return max(len(self.cores), 1)

    def frame(self, task: int) -> int:
        """Which of these a task works for."""
        return task * self.frames // len(self.steps)

    @cached_property
    def busy(self) -> Mapping[str, int]:
        """The time in which each resource works for one frame: all of an engine's channels together, and the
        host for what it orders and settles: calls of a frame that are `joining` once at least.
        """
        busy = Counter[str]()
        for where, takes in zip(self.where, self.takes, strict=True):
            busy[where] += takes
            if where in self.orders and where not in self.joining:
                busy[HOST] += self.orders[where].both
        joining = self.joining & busy.keys() & self.orders.keys()
        busy[HOST] += sum(self.orders[where].both for where in joining)
        return busy

    @cached_property
    def bounds(self) -> Mapping[str, int]:
        """The periods that no order goes below, by the resource that is busy all the time, or the memory in
        which there is a buffer; that of states is called `states`.
        """
        found = {where: ceil_div(busy, self.widths.get(where, 1)) for where, busy in self.busy.items()}
        for memory, held in self._held():
            found[memory] = max(held, found.get(memory, 0))
        states = max((self._recurrence(*pair) for pair in self.carried), default=0)
        return {**found, STATES: states} if states else found

    @cached_property
    def busiest(self) -> str:
        """The resource that sets the bound, or `STATES`."""
        return max(sorted(self.bounds), key=lambda where: self.bounds[where], default=HOST)

    @property
    def bound(self) -> int:
        """The period that no order goes below."""
        return self.bounds.get(self.busiest, 0)

    def _held(self) -> Iterator[tuple[str, int]]:
        """By memory the least times from the first task on a kernel's own buffer there to the end of the last
        one, where two such buffers have no room: the next frame's begins when it ends.
        """
        for buffer in self.run.buffers:
            if buffer.kind is BufferKind.LOCAL and 2 * buffer.bytes > self.sizes.get(buffer.memory, inf):
                yield buffer.memory, self._life(buffer.name)

    def _life(self, name: str) -> int:
        """The longest way from task to task of those that touch a buffer."""
        ends: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            touches = name in names_of(step)
            before = max((ends[other] for other in self.before[number] if other in ends), default=0)
            if before or touches:
                ends[number] = before + self.takes[number]
        touching = (end for number, end in ends.items() if name in names_of(self.steps[number]))
        return max(touching, default=0)

    def _recurrence(self, last: int, first: int) -> int:
        """The longest time from the start of the first task to the end of the last of one frame."""
        ends: dict[int, int] = {first: self.takes[first]}
        for number in range(first + 1, last + 1):
            known = [ends[other] for other in self.before[number] if other in ends]
            if known:
                ends[number] = max(known) + self.takes[number]
        return ends.get(last, 0)


def constants_of(run: StepOrder) -> list[str]:
    """The buffers whose bytes no run changes."""
    staying = (BufferKind.CONSTANT, BufferKind.RESIDENT)
    return [buffer.name for buffer in run.buffers if buffer.kind in staying]


def common(run: StepOrder) -> dict[str, str]:
    """The buffers that all frames have in common, and by which name: a state and its next value are the same
    bytes.
    """
    shared = {name: name for name in constants_of(run)}
    for state in run.states:
        shared |= {state.now: state.now, state.next: state.now}
    return shared


STATES = "states"
"""What sets the bound of a period where every frame waits for the states of the one before."""


def names_of(step: Copy | Dispatch) -> tuple[str, ...]:
    """The buffers that a step touches."""
    if isinstance(step, Copy):
        return (step.source.of, step.target.of)
    return tuple(operand.of for operand in step.operands)


def frame_problem(soc: SoC, run: StepOrder, times: Times, plan: MemoryPlan) -> FrameProblem:
    """The problem of a run's steps. An order of the program within a frame is that of the run. The `plan` of
    the run says what constants and residents leave of memories.
    """
    steps = tuple(step for step in run.steps if isinstance(step, Copy | Dispatch))
    program = _program(soc, run, steps)
    return FrameProblem(
        run=run,
        steps=steps,
        takes=step_times(steps, run.buffers, times),
        where=tuple(map(_where, steps)),
        before=dependences(program),
        carried=tuple(_carried(program)),
        widths={dma.name: dma.channels for dma in soc.dmas},
        orders=times.orders,
        joining=times.joining,
        sizes={memory.name: arena_capacity(plan, memory.name, memory.size) for memory in soc.memories},
    )


def _where(step: Copy | Dispatch) -> str:
    if step.event is None:
        return HOST
    return step.engine if isinstance(step, Copy) else step.event.timeline


def _program(soc: SoC, run: StepOrder, steps: Sequence[Copy | Dispatch]) -> Program:
    memories = {buffer.name: buffer.memory for buffer in run.buffers}
    return Program(
        items=tuple(_item(soc, step, memories) for step in steps),
        buffers={buffer.name: _slot(buffer) for buffer in run.buffers},
        inputs=run.inputs,
        outputs=run.outputs,
        states=run.states,
    )


def _slot(buffer: Buffer) -> Slot:
    return Slot(
        name=buffer.name,
        kind=buffer.kind,
        memory=buffer.memory,
        bytes=buffer.bytes,
        alignment=buffer.alignment,
        replaces=buffer.replaces,
    )


def _item(soc: SoC, step: Copy | Dispatch, memories: Mapping[str, str]) -> Item:
    if isinstance(step, Copy):
        path = _path(soc, memories[step.source.of], memories[step.target.of], step.engine or HOST_ENGINE)
        return Transfer(path=path, pieces=((step.source, step.target),), partition=step.partition)
    return Run(
        partition=step.partition,
        operator=step.operator,
        instance=step.instance,
        function=step.function,
        operands=step.operands,
    )


def _path(soc: SoC, source: str, target: str, engine: str) -> CopyPath:
    return next(p for p in soc.copies if (p.source, p.target, p.engine) == (source, target, engine))


def _carried(program: Program) -> Iterator[tuple[int, int]]:
    """Pairs of items that touch the same bytes of a state, one of which writes them. One frame's have to be
    over before the next one's begin, whatever their order is within a frame.
    """
    touched = [
        (number, part.renamed(slot.replaces or slot.name), writes)
        for number, item in enumerate(program.items)
        for part, writes in accesses(program, item)
        if (slot := program.buffers[part.of]).kind.settled and _is_state(program, slot.name)
    ]
    pairs = {
        (one, other)
        for one, part, writes in touched
        for other, there, over in touched
        if (writes or over) and part.of == there.of and overlap(part, there)
    }
    yield from sorted(pairs)


def _is_state(program: Program, name: str) -> bool:
    return any(name in (state.now, state.next) for state in program.states)
