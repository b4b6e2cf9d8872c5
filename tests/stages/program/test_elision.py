"""Copies that are elided from programs made at random: what is computed stays, byte by byte.

The programs are executed as unfavourably as their items allow: a call writes one byte after the other and
reads all its operands again for each, but for those it may write over, of which it reads the same byte.
"""

from collections import Counter
from collections.abc import Iterable
from zlib import crc32

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.memory import Alias, BufferKind
from target_arch.plan.steps import StateBuffers
from target_arch.soc.model import CopyPath
from target_arch.stages.program.alias import alias_whole, elide_copies
from target_arch.stages.program.items import Run, Slot, Transfer
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
    read = {name for item in made.items for name in item.names()}
    return Program(
        items=tuple(made.items),
        buffers={
            name: slot
            for name, slot in made.slots.items()
            if slot.kind is not BufferKind.INPUT or name in read
        },
        inputs=tuple((name, name) for name in inputs if name in read),
        outputs=tuple((name, name) for name in outputs),
        states=tuple(states),
    )


Manners = dict[str, list[bool]]
"""By function, whether it reads each of its operands element by element."""


def manners(program: Program) -> Manners:
    """A result may reuse the place of operands that its function reads element by element."""
    found: Manners = {}
    for item in program.items:
        assert isinstance(item, Run)
        (write,) = (o for o in item.operands if o.access == "w")
        found[item.function] = [o.of in write.over for o in item.operands if o.access == "r"]
    return found


def executed(program: Program, known: Manners | None = None) -> dict[str, list[int]]:
    """The bytes of outputs, and of states as the next run finds them. `known` are those of the program's
    functions, where results reuse fewer places than these allow.
    """
    functions = manners(program) if known is None else known
    memory: dict[str, list[int]] = {}
    for name, slot in program.buffers.items():
        begin = [crc32(f"{name}{n}".encode()) for n in range(slot.bytes)]
        memory[name] = memory.get(slot.replaces or "", begin) if slot.replaces else begin
    for item in program.items:
        assert isinstance(item, Run)
        execute(item, program, memory, functions)
    kept = (*(name for _, name in program.outputs), *(state.next for state in program.states))
    return {name: list(memory[name]) for name in kept}


def places(operand: Operand, program: Program) -> list[int]:
    part = operand.touched(program.buffers[operand.of].bytes)
    return [part.offset + row * part.stride + at for row in range(part.rows) for at in range(part.row_bytes)]


def execute(item: Run, program: Program, memory: dict[str, list[int]], functions: Manners) -> None:
    reads = [o for o in item.operands if o.access == "r"]
    (write,) = (o for o in item.operands if o.access == "w")
    for number, at in enumerate(places(write, program)):
        if item.copies:
            (read,) = reads
            memory[write.of][at] = memory[read.of][places(read, program)[number]]
            continue
        seen = [
            memory[o.of][places(o, program)[number]]
            if by_element
            else [memory[o.of][place] for place in places(o, program)]
            for o, by_element in zip(reads, functions[item.function], strict=True)
        ]
        memory[write.of][at] = crc32(repr((item.function, number, seen)).encode())


def peaks(program: Program) -> Counter[str]:
    """The largest sums of live bytes, by memory. A state has its bytes all the time, its next value
    has the same; an input that nothing reads counts nowhere, as copies that go bring later items to its time.
    """
    uses: dict[str, list[int]] = {}
    for number, item in enumerate(program.items):
        for name in item.names():
            uses.setdefault(name, []).append(number)
    kept = {name for _, name in program.outputs} | {state.next for state in program.states}
    for name, slot in program.buffers.items():
        if slot.kind is BufferKind.STATE or (slot.kind is BufferKind.INPUT and name in uses):
            uses.setdefault(name, []).append(0)
        if slot.kind is BufferKind.STATE or name in kept:
            uses.setdefault(name, []).append(len(program.items))
    found: Counter[str] = Counter()
    for moment in range(len(program.items) + 1):
        live: Counter[str] = Counter()
        there = {name for name, known in uses.items() if min(known) <= moment <= max(known)}
        for slot in (program.buffers[name] for name in there):
            if slot.kind is not BufferKind.CONSTANT and slot.replaces not in there:
                live[slot.memory] += slot.bytes
        found |= live
    return found


