"""Faults of the last partition, the second function, constant or operand: what is first is right."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import CFunction
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Tensor
from tests.stages.check.meaning.test_model import IN, OUT, also, functions
from tests.stages.check.meaning.two import EDGE, kernel, said


def kernels_said(result: Lowered) -> list[str]:
    """What is said of the kernels: the steps are those from before."""
    return [each for each in said(result) if not each.startswith(("step ", "the run"))]


def packed(name: str, fill: int) -> Tensor:
    return Tensor(name=name, shape=(512,), dtype="int8", data=bytes([fill]) * 512)


def test_the_second_function_of_the_last_partition() -> None:
    first = CFunction(name="f_first", parameters=(), text="")
    second = CFunction(name="f_other", parameters=(IN, OUT), text="")
    result = kernel(EDGE, "y", lambda each: evolve(each, functions=(first, second)))
    assert kernels_said(result) == [
        f"call {number} of partition p4: error: `f_other` has 2 parameters [wrong-operand]"
        for number in (0, 1)
    ]


def test_more_parameters_than_operands() -> None:
    found = kernels_said(functions(IN, IN, OUT, OUT))
    assert "call 4 of partition p0: error: `f_other` has 4 parameters [wrong-operand]" in found


@pytest.mark.parametrize(("over", "allowed"), [(("t",), 0), (("s", "t"), 0), (("s", "t"), 1)])
def test_the_second_operand_that_a_function_writes_over(over: tuple[str, ...], allowed: int) -> None:
    found = kernels_said(functions(IN, IN, OUT, over=over, pairs=((2, allowed),)))
    wrong = 1 - allowed
    said_of = f"`f_other` may not write parameter 2 over parameter {wrong} [unsafe-in-place]"
    assert f"call 4 of partition p0: error: {said_of}" in found


def test_constants_of_one_name_in_the_last_partition() -> None:
    two = (packed("other", 1), packed("packed", 1), packed("packed", 2))
    result = kernel(EDGE, "y", lambda each: evolve(each, constants=two))
    assert kernels_said(result) == [
        "the kernels: error: `packed` is the name of two constants [wrong-content]"
    ]


def test_the_second_packed_constant_of_the_last_partition() -> None:
    both = (packed("first", 1), packed("second", 2))
    result = kernel(EDGE, "y", lambda each: evolve(also(each, "y", 1, "second"), constants=both))
    assert kernels_said(result) == [
        "operator y in partition p4: error: `y` is made without `t` [wrong-operand]"
    ]


def test_another_operator_in_the_last_partition() -> None:
    *first, last = EDGE.graph.partitions
    operators = tuple(
        evolve(each, attributes={"other": 1}) if each.id == "y" else each for each in last.operators
    )
    graph = evolve(EDGE.graph, partitions=(*first, evolve(last, operators=operators)))
    assert said(evolve(EDGE, graph=graph))[0] == (
        "the partitions: error: operator `y` is not that of the model [wrong-operator]"
    )
