"""Constants that stay from run to run: what may stay, what does, and that the program means the same."""

from collections.abc import Mapping

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import BufferKind
from target_arch.plan.model import Model
from target_arch.plan.resident import Resident
from target_arch.plan.steps import Fill
from target_arch.soc.model import CopyPath
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from target_arch.stages.program.items import Item, Run, Slot, Transfer
from target_arch.stages.program.program import Program
from target_arch.stages.steps.residents import chosen, contents, staying
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips
from tests.stages.lowering.test_ladder import models

BUS = CopyPath(source="ram", target="tcm", engine="dma", bandwidth=1e6, alignment=4)
BACK = CopyPath(source="tcm", target="ram", engine="dma", bandwidth=1e6)


class OneMicrosecondPerByte:
    def transfer(self, path: CopyPath, size: int) -> int:
        return size * 10**6


TIMES: Times = OneMicrosecondPerByte()  # type: ignore[assignment]


def slot(name: str, kind: str, size: int, memory: str = "tcm") -> Slot:
    return Slot(name=name, kind=BufferKind(kind), memory=memory, bytes=size, alignment=4)


def program(slots: Mapping[str, Slot], *items: Item) -> Program:
    return Program(items=items, buffers=slots, inputs=(("x", "x"),), outputs=(("y", "y"),))


def part(of: str, offset: int, size: int) -> Slice:
    return Slice(of=of, offset=offset, row_bytes=size)


def carry(source: Slice, target: Slice, path: CopyPath = BUS) -> Transfer:
    return Transfer(path=path, pieces=((source, target),), partition="p")


def run(*reads: str, writes: str = "y") -> Run:
    operands = (*(Operand(of=name, access="r") for name in reads), Operand(of=writes, access="w"))
    return Run(partition="p", operator="o", instance="core", function="f", operands=operands)


SLOTS = {
    one.name: one
    for one in (
        slot("x", "input", 8, "ram"),
        slot("y", "output", 8, "ram"),
        slot("c", "constant", 64, "ram"),
        slot("d", "constant", 64, "ram"),
        slot("t", "local", 16),
        slot("u", "local", 16),
    )
}


def found(*items: Item) -> list[tuple[str, float, list[str]]]:
    """By content its name, microseconds and pieces."""
    return [
        (one.name, round(one.seconds * 1e6), [f"{source} -> {target}" for source, target, _ in one.pieces])
        for one in contents(program(SLOTS, *items), TIMES)
    ]


def test_a_tile_that_nothing_overwrites_is_a_content() -> None:
    first, second = carry(part("c", 0, 8), part("t", 0, 8)), carry(part("d", 0, 8), part("t", 8, 8))
    pieces = ["c[0:+8] -> t[0:+8]", "d[0:+8] -> t[8:+8]"]
    assert found(first, second, run("t")) == [("t", 16, pieces)]
    assert found(first, run(), second, run("t"), first, run("t")) == [("t", 24, pieces)], "again the same"


def test_tiles_in_turn_are_contents_of_their_own() -> None:
    one, two = carry(part("c", 0, 16), part("t", 0, 16)), carry(part("c", 16, 16), part("t", 0, 16))
    turns = found(one, run("t"), two, run("t"), one, run("t"))
    assert turns == [("t.0", 32, ["c[0:+16] -> t[0:+16]"]), ("t.1", 16, ["c[16:+16] -> t[0:+16]"])]


def test_equal_contents_of_two_buffers_are_one() -> None:
    one, two = carry(part("c", 0, 16), part("t", 0, 16)), carry(part("c", 0, 16), part("u", 0, 16))
    (content,) = contents(program(SLOTS, one, run("t"), two, run("u")), TIMES)
    assert (content.copies, content.reads) == ((0, 2), ((1, "t"), (3, "u")))
    kept = staying(program(SLOTS, one, run("t"), two, run("u")), [content])
    assert [[operand.of for operand in item.operands] for item in kept.items if isinstance(item, Run)] == [
        ["t", "y"],
        ["t", "y"],
    ]
    assert len(kept.fills) == 1


def test_what_is_left_of_an_earlier_tile_belongs_to_the_content() -> None:
    whole, short = carry(part("c", 0, 16), part("t", 0, 16)), carry(part("c", 16, 8), part("t", 0, 8))
    assert found(whole, run("t"), short, run("t"))[1] == (
        "t.1",
        8,
        ["c[8:+8] -> t[8:+8]", "c[16:+8] -> t[0:+8]"],
    )
    odd = carry(part("c", 16, 6), part("t", 0, 6))
    assert [name for name, *_ in found(whole, run("t"), odd, run("t"))] == ["t.0"], "the path carries words"