def assert_in_form(before: Program, after: Program) -> None:
    """Buffers of others stay; those that are gone are named, at their alignment, where they now are."""
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
    functions = manners(before)
    for item in after.items:
        assert isinstance(item, Run)
        (write,) = (o for o in item.operands if o.access == "w")
        reads = zip((o for o in item.operands if o.access == "r"), functions[item.function], strict=True)
        assert all(by_element or o.of not in write.over for o, by_element in reads)


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
    assert executed(after, manners(program)) == executed(program)
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
    assert executed(after, manners(program)) == executed(program)
    assert_in_form(program, after)
    assert all(size <= peaks(whole)[memory] for memory, size in peaks(after).items())
    for slot in after.buffers.values():
        if slot.memory in held:
            assert all(alias.bytes == slot.bytes for alias in slot.aliases)


@settings(max_examples=40, deadline=None)
@given(programs(), st.sets(st.sampled_from(("p0", "p1", "p2"))))
def test_only_copies_of_these_partitions_are_elided(program: Program, partitions: set[str]) -> None:
    after, gone = alias_whole(program, partitions)
    assert executed(after, manners(program)) == executed(program)
    assert_in_form(program, after)
    missing = {item.operator for item in program.items if isinstance(item, Run)} - {
        item.operator for item in after.items if isinstance(item, Run)
    }
    assert {i.partition for i in program.items if isinstance(i, Run) and i.operator in missing} <= partitions
    assert gone == {alias.tensor: slot.name for slot in after.buffers.values() for alias in slot.aliases}
    if partitions == {"p0", "p1", "p2"}:
        assert after == elide_copies(program, slices=False)


def made_by_hand(sizes: dict[str, int], *items: Run) -> Program:
    """`x` is the input; the outputs are what begins with `y`."""
    kinds = {"x": BufferKind.INPUT, "y": BufferKind.OUTPUT}
    slots = {
        name: Slot(
            name=name,
            kind=kinds.get(name[0], BufferKind.ACTIVATION),
            memory="m",
            bytes=size,
            alignment=1,
            tensor=name,
        )
        for name, size in sizes.items()
    }
    outputs = tuple((name, name) for name in sizes if name[0] == "y")
    return Program(items=items, buffers=slots, inputs=(("x", "x"),), outputs=outputs)


def call(*operands: Operand, copies: bool = False) -> Run:
    return Run(partition="p", operator="o", instance="host", function="f", operands=operands, copies=copies)


def r(of: str, **part: int) -> Operand:
    return Operand(of=of, access="r", **part)


def w(of: str, **part: int) -> Operand:
    return Operand(of=of, access="w", **part)


def test_ends_that_differ_in_bytes_stay_apart() -> None:
    program = made_by_hand(
        {"x": 4, "a": 4, "b": 8, "y": 4},
        call(r("x"), w("a")),
        call(r("a"), w("b"), copies=True),
        call(r("b"), w("y")),
    )
    assert elide_copies(program, slices=False) == program
    assert elide_copies(program, slices=True) == program


def test_an_input_that_nothing_reads_makes_no_room_for_a_slice() -> None:
    """With its 30 bytes, as many would be live at first as later with `y` from its first part on."""
    program = made_by_hand(
        {"x": 4, "u": 30, "s": 1, "a": 4, "t": 10, "y": 16},
        call(r("x"), w("s")),
        call(r("x"), w("a")),
        call(r("x"), w("t")),
        call(r("a"), w("y", bytes=4), copies=True),
        call(r("a"), w("y", offset=4, bytes=12)),
    )
    unread = evolve(program.buffers["u"], kind=BufferKind.INPUT)
    given = evolve(program, buffers={**program.buffers, "u": unread}, inputs=(*program.inputs, ("u", "u")))
    assert elide_copies(given, slices=True) == given


