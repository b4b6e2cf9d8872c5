"""Which items are an operator's, and when a kernel's own buffers are live."""

from target_arch.plan.kernels import Access, Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.partitions import Partition
from target_arch.soc.model import CopyPath
from target_arch.stages.lowering.budgets.call_sites import CallSites
from target_arch.stages.program.items import Item, Run, Transfer
from tests.stages import chips

MODEL = chips.model(
    ("a", "conv", ("x",), 16), ("b", "add", ("a",), 16), ("c", "add", ("b",), 16), ("d", "conv", ("c",), 16),
    inputs={"x": 16},
)  # fmt: skip
OPERATORS = {each.id: each for each in MODEL.operators}
PATH = CopyPath(source="sram", target="tcm")


def partition(name: str, operators: str) -> Partition:
    return Partition(
        id=name, instance="host", operators=tuple(OPERATORS[each] for each in operators), reason="test"
    )


def items(text: str) -> list[Item]:
    """`P.a` is a run of `a` for a partition, `P` a copy of it."""
    found: list[Item] = []
    for word in text.split():
        name, _, operator = word.partition(".")
        piece = (Slice(of="s", offset=0, row_bytes=1), Slice(of="t", offset=0, row_bytes=1))
        found.append(
            Run(partition=name, operator=operator, instance="host", function="f", operands=())
            if operator
            else Transfer(path=PATH, pieces=(piece,), partition=name)
        )
    return found


P, Q, R = partition("P", "abc"), partition("Q", "d"), partition("R", "d")


def test_copies_belong_to_the_run_that_follows() -> None:
    """The last ones of a partition to the run before; an operator that does not run has all of the turn."""
    sites = CallSites.of((P, Q), items("P P.a P P P.b P.b P Q Q.d Q Q"))
    assert sites.spans == {"P": {"a": (0, 1), "b": (2, 6), "c": (0, 6)}, "Q": {"d": (7, 10)}}
    assert sites.turns == [(0, 6), (7, 10)]
    assert sites.numbers == {"P": 0, "Q": 1}
    assert (sites.turn(P), sites.turn(Q)) == ((0, 6), (7, 10))


def test_operators_that_take_turns_have_all_items_between() -> None:
    """Slices of two operators, one of each in turn, and a copy behind them."""
    sites = CallSites.of((P,), items("P P.a P.b P P.a P.b P.c P"))
    assert sites.spans["P"] == {"a": (0, 4), "b": (2, 5), "c": (6, 7)}


def test_items_of_others_within_a_turn_are_no_runs_of_it() -> None:
    """A partition that goes early has items in the turn of another."""
    sites = CallSites.of((P, Q), items("Q P.a Q.d P P.b Q P P.c"))
    assert sites.turns == [(1, 7), (0, 5)]
    assert sites.spans == {"P": {"a": (1, 1), "b": (2, 4), "c": (5, 7)}, "Q": {"d": (0, 5)}}
    same = CallSites.of((Q, R), items("Q.d R.d Q.d"))
    assert same.spans == {"Q": {"d": (0, 2)}, "R": {"d": (1, 1)}}


def test_a_partition_without_items_is_where_the_one_before_ends() -> None:
    sites = CallSites.of((R, P, Q), items("P.a P"))
    assert (sites.turn(R), sites.turn(P), sites.turn(Q)) == ((0, 0), (0, 1), (1, 1))
    assert sites.spans["Q"] == {"d": (1, 1)}


def kernel(*actions: Move | Call, buffers: str) -> Kernel:
    local = tuple(LocalBuffer(name=each, bytes=16, memory="tcm") for each in buffers)
    return Kernel(partition="P", instance="host", buffers=local, actions=actions)


def move(source: str, target: str) -> Move:
    ends = (Slice(of=each, offset=0, row_bytes=16) for each in (source, target))
    return Move(source=next(ends), target=next(ends))


def call(operator: str, *names: str) -> Call:
    operands = tuple(Operand(of=each, access=Access.READ) for each in names)
    return Call(function="f", operands=operands, operator=operator)


SITES = CallSites.of((P, Q), items("Q P P.a P P.b P P P.c P"))
"""`a` has the items 1 and 2, `b` 3 and 4, `c` 5 to 8."""


def test_own_buffers_live_from_the_first_operator_that_touches_them_to_the_last() -> None:
    found = SITES.lives(
        P,
        kernel(
            move("x", "t"),
            call("a", "t", "u"),
            move("u", "v"),
            call("b", "v", "x"),
            move("v", "y"),
            call("c", "w"),
            buffers="tuvwz",
        ),
    )
    assert found == {"t": (1, 2), "u": (1, 4), "v": (3, 4), "w": (5, 8)}


def test_a_move_in_is_of_the_call_that_follows_and_a_move_out_of_the_one_before() -> None:
    moves = (move("x", "t"), call("b", "u"), move("u", "y"), move("x", "v"), move("v", "w"), call("c", "y"))
    assert SITES.lives(P, kernel(*moves, buffers="tuvw")) == {
        "t": (3, 4),
        "u": (3, 4),
        "v": (5, 8),
        "w": (5, 8),
    }
    late = (call("b", "y"), move("x", "t"), move("u", "y"), move("x", "v"))
    assert SITES.lives(P, kernel(*late, buffers="tuv")) == {"t": (3, 4), "u": (3, 4), "v": (3, 4)}


def test_what_names_no_operator_is_of_the_first() -> None:
    assert SITES.lives(P, kernel(call("", "t"), buffers="t")) == {"t": (1, 2)}
    assert SITES.lives(P, kernel(move("t", "y"), buffers="t")) == {"t": (1, 2)}
    again = kernel(call("c", "u"), call("", "t"), buffers="tu")
    assert SITES.lives(P, again) == {"t": (1, 2), "u": (5, 8)}


def test_a_buffer_of_several_operators_lives_over_all_between() -> None:
    both = kernel(call("c", "t"), call("a", "t"), call("b", "u"), buffers="tu")
    assert SITES.lives(P, both) == {"t": (1, 8), "u": (3, 4)}
    assert SITES.lives(P, kernel(call("a", "x"), buffers="")) == {}