@pytest.mark.parametrize(
    "other",
    [
        carry(part("x", 0, 8), part("t", 8, 8)),
        run(writes="t"),
        run("t", writes="t"),
    ],
)
def test_a_buffer_with_anything_else_in_it_has_none(other: Item) -> None:
    assert found(carry(part("c", 0, 16), part("t", 0, 16)), run("t"), other, run("t")) == []


def test_bytes_that_nothing_filled_are_no_content() -> None:
    assert found(carry(part("c", 0, 8), part("t", 0, 8)), run("t")) == []


def test_nothing_is_written_over_a_resident() -> None:
    over = Run(
        partition="p",
        operator="o",
        instance="core",
        function="f",
        operands=(Operand(of="t", access="r"), Operand(of="u", access="w", over=("t",))),
    )
    before = program(SLOTS, carry(part("c", 0, 16), part("t", 0, 16)), over)
    after = staying(before, contents(before, TIMES))
    (item,) = after.items
    assert isinstance(item, Run)
    assert [operand.over for operand in item.operands] == [(), ()]
    assert after.buffers["t"].kind is BufferKind.RESIDENT


def lowered(made: Model, choice: Resident, **facts: object) -> Lowered:
    """The model on a chip with accelerators; every check of a compilation is made."""
    setting = evolve(chips.setting(chips.EDGE), resident=choice, **facts)
    codegens = chips.codegens(chips.EDGE)
    return lower_in_order(
        setting=setting,
        place=lambda wanted: place(made, setting, chips.BACKENDS, wanted),
        order=lambda graph: lowering_order(graph, chips.EDGE, codegens),
        lower=chips.lowerer(chips.EDGE),
    )


def residents(made: Lowered) -> dict[str, int]:
    """The bytes of residents by memory."""
    found: dict[str, int] = {}
    for buffer in made.plan.buffers:
        if buffer.kind is BufferKind.RESIDENT:
            found[buffer.memory] = found.get(buffer.memory, 0) + buffer.bytes
    return found


ROWS = tuple((f"n{number}", "conv", (f"n{number - 1}" if number else "x",), 512) for number in range(6))
CHAIN = chips.model(*ROWS, inputs={"x": 512}, weights=640)


def test_a_run_is_shorter_and_says_by_how_much() -> None:
    before, after = lowered(CHAIN, Resident.NEVER), lowered(CHAIN, Resident.AUTO)
    assert not residents(before)
    assert residents(after)
    assert after.makespan < before.makespan
    assert after.execution is not None
    assert after.execution.copied == before.makespan
    assert after.execution.filling > 0
    assert not [step for step in before.steps.steps if isinstance(step, Fill)]


def test_other_models_keep_what_they_need() -> None:
    sizes = {memory.name: memory.size for memory in chips.EDGE.memories}
    assert not residents(lowered(CHAIN, Resident.AUTO, held=sizes))
    most = residents(lowered(CHAIN, Resident.AUTO))
    (memory,) = most
    rest = sizes[memory] - 1280
    some = residents(lowered(CHAIN, Resident.AUTO, held={memory: rest}))
    assert 0 < some[memory] <= 1280 < most[memory]


def test_what_saves_the_most_per_byte_comes_first() -> None:
    slots = {**SLOTS, "v": slot("v", "local", 128)}
    often, once = carry(part("c", 0, 16), part("t", 0, 16)), carry(part("d", 0, 16), part("u", 0, 16))
    before = program(slots, often, run("t"), once, run("u"), often, run("t"))
    able = contents(before, TIMES)
    assert [one.name for one in chosen(able, {"tcm": 64})] == ["t"]
    assert [one.name for one in chosen(able, {"tcm": 128})] == ["t", "u"]
    assert chosen(able, {"tcm": 63}) == []


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(made=models(), weights=st.sampled_from((64, 512, 2048)))
def test_random_models_pass_every_check_and_are_never_slower(made: Model, weights: int) -> None:
    heavy = chips.model(
        *((op.id, str(op.kind), op.inputs, 512) for op in made.operators),
        inputs={name: made.tensors[name].bytes for name in made.inputs},
        weights=weights,
    )
    before, after = lowered(heavy, Resident.NEVER), lowered(heavy, Resident.AUTO)
    assert after.makespan <= before.makespan