def copy(source: Operand, target: Operand) -> Run:
    return call(source, target, copies=True)


def test_a_result_does_not_take_the_place_of_an_operand_that_is_now_another_one_too() -> None:
    program = made_by_hand(
        {"x": 4, "b": 4, "a": 4, "c": 4, "y": 4},
        call(r("x"), w("b")),
        copy(r("b"), w("a")),
        call(r("a"), r("b"), evolve(w("c"), over=("a",))),
        call(r("c"), w("y")),
    )
    (_, reads, _) = elide_copies(program, slices=False).items
    assert isinstance(reads, Run)
    one, other, result = reads.operands
    assert (one.of == other.of, result.over) == (True, ())


def with_state(program: Program) -> Program:
    """With a state of four bytes, `s`."""
    facts = {"memory": "m", "bytes": 4, "alignment": 1}
    now = Slot(name="s", kind=BufferKind.STATE, tensor="s", **facts)  # type: ignore[arg-type]
    later = Slot(name="n", kind=BufferKind.NEXT, tensor="n", replaces="s", **facts)  # type: ignore[arg-type]
    state = StateBuffers(tensor="s", now="s", next="n")
    return evolve(program, buffers={**program.buffers, "s": now, "n": later}, states=(state,))


def test_what_is_joined_and_reshaped_lies_in_the_reshaped() -> None:
    program = made_by_hand(
        {"x": 4, "a": 4, "b": 4, "c": 8, "d": 8, "y": 4},
        call(r("x"), w("a")),
        call(r("x"), w("b")),
        copy(r("a"), w("c", bytes=4)),
        copy(r("b"), w("c", offset=4, bytes=4)),
        copy(r("c"), w("d")),
        call(r("d"), w("y")),
    )
    after = elide_copies(program, slices=True)
    assert set(after.buffers) == {"x", "d", "y"}
    assert [(alias.tensor, alias.offset) for alias in after.buffers["d"].aliases] == [
        ("c", 0),
        ("a", 0),
        ("b", 4),
    ]
    assert executed(after, manners(program)) == executed(program)


def test_a_state_that_stays_as_it_is_does_not_keep_others_from_merging() -> None:
    program = with_state(
        made_by_hand(
            {"x": 4, "a": 4, "b": 4, "y": 4},
            call(r("x"), w("a")),
            copy(r("a"), w("b")),
            call(r("b"), w("y")),
            copy(r("s"), w("n")),
        )
    )
    after = elide_copies(program, slices=False)
    assert set(after.buffers) == {"x", "y", "s", "n", "b"}
    assert [item.copies for item in after.items if isinstance(item, Run)] == [False, False, True]


def test_a_copy_of_a_state_that_is_read_after_the_next_value_stays() -> None:
    program = with_state(
        made_by_hand(
            {"x": 4, "a": 4, "y": 4}, copy(r("s"), w("a")), call(r("x"), w("n")), call(r("a"), w("y"))
        )
    )
    assert elide_copies(program, slices=False) == program
    early = evolve(program, items=(program.items[0], program.items[2], program.items[1]))
    assert set(elide_copies(early, slices=False).buffers) == {"x", "y", "s", "n"}


def test_a_next_value_that_a_transfer_brings_from_the_state_is_not_in_place() -> None:
    start = Transfer(
        path=CopyPath(source="m", target="m"),
        pieces=((Slice(of="s", offset=0, row_bytes=4), Slice(of="a", offset=0, row_bytes=4)),),
        partition="p",
    )
    program = with_state(made_by_hand({"x": 4, "a": 4, "y": 4}, call(r("x"), w("y")), copy(r("a"), w("n"))))
    program = evolve(program, items=(start, *program.items))
    assert elide_copies(program, slices=False) == program


