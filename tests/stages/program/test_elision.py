"""Copies that are elided from programs made at random: what is computed stays, byte by byte.

The programs are executed as unfavourably as their items allow: a call writes one byte after the other and
reads all its operands again for each, but for those it may write over, of which it reads the same byte.
"""

from collections import Counter
from collections.abc import Iterable
from zlib import crc32

from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Operand
from target_arch.plan.memory import Alias, BufferKind
from target_arch.plan.steps import StateBuffers
from target_arch.stages.program.alias import alias_whole, elide_copies
from target_arch.stages.program.items import Run, Slot
from target_arch.stages.program.program import Program

_KEPT = (BufferKind.INPUT, BufferKind.OUTPUT)


@define
class Maker:
    """A program that grows; every byte is written once, before it is read."""

    draw: st.DrawFn
    items: list[Run] = field(factory=list)
    slots: dict[str, Slot] = field(factory=dict)
    whole: list[str] = field(factory=list)
    """Buffers that are complete."""

    def slot(self, size: int, kind: BufferKind | None = None, **facts: str) -> str:
        name = facts.pop("name", f"t{len(self.slots)}")
        kinds = (BufferKind.ACTIVATION,) * 4 + (BufferKind.OUTPUT,)
        self.slots[name] = Slot(
            name=name,
            kind=kind or self.draw(st.sampled_from(kinds)),
            memory=facts.get("memory") or self.draw(st.sampled_from(("m", "m", "m", "n"))),
            bytes=size,
            alignment=self.draw(st.sampled_from((1, 2, 4))),
            tensor=name,
            replaces=facts.get("replaces"),
        )
        return name

    def source(self, size: int | None = None) -> str | None:
        able = [name for name in self.whole if size in (None, self.slots[name].bytes)]
        return self.draw(st.sampled_from(able[-5:])) if able else None

    def run(self, *operands: Operand, copies: bool = False) -> None:
        number = len(self.items)
        self.items.append(
            Run(
                partition=f"p{number % 3}",
                operator=f"o{number}",
                instance="host",
                function="copy" if copies else f"f{number}",
                operands=operands if self.draw(st.booleans()) else operands[::-1],
                copies=copies,
            )
        )

    def copy(self, source: Operand, target: Operand) -> None:
        self.run(evolve(source, access="r"), evolve(target, access="w"), copies=True)

    def compute(self, target: str) -> None:
        reads = [name for _ in range(self.draw(st.integers(1, 2))) if (name := self.source()) is not None]
        size = self.slots[target].bytes
        over = tuple(
            n for n in dict.fromkeys(reads) if self.slots[n].bytes == size and self.draw(st.booleans())
        )
        if self.draw(st.integers(0, 5)) == 0:
            over = ()
        operands = [Operand(of=name, access="r") for name in dict.fromkeys(reads)]
        self.run(*operands, Operand(of=target, access="w", over=over))

    def step(self) -> None:
        """One more buffer, and what writes it."""
        first = self.source()
        assert first is not None
        size = self.slots[first].bytes
        match self.draw(st.sampled_from(("compute", "compute", "reshape", "join", "part", "rows"))):
            case "compute":
                made = self.slot(self.draw(st.sampled_from((size, 4, 8))))
                self.compute(made)
            case "reshape":
                made = self.slot(size)
                self.copy(Operand(of=first, access="r"), Operand(of=made, access="w"))
            case "join":
                made = self.joined(first)
            case "part" if size > 2:
                made, start = self.slot(2), self.draw(st.integers(0, size - 2))
                self.copy(Operand(of=first, access="r", offset=start, bytes=2), Operand(of=made, access="w"))
            case _:
                made = self.interleaved(first)
        self.whole.append(made)

    def joined(self, first: str) -> str:
        """A concatenation, the second part of which may be computed there."""
        other = self.source()
        assert other is not None
        sizes = [self.slots[name].bytes for name in (first, other)]
        made = self.slot(sum(sizes))
        self.copy(Operand(of=first, access="r"), Operand(of=made, access="w", bytes=sizes[0]))
        target = Operand(of=made, access="w", offset=sizes[0], bytes=sizes[1])
        if self.draw(st.integers(0, 3)):
            self.copy(Operand(of=other, access="r"), target)
        else:
            self.run(Operand(of=other, access="r"), target)
        return made

    def interleaved(self, first: str) -> str:
        """Both parts in two rows each."""
        other = self.source(self.slots[first].bytes)
        assert other is not None
        half = self.slots[first].bytes // 2
        made = self.slot(4 * half)
        for number, name in enumerate((first, other)):
            rows = Operand(of=made, access="w", offset=number * half, bytes=half, rows=2, stride=2 * half)
            self.copy(Operand(of=name, access="r", bytes=2 * half), rows)
        return made


