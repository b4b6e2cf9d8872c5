"""Which order of items no reordering may change: compared with the bytes that items touch, one by one."""

from collections.abc import Sequence
from itertools import combinations, count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Access, Operand, Slice
from target_arch.plan.memory import BufferKind
from target_arch.plan.steps import StateBuffers
from target_arch.soc.model import CopyPath
from target_arch.stages.program.dependences import accesses, dependences
from target_arch.stages.program.items import Item, Run, Slot, Transfer
from target_arch.stages.program.program import Program

SIZE = 24
SLOTS = {
    name: Slot(
        name=name,
        kind=BufferKind(kind),
        memory="sram",
        bytes=SIZE,
        alignment=1,
        replaces="state" if name == "next" else None,
    )
    for name, kind in (
        ("a", "activation"),
        ("b", "local"),
        ("state", "state"),
        ("next", "next state"),
        ("weights", "constant"),
        ("resident", "resident"),
    )
}
PATH = CopyPath(source="sram", target="sram")
INSTANCES = count()


def program(items: Sequence[Item]) -> Program:
    states = (StateBuffers(tensor="state", now="state", next="next"),)
    return Program(items=tuple(items), buffers=SLOTS, inputs=(), outputs=(), states=states)


def run(*operands: Operand, on: str = "") -> Run:
    """A run on an instance that no other run is on, unless it is named."""
    instance = on or f"i{next(INSTANCES)}"
    return Run(partition="p", operator="o", instance=instance, function="f", operands=operands)


def whole(name: str, access: str) -> Operand:
    return Operand(of=name, access=Access(access))


def part(of: str, offset: int, row_bytes: int, rows: int = 1, stride: int = 0) -> Slice:
    return Slice(of=of, offset=offset, row_bytes=row_bytes, rows=rows, stride=stride)


def at(of: str, access: str, offset: int, bytes: int, rows: int = 1, stride: int = 0) -> Operand:
    return Operand(of=of, access=Access(access), offset=offset, bytes=bytes, rows=rows, stride=stride)


def copy(*pieces: tuple[Slice, Slice]) -> Transfer:
    return Transfer(path=PATH, pieces=pieces, partition="p")


def found(*items: Item) -> list[tuple[int, ...]]:
    return list(dependences(program(items)))


def test_who_writes_what_another_touches_keeps_its_place() -> None:
    """The reader of a value follows its writer, and the next writer both."""
    for first, second in product("rw", "rw"):
        wanted = () if first == second == "r" else (0,)
        assert found(run(whole("a", first)), run(whole("a", second))) == [(), wanted]
        assert found(run(whole("a", first)), run(whole("b", second))) == [(), ()]
    both = run(whole("a", "rw"))
    assert found(run(whole("a", "r")), both, run(whole("a", "r"))) == [(), (0,), (1,)]
    assert found(run(whole("a", "r"), whole("a", "w")), both) == [(), (0,)]


def test_what_was_overwritten_is_followed_by_its_writer_alone() -> None:
    assert touches("w", "r", "w", "r", "w") == [(), (0,), (0, 1), (2,), (2, 3)]
    half, later = (0, 12), (12, 12)
    assert touches("w", ("w", *half), "r") == [(), (0,), (0, 1)]
    assert touches("r", ("w", *half), "w") == [(), (0,), (0, 1)]
    assert touches(("w", *half), "w", "r") == [(), (0,), (1,)]
    assert touches(("w", *later), ("w", 11, 12), "r") == [(), (0,), (0, 1)]
    assert touches(("w", *half), ("w", 6, 6), "r") == [(), (0,), (0, 1)]
    assert touches(("w", 1, 11), ("w", 1, 11), "r") == [(), (0,), (1,)]
    assert touches(("r", 2, 3, 2, 8), "w", "w") == [(), (0,), (1,)]


def test_numbers_of_items_ascend() -> None:
    """Those of a set need not: 8 comes before 1 there."""
    reads = [run(whole("b", "r")) for _ in range(9)]
    reads[1] = run(at("a", "w", 0, 4))
    reads[8] = run(at("a", "w", 4, 4))
    assert found(*reads, run(whole("a", "r")))[9] == (1, 8)


def touches(*each: str | tuple[str | int, ...]) -> list[tuple[int, ...]]:
    """What follows for items that each touch one buffer, or a part of it."""
    parts = (whole("a", one) if isinstance(one, str) else at("a", *one) for one in each)  # type: ignore[arg-type]
    return found(*(run(one) for one in parts))