def test_a_next_value_is_written_over_the_state_where_the_call_allows_it() -> None:
    """By the call that reads the state, into a buffer as large; else the copy stays."""

    def program(over: tuple[str, ...], size: int = 4) -> Program:
        written = evolve(w("t"), over=over)
        sizes = {"x": 4, "t": size, "y": 4}
        return with_state(
            made_by_hand(sizes, call(r("s"), written), copy(r("t", bytes=4), w("n")), call(r("x"), w("y")))
        )

    assert set(elide_copies(program(("s",)), slices=False).buffers) == {"x", "y", "s", "n"}
    for other in (program(()), program(("s",), 8)):
        assert elide_copies(other, slices=True) == other


def test_a_next_value_in_two_parts_is_not_written_over_the_state() -> None:
    """The second call reads the state where the first one has written; a part is not where the state is."""
    over = {"over": ("s",)}
    for first, second in (
        (call(r("x"), w("t", bytes=2)), call(r("s"), evolve(w("t", offset=2, bytes=2), **over))),
        (call(r("s"), evolve(w("t", bytes=2), **over)), call(r("s"), evolve(w("t", offset=2), **over))),
    ):
        program = with_state(
            made_by_hand({"x": 4, "t": 4, "y": 4}, first, second, copy(r("t"), w("n")), call(r("x"), w("y")))
        )
        assert elide_copies(program, slices=True) == program


def test_half_of_a_next_value_is_not_where_the_state_is() -> None:
    written = evolve(w("t"), over=("s",))
    program = with_state(
        made_by_hand(
            {"x": 4, "t": 2, "y": 4},
            call(r("s"), written),
            copy(r("t"), w("n", bytes=2)),
            call(r("x"), w("n", offset=2, bytes=2)),
            call(r("x"), w("y")),
        )
    )
    assert elide_copies(program, slices=True) == program


def test_what_was_written_before_the_copy_stays_apart() -> None:
    sizes = {"x": 4, "a": 4, "y": 4}
    once, twice = call(r("x"), w("a")), call(r("x"), w("y"))
    merged = elide_copies(made_by_hand(sizes, once, copy(r("a"), w("y"))), slices=False)
    assert set(merged.buffers) == {"x", "y"}
    program = made_by_hand(sizes, once, twice, copy(r("a"), w("y")))
    assert elide_copies(program, slices=True) == program


def test_a_copy_reads_one_buffer_and_writes_another_as_much_of_it() -> None:
    sizes = {"x": 4, "a": 4, "b": 8, "y": 4}
    for copies in (
        call(Operand(of="a", access="rw"), w("y"), copies=True),
        call(r("a"), Operand(of="y", access="rw"), copies=True),
        copy(r("b"), w("y")),
        copy(r("a"), w("y", bytes=2)),
    ):
        program = made_by_hand(sizes, call(r("x"), w("a")), call(r("x"), w("b")), copies)
        assert elide_copies(program, slices=True) == program


def test_each_piece_of_a_transfer_is_of_the_buffer_that_is_there() -> None:
    pieces = tuple(
        (Slice(of="a", offset=at, row_bytes=2), Slice(of="c", offset=at, row_bytes=2)) for at in (0, 2)
    )
    move = Transfer(path=CopyPath(source="m", target="m"), pieces=pieces, partition="p")
    sizes = {"x": 4, "a": 4, "b": 4, "c": 4, "y": 4}
    made = made_by_hand(sizes, call(r("x"), w("a")), copy(r("a"), w("b")), call(r("b"), r("c"), w("y")))
    *first, last = made.items
    moved = elide_copies(evolve(made, items=(*first, move, last)), slices=False).items[1]
    assert isinstance(moved, Transfer)
    (left,) = {"a", "b"} & {source.of for source, _ in moved.pieces}
    assert [source for source, _ in moved.pieces] == [source.renamed(left) for source, _ in pieces]
    assert left in elide_copies(evolve(made, items=(*first, move, last)), slices=False).buffers


