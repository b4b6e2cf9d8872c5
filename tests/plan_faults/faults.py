"""The kinds of faults: each makes a wrong plan of a right one, or None where it has nothing to change."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TypeVar

from attrs import evolve

from target_arch.plan.kernels import Access, Operand, Slice
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import Buffer, BufferKind
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Load, Step, Wait

Fault = Callable[[Random, Lowered], Lowered | None]
_T = TypeVar("_T")


def _picked(random: Random, found: Iterable[_T]) -> _T | None:
    listed = list(found)
    return random.choice(listed) if listed else None


def _order(plan: Lowered, **facts: object) -> Lowered:
    return evolve(plan, steps=evolve(plan.steps, **facts))  # type: ignore[arg-type]


def _numbered(steps: Sequence[Step], kind: type[_T]) -> list[tuple[int, _T]]:
    return [(number, step) for number, step in enumerate(steps) if isinstance(step, kind)]


def _with(plan: Lowered, number: int, *instead: Step) -> Lowered:
    """The steps with others in the place of one, and the events of each timeline counted anew."""
    steps = plan.steps.steps
    return _order(plan, steps=recounted((*steps[:number], *instead, *steps[number + 1 :])))


def recounted(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps with the events of each timeline numbered in their order; waits are for the same steps."""
    counts: dict[str, int] = {}
    numbers: dict[Event, Event] = {}
    found: list[Step] = []
    for step in steps:
        event = step.event if isinstance(step, Copy | Dispatch) else None
        if isinstance(step, Wait):
            found.append(evolve(step, event=numbers.get(step.event, step.event)))
        elif event is None:
            found.append(step)
        else:
            counts[event.timeline] = counts.get(event.timeline, 0) + 1
            numbers[event] = Event(timeline=event.timeline, value=counts[event.timeline])
            found.append(evolve(step, event=numbers[event]))  # type: ignore[call-arg]
    return tuple(found)


# Inputs, outputs and states.


def _swapped(random: Random, pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...] | None:
    """Two tensors in each other's buffers."""
    if len(pairs) < 2:
        return None
    one, other = random.sample(range(len(pairs)), 2)
    found = list(pairs)
    found[one], found[other] = (pairs[one][0], pairs[other][1]), (pairs[other][0], pairs[one][1])
    return tuple(found)


def _ends(which: str, change: Callable[[Random, Lowered, tuple[tuple[str, str], ...]], object]) -> Fault:
    def fault(random: Random, plan: Lowered) -> Lowered | None:
        changed = change(random, plan, getattr(plan.steps, which))
        return None if changed is None else _order(plan, **{which: changed})

    return fault


def _reordered(random: Random, plan: Lowered, pairs: tuple[tuple[str, str], ...]) -> object:
    return tuple(reversed(pairs)) if len(pairs) > 1 else None


def _elsewhere(random: Random, plan: Lowered, pairs: tuple[tuple[str, str], ...]) -> object:
    """One in another buffer of its size."""
    if not pairs:
        return None
    number = random.randrange(len(pairs))
    name = _other(random, plan, pairs[number][1])
    return None if name is None else (*pairs[:number], (pairs[number][0], name), *pairs[number + 1 :])


def _fewer(random: Random, plan: Lowered, pairs: tuple[tuple[str, str], ...]) -> object:
    number = random.randrange(len(pairs)) if pairs else 0
    return (*pairs[:number], *pairs[number + 1 :]) if pairs else None


def _other(random: Random, plan: Lowered, name: str, **alike: object) -> str | None:
    """Another buffer of the same size, and with the same values of these fields."""
    (own,) = (each for each in plan.steps.buffers if each.name == name)
    able = (
        each.name
        for each in plan.steps.buffers
        if each.name != name
        and each.bytes == own.bytes
        and all(getattr(each, field) == getattr(own, field) for field in alike)
    )
    return _picked(random, able)


def _states(random: Random, plan: Lowered, *, now: bool, later: bool) -> Lowered | None:
    """The buffers of two states swapped."""
    if len(plan.steps.states) < 2:
        return None
    one, other = plan.steps.states[:2]
    first = evolve(one, now=other.now if now else one.now, next=other.next if later else one.next)
    second = evolve(other, now=one.now if now else other.now, next=one.next if later else other.next)
    return _order(plan, states=(first, second, *plan.steps.states[2:]))


