"""One call that does the work of two operators, and tensors that are made of two values: what is first in a
call, of a tensor or among its operands is right here, and what is second is not.
"""

from collections.abc import Sequence

from attrs import evolve

from target_arch.plan.kernels import Call, LocalBuffer, Move, Operand, Slice
from target_arch.plan.model import Model
from tests.stages import chips
from tests.stages.check.meaning.test_model import copied, joint
from tests.stages.check.meaning.two import kernel, said
from tests.stages.lowering.test_ladder import lowered


def read(*names: str) -> tuple[Operand, ...]:
    return tuple(Operand(of=name, access="r") for name in names)


def written(*names: str) -> tuple[Operand, ...]:
    return tuple(Operand(of=name, access="w") for name in names)


def replaced(model: Model, operator: str, actions: Sequence[Move | Call], **facts: object) -> list[str]:
    """What is said of the kernel of an operator with these actions alone."""
    changed = kernel(
        lowered(model, chips.ALONE),
        operator,
        lambda each: evolve(each, actions=tuple(actions), **facts),  # type: ignore[arg-type]
    )
    return [each.rpartition("error: ")[2] for each in said(changed) if not each.startswith("step ")]


def test_constants_of_both_operators_of_a_call_are_its_own() -> None:
    rows = (("m", "conv", ("x",), 64), ("y", "conv", ("m",), 64))
    model = chips.model(*rows, inputs={"x": 64}, weights=16)
    assert joint(model, "m", *read("x", "m.w", "y.w"), *written("y")) == []


def test_both_operators_of_a_call_need_both_operands() -> None:
    rows = (("m", "other", ("a", "b"), 64), ("y", "other", ("m", "c", "d"), 64))
    model = chips.model(*rows, inputs=dict.fromkeys("abcd", 64))
    for name in "abcd":
        left = read(*(each for each in "abcd" if each != name))
        assert joint(model, "m", *left, *written("y")) == [f"`y` is made without `{name}` [wrong-operand]"]


def test_operators_of_every_kind_but_relax_need_their_operands() -> None:
    """Names of kinds before that of an operator without a row, and after it."""
    for kind in ("add", "sub"):
        model = chips.model(("y", kind, ("a", "b"), 64), inputs=dict.fromkeys("ab", 64))
        assert joint(model, "y", *read("a"), *written("y")) == ["`y` is made without `b` [wrong-operand]"]


def test_the_second_operator_of_a_call_is_of_another_partition() -> None:
    rows = (("m", "other", ("x",), 64), ("n", "other", ("x",), 64), ("y", "other", ("m", "n"), 64))
    result = lowered(chips.model(*rows, inputs={"x": 64}), chips.ALONE)
    (partition,), (found,) = result.graph.partitions, result.kernels.values()
    m, n, y = partition.operators
    first, second = evolve(partition, id="p0", operators=(n,)), evolve(partition, id="p1", operators=(m, y))
    made = Call(function="f", operands=(*read("x"), *written("y")), operator="m")
    kernels = {"p0": evolve(found, actions=()), "p1": evolve(found, actions=(made,))}
    graph = evolve(result.graph, partitions=(first, second))
    assert said(evolve(result, graph=graph, kernels=kernels))[0] == (
        "operator y in partition p1: error: `y` is made without `n`, elsewhere [wrong-operand]"
    )


def test_the_second_call_makes_two_tensors() -> None:
    rows = (("u", "other", ("x",), 64), ("m", "other", ("u",), 64), ("y", "other", ("m", "z"), 64))
    model = evolve(chips.model(*rows, inputs={"x": 64, "z": 64}), outputs=("m", "y"))
    calls = (
        Call(function="f", operands=(*read("x"), *written("u")), operator="u"),
        Call(function="g", operands=(*read("u", "z"), *written("m", "y")), operator="m"),
    )
    assert replaced(model, "u", calls) == []


SUM = chips.model(("y", "other", ("a", "b"), 64), inputs=dict.fromkeys("ab", 64))
HELD = (LocalBuffer(name="held", bytes=64, memory="sram"),)
HALF = Operand(of="held", access="w", bytes=32)
WHOLE = Move(source=Slice(of="held", offset=0, row_bytes=64), target=Slice(of="y", offset=0, row_bytes=64))
THROUGH = Call(function="g", operands=(*read("held"), *written("y")), operator="y")


def halves(first: str, second: str, then: Move | Call) -> list[str]:
    """What is said of `y`, where a call makes each half of a local buffer, from one tensor each."""
    calls = (
        Call(function="f", operands=(*read(name), evolve(HALF, offset=offset)), operator="y")
        for name, offset in ((first, 0), (second, 32))
    )
    return replaced(SUM, "y", (*calls, then), buffers=HELD)


def test_a_move_of_two_values_makes_all_of_a_tensor() -> None:
    assert halves("a", "b", WHOLE) == []


def test_a_move_of_what_nothing_made_makes_nothing() -> None:
    """Each half has bytes that both were made from."""
    both = Call(function="f", operands=(*read("a", "b"), HALF), operator="y")
    assert replaced(SUM, "y", (both, WHOLE), buffers=HELD) == [
        "`y` is not written entirely [incomplete-tensor]"
    ]


def test_a_call_that_reads_two_values_is_made_from_both() -> None:
    assert halves("a", "b", THROUGH) == []
    assert halves("a", "a", THROUGH) == ["`y` is made without `b` [wrong-operand]"]


def test_a_copy_that_writes_more_than_it_reads() -> None:
    wrong = ["`y` is no copy of `x` [wrong-operand]"]
    assert copied((2, 2, 0, 3)) == copied((2, 2, 0, 3), (4, 1, 2, 1)) == wrong