def test_an_end_within_a_unit_is_the_end_of_the_whole() -> None:
    """Three bytes of an alignment of four are behind four bytes, and not before them."""

    def program(*order: str) -> Program:
        sizes = {"x": 4, "a": 4, "b": 3, "y": 7}
        offset = sizes[order[0]]
        made = made_by_hand(
            sizes,
            call(r("x"), w("a")),
            call(r("x"), w("b")),
            copy(r(order[0]), w("y", bytes=offset)),
            copy(r(order[1]), w("y", offset=offset, bytes=sizes[order[1]])),
        )
        return evolve(made, buffers={n: evolve(slot, alignment=4) for n, slot in made.buffers.items()})

    assert set(elide_copies(program("a", "b"), slices=True).buffers) == {"x", "y"}
    assert elide_copies(program("b", "a"), slices=True) == program("b", "a")


def test_parts_of_a_part_lie_where_that_lies() -> None:
    """The whole is begun before its second part is joined."""
    program = made_by_hand(
        {"x": 4, "e": 4, "a": 4, "b": 4, "c": 8, "d": 12, "y": 4},
        call(r("x"), w("e")),
        copy(r("e"), w("d", bytes=4)),
        call(r("x"), w("a")),
        call(r("x"), w("b")),
        copy(r("a"), w("c", bytes=4)),
        copy(r("b"), w("c", offset=4, bytes=4)),
        copy(r("c"), w("d", offset=4, bytes=8)),
        call(r("d"), w("y")),
    )
    after = elide_copies(program, slices=True)
    assert set(after.buffers) == {"x", "d", "y"}
    assert {alias.tensor: alias.offset for alias in after.buffers["d"].aliases} == {
        "e": 0,
        "c": 4,
        "a": 4,
        "b": 8,
    }


def test_a_state_read_as_another_operand_too_is_not_written_over() -> None:
    """The copy would be the state, which the call may not read where it writes the next value."""
    sizes = {"x": 4, "a": 4, "y": 4}

    def program(*others: Operand) -> Program:
        written = evolve(w("n"), over=("s",))
        return with_state(made_by_hand(sizes, copy(r("s"), w("a")), call(*others, r("s"), written)))

    assert elide_copies(program(r("a")), slices=False) == program(r("a"))
    assert set(elide_copies(program(), slices=False).buffers) == {"x", "y", "s", "n"}


def test_a_place_that_became_a_part_of_another_buffer_is_not_reused() -> None:
    program = made_by_hand(
        {"x": 4, "a": 4, "b": 4, "d": 4, "y": 8},
        call(r("x"), w("a")),
        call(r("a"), evolve(w("d"), over=("a",))),
        call(r("d"), w("b")),
        copy(r("a"), w("y", bytes=4)),
        copy(r("b"), w("y", offset=4, bytes=4)),
    )
    items = elide_copies(program, slices=True).items
    assert [operand.over for item in items for operand in item.operands] == [()] * 6


# Where a part is written long before the whole, the whole needs its bytes while others need them, too.
_SIZES = {"x": 1, "a": 1, "b": 8, "c": 9, "d": 1, "e": 8, "f": 9, "p": 20, "q": 1, "y": 1}


def join(one: str, other: str, both: str) -> tuple[Run, ...]:
    parts = copy(r(one), w(both, bytes=_SIZES[one])), copy(r(other), w(both, offset=1, bytes=_SIZES[other]))
    return call(r("x"), w(other)), *parts


def of(*items: Run, most: int, **sizes: int) -> Program:
    """The items; then `most` bytes are live at once, with the input and the output."""
    sizes = {**_SIZES, **sizes, "z": most - 2}
    touched = {operand.of for item in items for operand in item.operands} | {"y", "z"}
    end = call(r("x"), w("z")), call(r("z"), w("y"))
    return made_by_hand({name: sizes[name] for name in sizes if name in touched}, *items, *end)


EARLY = call(r("x"), w("a")), call(r("x"), w("p")), call(r("p"), w("q")), *join("a", "b", "c")