def _state_initial(random: Random, plan: Lowered) -> Lowered | None:
    if not plan.steps.states:
        return None
    state = plan.steps.states[0]
    constants = [
        b.name for b in plan.steps.buffers if b.kind is BufferKind.CONSTANT and b.name != state.initial
    ]
    initial = _picked(random, [None, *constants] if state.initial else constants)
    return _order(plan, states=(evolve(state, initial=initial), *plan.steps.states[1:]))


# Buffers.


def _buffer(plan: Lowered, name: str, **facts: object) -> Lowered:
    def changed(found: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return tuple(evolve(b, **facts) if b.name == name else b for b in found)  # type: ignore[arg-type]

    memory = evolve(plan.plan, buffers=changed(plan.plan.buffers))
    return evolve(plan, steps=evolve(plan.steps, buffers=changed(plan.steps.buffers)), plan=memory)


def _some_buffer(
    change: Callable[[Random, Lowered, Buffer], Lowered | None],
    kinds: Sequence[BufferKind] = tuple(BufferKind),
) -> Fault:
    def fault(random: Random, plan: Lowered) -> Lowered | None:
        buffer = _picked(random, (each for each in plan.steps.buffers if each.kind in kinds))
        return None if buffer is None else change(random, plan, buffer)

    return fault


def _moved(plan: Lowered, name: str, offset: int) -> Lowered:
    return evolve(plan, plan=evolve(plan.plan, offsets={**plan.plan.offsets, name: offset}))


def _constant_of(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    """A constant with the name of another one."""
    tensors = plan.graph.model.tensors.values()
    name = _picked(random, (t.name for t in tensors if t.data is not None and t.name != buffer.tensor))
    return None if name is None else _buffer(plan, buffer.name, tensor=name)


def _constant_like(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    """A constant with the name of another one of its size."""
    tensors = plan.graph.model.tensors.values()
    able = (
        t.name for t in tensors if t.data is not None and t.bytes == buffer.bytes and t.name != buffer.tensor
    )
    name = _picked(random, able)
    return None if name is None else _buffer(plan, buffer.name, tensor=name)


def _anywhere(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    offset = random.randrange(64) * max(buffer.alignment, 16)
    return None if offset == plan.plan.offsets[buffer.name] else _moved(plan, buffer.name, offset)


def _at_another(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    able = (b for b in plan.steps.buffers if b.arena == buffer.arena)
    offset = plan.plan.offsets[_picked(random, able).name]  # type: ignore[union-attr]
    return None if offset == plan.plan.offsets[buffer.name] else _moved(plan, buffer.name, offset)


def _nearby(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    return _moved(plan, buffer.name, plan.plan.offsets[buffer.name] + random.choice((-16, -1, 1, 4, 16)))


def _less_aligned(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    """Not aligned, and it says so."""
    return _moved(_buffer(plan, buffer.name, alignment=1), buffer.name, plan.plan.offsets[buffer.name] + 1)


def _resized(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    size = buffer.bytes + random.choice((-16, -1, 1, 16))
    return _buffer(plan, buffer.name, bytes=size) if size > 0 else None


def _other_life(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    if random.random() < 0.5:
        return _buffer(plan, buffer.name, first=buffer.first + 1)
    return _buffer(plan, buffer.name, last=buffer.last - 1) if buffer.last > buffer.first else None


def _elsewhere_in_memory(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    memory = _picked(random, sorted({b.memory for b in plan.steps.buffers} - {buffer.memory}))
    return None if memory is None else _buffer(plan, buffer.name, memory=memory)


def _other_kind(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    kind = random.choice([kind for kind in BufferKind if kind is not buffer.kind])
    return _buffer(plan, buffer.name, kind=kind)


def _in_place(random: Random, plan: Lowered, buffer: Buffer) -> Lowered | None:
    """One buffer in the place of another, and the plan says so."""
    able = (b for b in plan.steps.buffers if b.arena == buffer.arena and b.name != buffer.name)
    other = _picked(random, able)
    if other is None:
        return None
    moved = _moved(plan, buffer.name, plan.plan.offsets[other.name])
    pairs = (*plan.plan.in_place, (buffer.name, other.name))
    return evolve(moved, plan=evolve(moved.plan, in_place=pairs))


def _in_place_and_allowed(random: Random, plan: Lowered) -> Lowered | None:
    """A call that writes over one of its operands, and says that it may."""
    calls = [
        (number, step, written, read)
        for number, step in _numbered(plan.steps.steps, Dispatch)
        for written, one in enumerate(step.operands)
        for read, other in enumerate(step.operands)
        if one.access is Access.WRITE and other.access is Access.READ and other.of not in one.over
    ]
    found = _picked(random, calls)
    if found is None:
        return None
    number, step, written, read = found
    one, other = step.operands[written], step.operands[read]
    operands = tuple(
        evolve(each, over=(*each.over, other.of), smaller=True) if n == written else each
        for n, each in enumerate(step.operands)
    )
    changed = _with(plan, number, evolve(step, operands=operands))
    changed = _moved(changed, one.of, plan.plan.offsets[other.of])
    pairs = (*plan.plan.in_place, (one.of, other.of))
    return evolve(changed, plan=evolve(changed.plan, in_place=pairs))


def _not_in_place(random: Random, plan: Lowered) -> Lowered | None:
    pair = _picked(random, plan.plan.in_place)
    left = tuple(each for each in plan.plan.in_place if each != pair)
    return None if pair is None else evolve(plan, plan=evolve(plan.plan, in_place=left))


def _alias(random: Random, plan: Lowered) -> Lowered | None:
    """A tensor elsewhere in the buffer that holds it, or another one there."""
    buffer = _picked(random, (each for each in plan.steps.buffers if each.aliases))
    if buffer is None:
        return None
    held = random.choice(buffer.aliases)
    names = sorted(plan.graph.model.tensors)
    other = random.choice((evolve(held, offset=held.offset + 16), evolve(held, tensor=random.choice(names))))
    return _buffer(
        plan, buffer.name, aliases=tuple(other if each is held else each for each in buffer.aliases)
    )


# Calls.


def _call(change: Callable[[Random, Lowered, Dispatch], Dispatch | None]) -> Fault:
    def fault(random: Random, plan: Lowered) -> Lowered | None:
        found = _picked(random, _numbered(plan.steps.steps, Dispatch))
        changed = None if found is None else change(random, plan, found[1])
        return None if found is None or changed is None else _with(plan, found[0], changed)

    return fault


def _operand(change: Callable[[Random, Lowered, Operand], Operand | None]) -> Fault:
    def changed(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
        if not step.operands:
            return None
        number = random.randrange(len(step.operands))
        operand = change(random, plan, step.operands[number])
        if operand is None:
            return None
        return evolve(step, operands=(*step.operands[:number], operand, *step.operands[number + 1 :]))

    return _call(changed)


def _size(plan: Lowered, name: str) -> int:
    return next(buffer.bytes for buffer in plan.steps.buffers if buffer.name == name)


def _operands_swapped(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    """Two operands in each other's place, each with the access of the place."""
    if len(step.operands) < 2:
        return None
    one, other = random.sample(range(len(step.operands)), 2)
    found = list(step.operands)
    found[one] = evolve(step.operands[other], access=step.operands[one].access)
    found[other] = evolve(step.operands[one], access=step.operands[other].access)
    return evolve(step, operands=tuple(found))


def _reads_swapped(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    """Two operands that are read swapped: of one size, where there are any."""
    reads = [n for n, each in enumerate(step.operands) if each.access is Access.READ]
    pairs = [(a, b) for a in reads for b in reads if a < b and step.operands[a].of != step.operands[b].of]
    alike = [(a, b) for a, b in pairs if _size(plan, step.operands[a].of) == _size(plan, step.operands[b].of)]
    pair = _picked(random, alike or pairs)
    if pair is None:
        return None
    found = list(step.operands)
    found[pair[0]], found[pair[1]] = found[pair[1]], found[pair[0]]
    return evolve(step, operands=tuple(found))


def _operand_less(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    if not step.operands:
        return None
    number = random.randrange(len(step.operands))
    return evolve(step, operands=(*step.operands[:number], *step.operands[number + 1 :]))


def _operand_twice(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    return evolve(step, operands=(*step.operands, random.choice(step.operands))) if step.operands else None


def _shorter(random: Random, plan: Lowered, operand: Operand) -> Operand | None:
    size = operand.touched(_size(plan, operand.of)).row_bytes
    return evolve(operand, bytes=size - random.randint(1, size - 1)) if size > 1 else None


def _shifted(random: Random, plan: Lowered, operand: Operand) -> Operand | None:
    size = operand.touched(_size(plan, operand.of)).row_bytes
    shift = random.choice((1, 4, 16, 64))
    return evolve(operand, offset=operand.offset + shift, bytes=size - shift) if size > shift else None


def _operand_elsewhere(random: Random, plan: Lowered, operand: Operand) -> Operand | None:
    """Another buffer of the size, in the memory."""
    name = _other(random, plan, operand.of, memory=True)
    return None if name is None else operand.renamed(name)


def _operand_anywhere(random: Random, plan: Lowered, operand: Operand) -> Operand | None:
    name = _other(random, plan, operand.of)
    return None if name is None else operand.renamed(name)


def _access(random: Random, plan: Lowered, operand: Operand) -> Operand | None:
    return evolve(operand, access=random.choice([each for each in Access if each is not operand.access]))


def _rows(random: Random, plan: Lowered, operand: Operand) -> Operand | None:
    """As many bytes in two rows with a gap between them, or half of the bytes."""
    size = operand.touched(_size(plan, operand.of)).row_bytes
    if operand.rows > 1 or size < 4 or size % 4:
        return None
    stride = random.choice((size // 2, size // 4))
    return evolve(operand, bytes=size // 2, rows=2, stride=stride)


def _over(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    """A written operand that says that it may take the place of every other one."""
    names = tuple(dict.fromkeys(each.of for each in step.operands if each.access is Access.READ))
    operands = tuple(evolve(o, over=names) if o.access is Access.WRITE else o for o in step.operands)
    return evolve(step, operands=operands)


def _function(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    names = {s.function for _, s in _numbered(plan.steps.steps, Dispatch)} - {step.function}
    name = _picked(random, sorted(names))
    return None if name is None else evolve(step, function=name)


def _words(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    if not step.words:
        return None
    number = random.randrange(len(step.words))
    words = (*step.words[:number], step.words[number] + 1, *step.words[number + 1 :])
    return evolve(step, words=words)


def _partition(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    others = [each.id for each in plan.graph.partitions if each.id != step.partition]
    name = _picked(random, others)
    return None if name is None else evolve(step, partition=name)


def _operator(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    others = [each.id for each in plan.graph.model.operators if each.id != step.operator]
    name = _picked(random, others)
    return None if name is None else evolve(step, operator=name)


def _instance(random: Random, plan: Lowered, step: Dispatch) -> Dispatch | None:
    others = sorted({each.instance for each in plan.graph.partitions} - {step.instance})
    name = _picked(random, others)
    if name is None:
        return None
    event = None if step.event is None else Event(timeline=name, value=1)
    return evolve(step, instance=name, event=event)


# Copies.


def _copy(change: Callable[[Random, Lowered, Copy], Copy | None]) -> Fault:
    def fault(random: Random, plan: Lowered) -> Lowered | None:
        found = _picked(random, _numbered(plan.steps.steps, Copy))
        changed = None if found is None else change(random, plan, found[1])
        return None if found is None or changed is None else _with(plan, found[0], changed)

    return fault


def _end(which: str, change: Callable[[Random, Lowered, Slice], Slice | None]) -> Fault:
    def changed(random: Random, plan: Lowered, step: Copy) -> Copy | None:
        part = change(random, plan, getattr(step, which))
        return None if part is None else evolve(step, **{which: part})  # type: ignore[arg-type]

    return _copy(changed)


def _slice_elsewhere(random: Random, plan: Lowered, part: Slice) -> Slice | None:
    name = _other(random, plan, part.of, memory=True)
    return None if name is None else part.renamed(name)


def _slice_in_larger(random: Random, plan: Lowered, part: Slice) -> Slice | None:
    """Another buffer of the memory that has room for it."""
    (own,) = (each for each in plan.steps.buffers if each.name == part.of)
    able = [
        b.name for b in plan.steps.buffers if b.memory == own.memory and b.bytes >= part.end and b is not own
    ]
    name = _picked(random, able)
    return None if name is None else part.renamed(name)


def _slice_shifted(random: Random, plan: Lowered, part: Slice) -> Slice | None:
    size = _size(plan, part.of)
    shifts = (-256, -64, -16, -1, 1, 16, 64, 256)
    shift = _picked(
        random, (each for each in shifts if 0 <= part.offset + each <= size - (part.end - part.offset))
    )
    return None if shift is None else evolve(part, offset=part.offset + shift)


def _copy_shorter(random: Random, plan: Lowered, step: Copy) -> Copy | None:
    less = random.choice((1, 16, 64))
    if step.source.row_bytes <= less:
        return None
    ends = {
        which: evolve(part, row_bytes=part.row_bytes - less)
        for which, part in (("source", step.source), ("target", step.target))
    }
    return evolve(step, **ends)  # type: ignore[arg-type]


def _copy_rows(random: Random, plan: Lowered, step: Copy) -> Copy | None:
    """In two rows, which are the same half twice at the source."""
    size = step.source.row_bytes
    if step.source.rows > 1 or step.target.rows > 1 or size % 32:
        return None
    stride = random.choice((0, 16))
    return evolve(
        step,
        source=evolve(step.source, row_bytes=size // 2, rows=2, stride=stride),
        target=evolve(step.target, row_bytes=size // 2, rows=2, stride=size // 2),
    )


def _copy_back(random: Random, plan: Lowered, step: Copy) -> Copy | None:
    return evolve(step, source=step.target, target=step.source)


def _copy_over_itself(random: Random, plan: Lowered, step: Copy) -> Copy | None:
    return evolve(step, source=step.target)


def _engine(random: Random, plan: Lowered, step: Copy) -> Copy | None:
    names = sorted({s.engine for _, s in _numbered(plan.steps.steps, Copy)} | {"cpu"} - {step.engine})
    engine = random.choice(names)
    event = None if engine == "cpu" else Event(timeline=f"{engine}.0", value=1)
    return None if engine == step.engine else evolve(step, engine=engine, event=event)


def _channel(random: Random, plan: Lowered, step: Copy) -> Copy | None:
    """On another channel, whose steps do not wait for those of the first."""
    timelines = {s.event.timeline for _, s in _numbered(plan.steps.steps, Copy) if s.event is not None}
    others = sorted(timelines - {"" if step.event is None else step.event.timeline})
    other = _picked(random, others)
    if other is None or step.event is None:
        return None
    return evolve(step, event=Event(timeline=other, value=1000))


def _fill(change: Fault) -> Fault:
    """The change of a copy made to a fill."""

    def fault(random: Random, plan: Lowered) -> Lowered | None:
        found = _picked(random, _numbered(plan.steps.steps, Fill))
        if found is None:
            return None
        changed = change(random, _order(plan, steps=(found[1].copy,)))
        copies = () if changed is None else changed.steps.steps
        instead = [Fill(copy=each) for each in copies if isinstance(each, Copy)]
        return _with(plan, found[0], *instead) if instead else None

    return fault


def _fills_exchanged(random: Random, plan: Lowered) -> Lowered | None:
    """The sources of two fills in each other's place."""
    found = _numbered(plan.steps.steps, Fill)
    if len(found) < 2:
        return None
    (one, first), (other, second) = random.sample(found, 2)
    steps = list(plan.steps.steps)
    steps[one] = Fill(copy=evolve(first.copy, source=second.copy.source))
    steps[other] = Fill(copy=evolve(second.copy, source=first.copy.source))
    return _order(plan, steps=tuple(steps))


def _filled_later(random: Random, plan: Lowered) -> Lowered | None:
    """A fill as a copy of each run, after its first use or before."""
    found = _picked(random, _numbered(plan.steps.steps, Fill))
    if found is None:
        return None
    steps = [step for number, step in enumerate(plan.steps.steps) if number != found[0]]
    steps.insert(random.randint(found[0], len(steps)), evolve(found[1].copy, event=None, engine="cpu"))
    return _order(plan, steps=recounted(steps))


# Steps.


def _left_out(kind: type[Load] | type[Fill] | type[Copy] | type[Dispatch] | type[Wait]) -> Fault:
    def fault(random: Random, plan: Lowered) -> Lowered | None:
        found = _picked(random, _numbered(plan.steps.steps, kind))
        return None if found is None else _with(plan, found[0])

    return fault


def _twice(kind: type[Load] | type[Fill] | type[Copy] | type[Dispatch]) -> Fault:
    def fault(random: Random, plan: Lowered) -> Lowered | None:
        found = _picked(random, _numbered(plan.steps.steps, kind))
        if found is None:
            return None
        number, step = found
        return _with(plan, number, step, step)

    return fault


def _later(kind: type[Copy] | type[Dispatch] | type[Wait]) -> Fault:
    """One step moved by up to five places, to either side."""

    def fault(random: Random, plan: Lowered) -> Lowered | None:
        found = _picked(random, _numbered(plan.steps.steps, kind))
        if found is None:
            return None
        steps = list(plan.steps.steps)
        step = steps.pop(found[0])
        place = found[0] + random.choice((-5, -3, -2, -1, 1, 2, 3, 5))
        if not 0 <= place <= len(steps) or place == found[0]:
            return None
        steps.insert(place, step)
        return _order(plan, steps=recounted(steps))

    return fault


def _exchanged(kind: type[Copy] | type[Dispatch]) -> Fault:
    """Two steps in each other's place."""

    def fault(random: Random, plan: Lowered) -> Lowered | None:
        found = _numbered(plan.steps.steps, kind)
        if len(found) < 2:
            return None
        (one, first), (other, second) = random.sample(found, 2)
        steps = list(plan.steps.steps)
        steps[one], steps[other] = second, first  # type: ignore[call-overload]
        return _order(plan, steps=recounted(steps))

    return fault


def _wait_for_less(random: Random, plan: Lowered) -> Lowered | None:
    """A wait for the event before."""
    found = _picked(random, ((n, s) for n, s in _numbered(plan.steps.steps, Wait) if s.event.value > 1))
    if found is None:
        return None
    event = evolve(found[1].event, value=found[1].event.value - 1)
    return _with(plan, found[0], evolve(found[1], event=event))


def _wait_elsewhere(random: Random, plan: Lowered) -> Lowered | None:
    """A wait for what another timeline signals."""
    found = _picked(random, _numbered(plan.steps.steps, Wait))
    events = [s.event for _, s in _numbered(plan.steps.steps, Copy) if s.event is not None]
    event = _picked(random, events)
    return None if found is None or event is None else _with(plan, found[0], evolve(found[1], event=event))


def _at_once(kind: type[Copy] | type[Dispatch]) -> Fault:
    """An asynchronous step as if it were over when it returns."""

    def fault(random: Random, plan: Lowered) -> Lowered | None:
        able = ((n, s) for n, s in _numbered(plan.steps.steps, kind) if s.event is not None)
        found = _picked(random, able)
        return None if found is None else _with(plan, found[0], evolve(found[1], event=None))

    return fault


_RUNNING = (BufferKind.ACTIVATION, BufferKind.LOCAL, BufferKind.OUTPUT, BufferKind.INPUT)

FAULTS: dict[str, Fault] = {
    "inputs swapped": _ends("inputs", lambda random, plan, pairs: _swapped(random, pairs)),
    "inputs in another order": _ends("inputs", _reordered),
    "input in another buffer": _ends("inputs", _elsewhere),
    "input left out": _ends("inputs", _fewer),
    "outputs swapped": _ends("outputs", lambda random, plan, pairs: _swapped(random, pairs)),
    "outputs in another order": _ends("outputs", _reordered),
    "output in another buffer": _ends("outputs", _elsewhere),
    "output left out": _ends("outputs", _fewer),
    "states swapped": lambda random, plan: _states(random, plan, now=True, later=True),
    "values of states swapped": lambda random, plan: _states(random, plan, now=True, later=False),
    "next values of states swapped": lambda random, plan: _states(random, plan, now=False, later=True),
    "another initial value": _state_initial,
    "constant of another name": _some_buffer(_constant_of, (BufferKind.CONSTANT,)),
    "constant of another name and the same size": _some_buffer(_constant_like, (BufferKind.CONSTANT,)),
    "constant of no name": _some_buffer(
        lambda random, plan, buffer: _buffer(plan, buffer.name, tensor=None), (BufferKind.CONSTANT,)
    ),
    "constant at another's place": _some_buffer(_at_another, (BufferKind.CONSTANT,)),
    "buffer anywhere": _some_buffer(_anywhere),
    "buffer at another's place": _some_buffer(_at_another),
    "buffer of a run at another's place": _some_buffer(_at_another, _RUNNING),
    "buffer a little off": _some_buffer(_nearby),
    "buffer that is not aligned": _some_buffer(_less_aligned),
    "buffer of another size": _some_buffer(_resized),
    "buffer of another life": _some_buffer(_other_life),
    "buffer in another memory": _some_buffer(_elsewhere_in_memory),
    "buffer of another kind": _some_buffer(_other_kind),
    "buffer in place of another": _some_buffer(_in_place),
    "buffer of a run in place of another": _some_buffer(_in_place, _RUNNING),
    "result over an operand": _in_place_and_allowed,
    "place taken over and not said": _not_in_place,
    "tensor elsewhere in its buffer": _alias,
    "operands swapped": _call(_operands_swapped),
    "operands that are read swapped": _call(_reads_swapped),
    "operand left out": _call(_operand_less),
    "operand twice": _call(_operand_twice),
    "operand shorter": _operand(_shorter),
    "operand shifted": _operand(_shifted),
    "operand in another buffer": _operand(_operand_elsewhere),
    "operand in another buffer anywhere": _operand(_operand_anywhere),
    "operand of another access": _operand(_access),
    "operand in rows": _operand(_rows),
    "operand over all others": _call(_over),
    "another function": _call(_function),
    "other words": _call(_words),
    "another partition": _call(_partition),
    "another operator": _call(_operator),
    "another instance": _call(_instance),
    "copy from another buffer": _end("source", _slice_elsewhere),
    "copy from another buffer with room": _end("source", _slice_in_larger),
    "copy from other bytes": _end("source", _slice_shifted),
    "copy to another buffer": _end("target", _slice_elsewhere),
    "copy to another buffer with room": _end("target", _slice_in_larger),
    "copy to other bytes": _end("target", _slice_shifted),
    "copy shorter": _copy(_copy_shorter),
    "copy in wrong rows": _copy(_copy_rows),
    "copy back": _copy(_copy_back),
    "copy over itself": _copy(_copy_over_itself),
    "copy by another engine": _copy(_engine),
    "copy on another channel": _copy(_channel),
    "load left out": _left_out(Load),
    "copy left out": _left_out(Copy),
    "call left out": _left_out(Dispatch),
    "wait left out": _left_out(Wait),
    "load twice": _twice(Load),
    "copy twice": _twice(Copy),
    "call twice": _twice(Dispatch),
    "copy moved": _later(Copy),
    "call moved": _later(Dispatch),
    "wait moved": _later(Wait),
    "copies exchanged": _exchanged(Copy),
    "calls exchanged": _exchanged(Dispatch),
    "wait for the event before": _wait_for_less,
    "wait for another timeline": _wait_elsewhere,
    "copy that is not waited for": _at_once(Copy),
    "call that is not waited for": _at_once(Dispatch),
}  # fmt: skip
"""By what is wrong."""


def _both(random: Random, plan: Lowered) -> Lowered | None:
    """Two faults at once, of which one may hide the other."""
    for _ in range(2):
        changed = FAULTS[random.choice(list(FAULTS))](random, plan)
        plan = plan if changed is None else changed
    return plan


FAULTS["two faults"] = _both

FILL_FAULTS: dict[str, Fault] = {
    "fill left out": _left_out(Fill),
    "fill twice": _twice(Fill),
    "fill from another buffer": _fill(_end("source", _slice_elsewhere)),
    "fill from another buffer with room": _fill(_end("source", _slice_in_larger)),
    "fill from other bytes": _fill(_end("source", _slice_shifted)),
    "fill to another buffer": _fill(_end("target", _slice_elsewhere)),
    "fill to another buffer with room": _fill(_end("target", _slice_in_larger)),
    "fill to other bytes": _fill(_end("target", _slice_shifted)),
    "fill shorter": _fill(_copy(_copy_shorter)),
    "fill in wrong rows": _fill(_copy(_copy_rows)),
    "fill back": _fill(_copy(_copy_back)),
    "fill by another engine": _fill(_copy(_engine)),
    "fills exchanged": _fills_exchanged,
    "fill in each run": _filled_later,
    "resident at another's place": _some_buffer(_at_another, (BufferKind.RESIDENT,)),
    "resident of another kind": _some_buffer(_other_kind, (BufferKind.RESIDENT,)),
    "resident in place of another": _some_buffer(_in_place, (BufferKind.RESIDENT,)),
}
"""Of plans with residents, beside all others."""
