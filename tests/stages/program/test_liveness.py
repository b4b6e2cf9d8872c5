"""First and last use, lives and live bytes of a program's buffers."""

from operator import attrgetter

from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.memory import BufferKind
from target_arch.plan.steps import StateBuffers
from target_arch.soc.model import CopyPath
from target_arch.stages.program.items import Run, Slot, Transfer
from target_arch.stages.program.liveness import live_bytes, whole_units
from target_arch.stages.program.program import Program


def slot(name: str, kind: str, bytes: int = 100) -> Slot:
    return Slot(name=name, kind=BufferKind(kind), memory="sram", bytes=bytes, alignment=64)


def run(result: str, *reads: str, over: tuple[str, ...] = ()) -> Run:
    operands = (*(Operand(of=name, access="r") for name in reads), Operand(of=result, access="w", over=over))
    return Run(partition="p", operator=result, instance="host", function="f", operands=operands)


PROGRAM = Program(
    items=(
        run("a", "x", "w"),
        run("b", "a", over=("a",)),
        run("c", "b", "x", over=("b", "x")),
        run("y", "c", "b", over=("c",)),
    ),
    buffers={
        each.name: each
        for each in (
            slot("x", "input"),
            slot("unread", "input", 10),
            slot("w", "constant"),
            *(slot(name, "activation") for name in ("a", "b", "c", "unused")),
            slot("y", "output"),
        )
    },
    inputs=(("x", "x"), ("unread", "unread")),
    outputs=(("y", "y"),),
)
LIVENESS = PROGRAM.liveness


def test_uses_are_items_that_name_a_buffer() -> None:
    assert LIVENESS.uses == {"x": (0, 2), "w": (0, 0), "a": (0, 1), "b": (1, 3), "c": (2, 3), "y": (3, 3)}


def test_inputs_live_from_the_start_outputs_to_the_end_and_what_is_unused_never() -> None:
    assert LIVENESS.lives == {
        "x": (0, 2),
        "unread": (0, 0),
        "a": (0, 1),
        "b": (1, 3),
        "c": (2, 3),
        "y": (3, 4),
    }


def test_a_result_can_take_the_place_of_an_operand_that_dies_there() -> None:
    assert LIVENESS.reuses == {"b": ("a",), "c": ("x",), "y": ("c",)}
    assert {name for name in LIVENESS.lives if LIVENESS.unshared[name] != LIVENESS.lives[name]} == {
        "b",
        "c",
        "y",
    }


def test_live_bytes_count_shared_places_once_and_whole_units_where_asked() -> None:
    plain = live_bytes(PROGRAM.buffers, LIVENESS.lives, attrgetter("bytes"), LIVENESS.end)
    assert {memory: sums.tolist() for memory, sums in plain.items()} == {"sram": [210, 300, 300, 300, 100]}
    shared = live_bytes(PROGRAM.buffers, LIVENESS.unshared, whole_units, LIVENESS.end)
    assert shared["sram"].tolist() == [320, 256, 256, 256, 128]


def test_the_lives_of_states_residents_and_results_that_nobody_makes() -> None:
    """What a state leaves and an output live to the end, residents always; a state needs no bytes of an
    arena for a time.
    """
    slots = (
        slot("h", "state"),
        slot("h_next", "next state"),
        slot("r", "resident"),
        slot("one", "output"),
        slot("two", "output"),
        slot("a", "activation"),
        slot("b", "activation"),
    )
    program = Program(
        items=(run("a", "h", "r"), run("b", "h"), run("h_next", "a", "b"), run("two", "b")),
        buffers={each.name: each for each in slots},
        inputs=(),
        outputs=(("one", "one"), ("two", "two")),
        states=tuple(StateBuffers(tensor=n, now=n, next=f"{n}_next") for n in ("h", "i")),
    )
    assert program.kept == {"one", "two", "h_next", "i_next"}
    assert program.liveness.lives == {
        "h": (0, 1),
        "h_next": (2, 4),
        "one": (4, 4),
        "two": (3, 4),
        "a": (0, 2),
        "b": (1, 3),
    }
    assert program.liveness.unshared.keys() == {"one", "two", "a", "b"}


def test_all_results_of_an_item_take_places() -> None:
    """Two results over two operands, each of which dies there or does not."""
    both = Run(
        partition="p",
        operator="both",
        instance="host",
        function="f",
        operands=(
            Operand(of="x", access="r"),
            Operand(of="y", access="r"),
            Operand(of="a", access="w", over=("x",)),
            Operand(of="b", access="w", over=("y",)),
            Operand(of="c", access="w", over=("x", "y")),
        ),
    )
    slots = (*(slot(n, "input") for n in "xy"), *(slot(n, "activation") for n in "abc"), slot("z", "output"))
    known = {each.name: each for each in slots}
    ends = run("z", "a", "b", "c", "x")
    program = Program(items=(both, ends), buffers=known, inputs=(), outputs=(("z", "z"),))
    assert program.liveness.reuses == {"b": ("y",), "c": ("y",)}
    assert program.liveness.dying({"a": ["x"], "z": ["c", "y"]}) == {"z": ("c",)}
    assert program.liveness.dying({"z": ["y"]}) == {}
    assert program.liveness.unshared["b"] == (1, 1)


def test_a_transfer_names_both_ends() -> None:
    pieces = tuple(
        (Slice(of="x", offset=n, row_bytes=1), Slice(of="y", offset=n, row_bytes=1)) for n in (0, 1)
    )
    copy = Transfer(path=CopyPath(source="sram", target="tcm"), pieces=pieces, partition="p")
    assert list(copy.names()) == ["x", "y"]


def test_it_is_made_once_for_a_program() -> None:
    assert PROGRAM.liveness is LIVENESS