@pytest.mark.parametrize(("most", "gone"), [(30, {"b"}), (31, {"a", "b"})])
def test_a_whole_that_begins_earlier_may_need_no_more_bytes_than_are_needed_anyway(
    most: int, gone: set[str]
) -> None:
    program = of(*EARLY, call(r("c"), r("q"), w("y")), most=most)
    after = elide_copies(program, slices=True)
    assert (peaks(program)["m"], program.buffers.keys() - after.buffers) == (most, gone)


def test_an_input_that_nothing_reads_makes_no_room() -> None:
    program = of(call(r("x"), w("y")), *EARLY, call(r("c"), r("q"), w("y")), most=31)
    unread = evolve(program.buffers["x"], name="u", tensor="u", bytes=50)
    program = evolve(program, buffers={**program.buffers, "u": unread}, inputs=(("x", "x"), ("u", "u")))
    assert program.buffers.keys() - elide_copies(program, slices=True).buffers == {"b"}


def test_a_whole_in_memory_of_the_caller_needs_none() -> None:
    program = of(*EARLY, call(r("c"), r("q"), w("y")), most=30)
    lent = evolve(program.buffers["c"], kind=BufferKind.OUTPUT, caller=True)
    program = evolve(program, buffers={**program.buffers, "c": lent})
    assert program.buffers.keys() - elide_copies(program, slices=True).buffers == {"a", "b"}


@pytest.mark.parametrize(("most", "gone"), [(39, {"a", "b", "e"}), (40, {"a", "b", "d", "e"})])
def test_what_one_whole_needs_the_next_cannot_have(most: int, gone: set[str]) -> None:
    early = call(r("x"), w("a")), call(r("x"), w("d")), call(r("x"), w("p")), call(r("p"), w("q"))
    joins = *join("a", "b", "c"), *join("d", "e", "f")
    program = of(*early, *joins, call(r("c"), r("f"), r("q"), w("y")), most=most)
    assert program.buffers.keys() - elide_copies(program, slices=True).buffers == gone


@pytest.mark.parametrize(("most", "gone"), [(38, {"a", "b", "e"}), (39, {"a", "b", "c", "e"})])
def test_a_part_of_a_whole_begins_where_its_own_parts_do(most: int, gone: set[str]) -> None:
    parts = copy(r("c"), w("f", bytes=9)), copy(r("e"), w("f", offset=9, bytes=8))
    items = *EARLY, call(r("x"), w("e")), *parts, call(r("f"), r("q"), w("y"))
    program = of(*items, most=most, f=17)
    assert program.buffers.keys() - elide_copies(program, slices=True).buffers == gone


@pytest.mark.parametrize(("most", "gone"), [(30, {"b"}), (31, {"a", "b"})])
def test_a_whole_ends_where_its_last_part_does(most: int, gone: set[str]) -> None:
    late = call(r("c"), w("d")), call(r("x"), r("d"), w("p")), call(r("p"), w("q"))
    program = of(call(r("x"), w("a")), *join("a", "b", "c"), *late, call(r("a"), r("q"), w("y")), most=most)
    assert program.buffers.keys() - elide_copies(program, slices=True).buffers == gone


def test_parts_are_as_aligned_as_their_memory_asks() -> None:
    program = made_by_hand(
        {"x": 4, "a": 3, "b": 3, "c": 6, "y": 4},
        call(r("x"), w("a")),
        call(r("x"), w("b")),
        copy(r("a"), w("c", bytes=3)),
        copy(r("b"), w("c", offset=3, bytes=3)),
        call(r("c"), w("y")),
    )
    aligned = {name: evolve(slot, alignment=4) for name, slot in program.buffers.items()}
    program = evolve(program, buffers=aligned)
    assert elide_copies(program, slices=True) == program
    assert elide_copies(program, slices=True, alignments={"n": 1}) == program
    after = elide_copies(program, slices=True, alignments={"m": 1})
    assert [(alias.tensor, alias.offset) for alias in after.buffers["c"].aliases] == [("a", 0), ("b", 3)]
    assert executed(after, manners(program)) == executed(program)
