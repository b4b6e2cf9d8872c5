"""Results in the place of operands, and copies whose ends become one: conditions on programs made by hand."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel, Move, Operand, Slice
from target_arch.plan.memory import Alias, BufferKind
from target_arch.plan.partitions import Partition
from target_arch.plan.steps import StateBuffers
from target_arch.stages.program.alias import alias_whole, elide_copies
from target_arch.stages.program.in_place import has_room, in_place_calls, other_reads, reusable_operands
from target_arch.stages.program.items import Run, Slot
from target_arch.stages.program.program import Program


def slot(name: str, kind: str = "activation", size: int = 64, **facts: object) -> Slot:
    given = {"memory": "sram", "alignment": 16, "tensor": name, **facts}
    return Slot(name=name, kind=BufferKind(kind), bytes=size, **given)  # type: ignore[arg-type]


def reads(name: str, **facts: object) -> Operand:
    return Operand(of=name, access="r", **facts)  # type: ignore[arg-type]


def writes(name: str, *over: str, **facts: object) -> Operand:
    return Operand(of=name, access="w", over=over, **facts)  # type: ignore[arg-type]


def run(*operands: Operand, copies: bool = False, partition: str = "p") -> Run:
    return Run(
        partition=partition, operator="o", instance="host", function="f", operands=operands, copies=copies
    )


SLOTS = {
    each.name: each
    for each in (
        slot("x", "input"),
        slot("a"),
        slot("kept"),
        slot("small", size=32),
        slot("far", memory="ddr"),
        slot("c", "constant"),
        slot("s", "state"),
        slot("y", "output"),
    )
}


def test_a_result_could_take_the_place_of_an_operand_as_large_in_its_memory_that_nobody_keeps() -> None:
    over = ("a", "kept", "small", "far", "c", "s", "x")
    item = run(*(reads(name) for name in over), writes("y", *over))
    assert reusable_operands(SLOTS, ("kept",), item) == {"y": ["a", "x"]}
    assert reusable_operands(SLOTS, ("kept",), run(reads("a"), writes("y"))) == {}
    assert reusable_operands(SLOTS, ("kept",), run(reads("kept"), writes("y", "kept"))) == {}


def test_a_result_in_memory_of_the_caller_takes_no_place() -> None:
    slots = {**SLOTS, "lent": slot("lent", "output", caller=True)}
    both = run(reads("a"), writes("lent", "a"), writes("y", "a"))
    assert reusable_operands(slots, (), both) == {"y": ["a"]}


@pytest.mark.parametrize(
    ("smaller", "there", "needed", "room"),
    [
        (False, 64, 64, True),
        (False, 64, 32, False),
        (True, 64, 64, True),
        (True, 64, 32, True),
        (True, 32, 64, False),
    ],
)
def test_only_a_result_that_may_be_smaller_fits_a_larger_place(
    smaller: bool, there: int, needed: int, room: bool
) -> None:
    assert has_room(writes("y", "a", smaller=smaller), there, needed) == room


def test_other_reads_are_reads_whose_place_the_result_may_not_take() -> None:
    result = writes("d", "a")
    operands = (reads("a"), reads("b"), result, writes("c"))
    assert other_reads(result, operands, PLACES.__getitem__) == {"B"}


PLACES = {"a": "A", "b": "B", "c": "C", "c2": "C", "d": "D"}


def calls(*operands: tuple[Operand, ...]) -> list[dict[str, tuple[str, ...]]]:
    """By call that may reuse something, its operands in buffers, each with those that it may overwrite."""
    moved = Move(source=Slice(of="x", offset=0, row_bytes=8), target=Slice(of="tile", offset=0, row_bytes=8))
    made_calls = (
        Call(function=f"f{number}", operator=f"o{number}", operands=each)
        for number, each in enumerate(operands)
    )
    kernel = Kernel(partition="p", instance="host", actions=(moved, *made_calls))
    partition = Partition(id="p", instance="host", operators=(), reason="")
    made = list(in_place_calls(partition, kernel, PLACES))
    assert all((each.partition, each.instance) == ("p", "host") for each in made)
    assert all(each.function[1:] == each.operator[1:] for each in made)
    return [{operand.of: operand.over for operand in each.operands} for each in made]


def test_a_call_may_overwrite_what_it_reads_last() -> None:
    assert calls((reads("a"), writes("b", "a"))) == [{"A": (), "B": ("A",)}]
    assert calls((reads("a"), writes("b"))) == []


def test_a_call_may_not_overwrite_what_a_later_one_reads() -> None:
    found = calls((reads("a"), writes("b", "a")), (reads("a"), reads("b"), writes("d", "a", "b")))
    assert found == [{"A": (), "B": ()}, {"A": (), "B": (), "D": ("A", "B")}]


def test_two_tensors_of_one_buffer_are_read_for_as_long_as_either() -> None:
    assert calls((reads("c"), writes("b", "c")), (reads("c2"), writes("d"))) == [{"C": (), "B": ()}]
    assert calls((reads("c"), reads("c2"), writes("b", "c", "c2"))) == [{"C": (), "B": ("C",)}]
    assert calls((reads("c"), reads("c2"), writes("b", "c"))) == [{"C": (), "B": ()}]


def test_what_is_not_read_whole_from_its_start_is_not_overwritten() -> None:
    assert calls((reads("a", offset=4), writes("b", "a"))) == [{"B": ()}]
    assert calls((Operand(of="a", access="rw"), writes("b", "a"))) == [{"A": (), "B": ()}]
    assert calls((reads("nowhere"), writes("b", "nowhere"))) == [{"B": ()}]
    assert calls((reads("a"), writes("b", "a", offset=4))) == [{"A": ()}]


# Copies whose ends become one buffer.


def program(*items: Run, states: tuple[StateBuffers, ...] = (), **slots: Slot) -> Program:
    """x is the input, y the output, a, b and c are activations, unless `slots` say otherwise."""
    every = {name: slots.get(name, each) for name, each in _STANDARD.items()} | slots
    touched = {operand.of for item in items for operand in item.operands}
    return Program(
        items=items,
        buffers={name: each for name, each in every.items() if name in touched},
        inputs=(("x", "x"),),
        outputs=(("y", "y"),),
        states=states,
    )


_STANDARD = {
    "x": slot("x", "input"),
    "a": slot("a"),
    "b": slot("b"),
    "c": slot("c"),
    "y": slot("y", "output"),
}


def copied(source: str, target: str, partition: str = "p", **facts: object) -> Run:
    return run(reads(source, **facts), writes(target, **facts), copies=True, partition=partition)


BEFORE, AFTER = run(reads("x"), writes("a")), run(reads("b"), writes("y"))


def test_both_ends_of_a_copy_become_one() -> None:
    made, gone = alias_whole(program(BEFORE, copied("a", "b"), AFTER), {"p"})
    assert gone == {"a": "b"}
    assert made.items == (run(reads("x"), writes("b")), AFTER)
    assert made.buffers["b"].aliases == (Alias(tensor="a", offset=0, bytes=64),)
    assert set(made.buffers) == {"x", "b", "y"}


def test_operands_may_be_in_any_order() -> None:
    turned = run(writes("b"), reads("a"), copies=True)
    assert alias_whole(program(BEFORE, turned, AFTER), {"p"})[1] == {"a": "b"}


def test_only_copies_of_the_partitions_that_are_named() -> None:
    before = program(BEFORE, copied("a", "b", "q"), AFTER)
    assert alias_whole(before, {"p"}) == (before, {})
    assert alias_whole(before, {"q"})[1] == {"a": "b"}


def test_a_chain_of_copies_becomes_one_buffer() -> None:
    made, gone = alias_whole(program(BEFORE, copied("a", "c"), copied("c", "b"), AFTER), {"p"})
    assert gone == {"a": "b", "c": "b"}
    assert made.items == (run(reads("x"), writes("b")), AFTER)


def test_the_coarser_alignment_is_kept() -> None:
    made, _ = alias_whole(program(BEFORE, copied("a", "b"), AFTER, a=slot("a", alignment=64)), {"p"})
    assert made.buffers["b"].alignment == 64


LEFT = {
    "in two memories": program(BEFORE, copied("a", "b"), AFTER, a=slot("a", memory="ddr")),
    "of a constant": program(copied("k", "b"), AFTER, k=slot("k", "constant")),
    "from a source that is written again": program(
        BEFORE, copied("a", "b"), run(reads("x"), writes("a")), AFTER
    ),
    "to a target that another writes, too": program(
        BEFORE, copied("a", "b"), run(reads("x"), writes("b")), AFTER
    ),
    "of three operands": program(BEFORE, run(reads("a"), reads("x"), writes("b"), copies=True), AFTER),
    "of an operand that is read and written, too": program(
        BEFORE, run(reads("a"), writes("b"), Operand(of="x", access="rw"), copies=True), AFTER
    ),
    "to what it also reads": program(
        BEFORE, run(reads("a"), Operand(of="b", access="rw"), copies=True), AFTER
    ),
    "from what it also writes": program(
        BEFORE, run(Operand(of="a", access="rw"), writes("b"), copies=True), AFTER
    ),
    "of ends of other sizes": program(
        BEFORE, run(reads("a"), writes("b", bytes=64), copies=True), AFTER, b=slot("b", size=128)
    ),
    "from the input to the output": program(copied("x", "y")),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_copy_stays(name: str) -> None:
    assert alias_whole(LEFT[name], {"p"}) == (LEFT[name], {})


JOINING = program(
    BEFORE,
    run(reads("x"), writes("c")),
    run(reads("a"), writes("b", bytes=64), copies=True),
    run(reads("c"), writes("b", offset=64, bytes=64), copies=True),
    AFTER,
    b=slot("b", size=128),
)


def test_parts_become_parts_only_where_that_is_wanted() -> None:
    assert elide_copies(JOINING, slices=False) == JOINING
    assert elide_copies(JOINING, slices=True, held=("sram",)) == JOINING
    assert elide_copies(JOINING, slices=True, held=("ddr",)) != JOINING
    whole = program(BEFORE, copied("a", "b"), AFTER)
    assert elide_copies(whole, slices=False).items == (run(reads("x"), writes("b")), AFTER)


def test_parts_of_a_buffer_lie_where_they_are_copied_to() -> None:
    made = elide_copies(JOINING, slices=True)
    assert made.items == (
        run(reads("x"), writes("b", bytes=64)),
        run(reads("x"), writes("b", offset=64, bytes=64)),
        AFTER,
    )
    assert made.buffers["b"].aliases == (
        Alias(tensor="a", offset=0, bytes=64),
        Alias(tensor="c", offset=64, bytes=64),
    )


def test_a_part_is_not_put_where_it_would_not_be_aligned() -> None:
    items = (
        BEFORE,
        run(reads("x"), writes("c")),
        run(reads("a"), writes("b", bytes=64), copies=True),
        run(reads("c"), writes("b", offset=64, bytes=64), copies=True),
        AFTER,
    )
    made = elide_copies(program(*items, b=slot("b", size=128), c=slot("c", alignment=128)), slices=True)
    assert [item.copies for item in made.items if isinstance(item, Run)] == [False, False, True, False]


NOW, NEXT = slot("now", "state"), slot("next", "next state", replaces="now")
STATE = (StateBuffers(tensor="now", now="now", next="next"),)


@pytest.mark.parametrize(("reads_late", "elided"), [(False, True), (True, False)])
def test_a_next_value_is_not_written_before_the_state_was_read(reads_late: bool, elided: bool) -> None:
    last = run(reads("now" if reads_late else "b"), writes("y"))
    first = run(reads("now"), writes("a"))
    begun = run(reads("x"), writes("b"))
    made, gone = alias_whole(
        program(first, begun, copied("b", "next"), last, states=STATE, now=NOW, next=NEXT), {"p"}
    )
    assert (gone == {"b": "next"}) == elided
    assert len(made.items) == (3 if elided else 4)


@pytest.mark.parametrize(("over", "elided"), [(("now",), True), ((), False)])
def test_a_call_that_reads_the_state_may_write_its_next_value_where_it_says_so(
    over: tuple[str, ...], elided: bool
) -> None:
    sum_ = run(reads("now"), reads("x"), writes("b", *over))
    after = program(sum_, copied("b", "next"), run(reads("b"), writes("y")), states=STATE, now=NOW, next=NEXT)
    assert (alias_whole(after, {"p"})[1] == {"b": "next"}) == elided
    shorter = evolve(NOW, bytes=32)
    after = evolve(after, buffers={**after.buffers, "now": shorter})
    assert alias_whole(after, {"p"})[1] == {}