@pytest.mark.parametrize("other", [(1, 4, 3, 8), (0, 5, 3, 8), (0, 4, 2, 8), (0, 4, 3, 7)])
def test_rows_cover_the_same_rows_alone(other: tuple[int, int, int, int]) -> None:
    rows = ("w", 0, 4, 3, 8)
    assert touches(rows, rows, "r") == [(), (0,), (1,)]
    assert touches(("w", *other), rows, "r")[2] == (0, 1)


def test_runs_of_one_instance_keep_their_order() -> None:
    one, other = run(whole("a", "r"), on="npu"), run(whole("b", "r"), on="npu")
    alone = run(whole("a", "r"), on="host")
    assert found(one, alone, other, one, alone) == [(), (), (0,), (2,), (1,)]


def test_constants_and_residents_bind_nobody() -> None:
    for name in ("weights", "resident"):
        written = copy((part("a", 0, 8), part(name, 0, 8)))
        assert found(written, run(whole(name, "r")), written) == [(), (), ()]


def test_the_next_value_begins_when_nobody_reads_the_state() -> None:
    """Whichever bytes: a state that two read in halves, and of which another has written one."""
    first, second = run(at("state", "r", 0, 12)), run(at("state", "r", 12, 12))
    begun = run(at("next", "w", 0, 4))
    assert found(first, second, begun) == [(), (), (0, 1)]
    assert found(begun, second, run(whole("next", "r"))) == [(), (), (0, 1)]
    assert found(begun, run(at("state", "r", 2, 4))) == [(), (0,)]


def test_every_piece_of_a_copy_counts() -> None:
    pieces = copy((part("a", 0, 4), part("b", 4, 4)), (part("a", 8, 4), part("b", 0, 4)))
    assert accesses(program(()), pieces) == [
        (part("a", 0, 4), False),
        (part("b", 4, 4), True),
        (part("a", 8, 4), False),
        (part("b", 0, 4), True),
    ]
    rows = run(Operand(of="a", access=Access.READ_WRITE, offset=4), at("b", "r", 1, 2, 3, 4))
    assert accesses(program(()), rows) == [(part("a", 4, 20), True), (part("b", 1, 2, 3, 4), False)]
    assert found(pieces, run(at("b", "r", 0, 4)), run(at("a", "w", 8, 4)), run(at("b", "r", 8, 4))) == [
        (),
        (0,),
        (0,),
        (),
    ]


def touched(each: Slice) -> set[int]:
    rows = range(each.rows)
    return {each.offset + row * each.stride + byte for row in rows for byte in range(each.row_bytes)}


@st.composite
def operands(draw: st.DrawFn) -> Operand:
    """Of one row, or of rows of one stride, of which what two of them share is known byte by byte."""
    of, access = draw(st.sampled_from(("a", "b", "state", "next"))), draw(st.sampled_from(("r", "w", "rw")))
    offset = draw(st.integers(0, 7))
    if draw(st.booleans()):
        return at(of, access, offset, draw(st.integers(1, SIZE - offset)))
    return at(of, access, offset, draw(st.integers(1, 8 - offset)), draw(st.integers(2, 3)), 8)


@settings(max_examples=40)
@given(st.lists(st.lists(operands(), min_size=1, max_size=3), min_size=2, max_size=9))
def test_the_order_of_any_two_items_follows(calls: list[list[Operand]]) -> None:
    """Two items are ordered, directly or by others, where they share bytes that one writes."""
    items = [run(*each) for each in calls]
    before = found(*items)
    closed: list[set[int]] = []
    for direct in before:
        closed.append(set(direct).union(*(closed[number] for number in direct)))
    for first, second in combinations(range(len(items)), 2):
        meet = any(_meet(one, other) for one, other in product(calls[first], calls[second]))
        assert not meet or first in closed[second]
        assert meet or first not in before[second]


def _meet(one: Operand, other: Operand) -> bool:
    """What one and a later one touch may not be exchanged."""
    if one.of == "state" and other.of == "next":
        return True
    same = {one.of.replace("next", "state"), other.of.replace("next", "state")}
    if len(same) == 2 or not (one.access.writes or other.access.writes):
        return False
    return bool(touched(one.touched(SIZE)) & touched(other.touched(SIZE)))