@st.composite
def programs(draw: st.DrawFn) -> Program:
    made = Maker(draw)
    inputs = [made.slot(size, BufferKind.INPUT) for size in draw(st.sampled_from(((4,), (4, 8), (6, 4))))]
    made.whole += inputs
    if draw(st.booleans()):
        made.whole.append(made.slot(4, BufferKind.CONSTANT))
    states = [
        StateBuffers(tensor=f"s{n}", now=f"s{n}", next=f"s{n}_next") for n in range(draw(st.integers(0, 2)))
    ]
    for state in states:
        made.slot(4, BufferKind.STATE, name=state.now, memory="m")
        made.slot(4, BufferKind.NEXT, name=state.next, memory="m", replaces=state.now)
        made.whole.append(state.now)
    for _ in range(draw(st.integers(1, 7))):
        made.step()
    for state in states:
        source = made.source(4)
        assert source is not None
        if draw(st.integers(0, 5)):
            made.copy(Operand(of=source, access="r"), Operand(of=state.next, access="w"))
        else:
            made.run(Operand(of=source, access="r"), Operand(of=state.next, access="w", over=(source,)))
    outputs = [name for name in made.whole if made.slots[name].kind is BufferKind.OUTPUT]
    return Program(
        items=tuple(made.items),
        buffers=made.slots,
        inputs=tuple((name, name) for name in inputs),
        outputs=tuple((name, name) for name in outputs),
        states=tuple(states),
    )


def executed(program: Program) -> dict[str, list[int]]:
    """The bytes of outputs, and of states as the next run finds them."""
    memory: dict[str, list[int]] = {}
    for name, slot in program.buffers.items():
        begin = [crc32(f"{name}{n}".encode()) for n in range(slot.bytes)]
        memory[name] = memory.get(slot.replaces or "", begin) if slot.replaces else begin
    for item in program.items:
        assert isinstance(item, Run)
        execute(item, program, memory)
    kept = (*(name for _, name in program.outputs), *(state.next for state in program.states))
    return {name: list(memory[name]) for name in kept}


def places(operand: Operand, program: Program) -> list[int]:
    part = operand.touched(program.buffers[operand.of].bytes)
    return [part.offset + row * part.stride + at for row in range(part.rows) for at in range(part.row_bytes)]


def execute(item: Run, program: Program, memory: dict[str, list[int]]) -> None:
    reads = [o for o in item.operands if o.access == "r"]
    (write,) = (o for o in item.operands if o.access == "w")
    for number, at in enumerate(places(write, program)):
        if item.copies:
            (read,) = reads
            memory[write.of][at] = memory[read.of][places(read, program)[number]]
            continue
        seen = [
            memory[o.of][places(o, program)[number]]
            if o.of in write.over
            else [memory[o.of][place] for place in places(o, program)]
            for o in reads
        ]
        memory[write.of][at] = crc32(repr((item.function, number, seen)).encode())


def peaks(program: Program) -> Counter[str]:
    """The largest sums of live bytes, by memory."""
    uses: dict[str, list[int]] = {}
    for number, item in enumerate(program.items):
        for name in item.names():
            uses.setdefault(name, []).append(number)
    kept = {name for _, name in program.outputs} | {state.next for state in program.states}
    for name, slot in program.buffers.items():
        if slot.kind in (BufferKind.INPUT, BufferKind.STATE):
            uses.setdefault(name, []).append(0)
        if name in kept:
            uses.setdefault(name, []).append(len(program.items))
    found: Counter[str] = Counter()
    for moment in range(len(program.items) + 1):
        live: Counter[str] = Counter()
        for name, known in uses.items():
            slot = program.buffers[name]
            if slot.kind is not BufferKind.CONSTANT and min(known) <= moment <= max(known):
                live[slot.memory] += slot.bytes
        found |= live
    return found


def assert_in_form(before: Program, after: Program) -> None:
    """Buffers of others stay; those that are gone are named, at their alignment, where they now lie."""
    gone = before.buffers.keys() - after.buffers.keys()
    assert all(before.buffers[name].kind is BufferKind.ACTIVATION for name in gone)
    held = {alias.tensor: (slot, alias) for slot in after.buffers.values() for alias in slot.aliases}
    assert held.keys() == gone
    for name, (slot, alias) in held.items():
        old = before.buffers[name]
        end = alias.offset + alias.bytes
        assert (alias.bytes, slot.memory) == (old.bytes, old.memory)
        assert alias.offset % old.alignment == slot.alignment % old.alignment == 0
        assert end % old.alignment == 0 or end == slot.bytes
    for slot in after.buffers.values():
        assert list(slot.aliases) == sorted(slot.aliases, key=in_order)
    copies = Counter(item.operator for item in before.items if isinstance(item, Run) and item.copies)
    left = Counter(item.operator for item in after.items if isinstance(item, Run))
    assert Counter(item.operator for item in before.items if isinstance(item, Run)) - left <= copies
    assert (before.inputs, before.outputs, before.states) == (after.inputs, after.outputs, after.states)


def in_order(alias: Alias) -> tuple[int, int, str]:
    return alias.offset, -alias.bytes, alias.tensor


def left_copies(program: Program) -> Iterable[tuple[Operand, Operand]]:
    """The copies that stay, source and target."""
    for item in program.items:
        if isinstance(item, Run) and item.copies:
            (read,) = (o for o in item.operands if o.access == "r")
            (write,) = (o for o in item.operands if o.access == "w")
            yield read, write


@settings(max_examples=100, deadline=None)
@given(programs())
def test_whole_buffers_become_one_without_a_cost(program: Program) -> None:
    after = elide_copies(program, slices=False)
    assert executed(after) == executed(program)
    assert_in_form(program, after)
    able = {*_KEPT, BufferKind.ACTIVATION}
    for read, write in left_copies(after):
        one, other = after.buffers[read.of], after.buffers[write.of]
        alike = one.memory == other.memory and one.bytes == other.bytes == len(places(write, after))
        movable = {one.kind, other.kind} <= able and BufferKind.ACTIVATION in (one.kind, other.kind)
        assert not (alike and movable and write.rows == 1 and one.name != other.name)


@settings(max_examples=100, deadline=None)
@given(programs(), st.sampled_from(((), ("n",), ("m", "n"))))
def test_slices_cost_nothing_either(program: Program, held: tuple[str, ...]) -> None:
    whole, after = elide_copies(program, slices=False), elide_copies(program, slices=True, held=held)
    assert executed(after) == executed(program)
    assert_in_form(program, after)
    assert all(size <= peaks(whole)[memory] for memory, size in peaks(after).items())
    for slot in after.buffers.values():
        if slot.memory in held:
            assert all(alias.bytes == slot.bytes for alias in slot.aliases)


@settings(max_examples=40, deadline=None)
@given(programs(), st.sets(st.sampled_from(("p0", "p1", "p2"))))
def test_only_copies_of_these_partitions_are_elided(program: Program, partitions: set[str]) -> None:
    after, gone = alias_whole(program, partitions)
    assert executed(after) == executed(program)
    assert_in_form(program, after)
    missing = {item.operator for item in program.items if isinstance(item, Run)} - {
        item.operator for item in after.items if isinstance(item, Run)
    }
    assert {i.partition for i in program.items if isinstance(i, Run) and i.operator in missing} <= partitions
    assert gone == {alias.tensor: slot.name for slot in after.buffers.values() for alias in slot.aliases}
    if partitions == {"p0", "p1", "p2"}:
        assert after == elide_copies(program, slices=False)
