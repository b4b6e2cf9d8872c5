"""A model with two of everything: inputs, weights, outputs and states, each pair of one size; lowered for a
host alone and for a chip with accelerators that tile. And what is said of it when something is changed.
"""

from collections.abc import Callable, Mapping

from attrs import evolve

from target_arch.plan.kernels import Kernel, Operand
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import Buffer
from target_arch.plan.model import Model
from target_arch.plan.steps import Copy, Dispatch, Step
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.stages.check.meaning.check import RightKernels, check_meaning
from target_arch.stages.errors import CheckError
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

ROWS = (
    ("a", "conv", ("p",), 512),
    ("b", "conv", ("q",), 512),
    ("s", "add", ("a", "c"), 512),
    ("t", "add", ("b", "d"), 512),
    ("y", "other", ("s", "t"), 512),
    ("z", "other", ("t", "s"), 512),
)
INPUTS = {"p": 512, "q": 512, "c": 512, "d": 512}


def two() -> Model:
    """The model: `c` and `d` are states, whose next values are `s` and `t`."""
    made = evolve(chips.model(*ROWS, inputs=INPUTS, weights=64), outputs=("y", "z", "s", "t"))
    return with_states(made, [StatePair(input=2, output=2), StatePair(input=3, output=3)], made.outputs)


JUDGED: dict[object, RightKernels] = {}
"""Kernels that tests found right, in any order: faults are the same with them."""
ALONE, EDGE = lowered(two(), chips.ALONE), lowered(two(), chips.EDGE)


def said(result: Lowered) -> list[str]:
    """The faults, each with its place."""
    try:
        check_meaning(chips.EDGE, result.graph, result.kernels, result.steps, result.plan, JUDGED)
    except CheckError as error:
        return str(error).split("\n\n")
    return []


def step(
    result: Lowered, picked: Callable[[Step], bool], change: Callable[[Step], Step], which: int = 0
) -> Lowered:
    """The same with one of the steps that are picked changed."""
    steps = list(result.steps.steps)
    number = [n for n, each in enumerate(steps) if picked(each)][which]
    steps[number] = change(steps[number])
    return evolve(result, steps=evolve(result.steps, steps=tuple(steps)))


def call(result: Lowered, operator: str, change: Callable[[Dispatch], Step], which: int = 0) -> Lowered:
    """The same with a call for an operator changed."""

    def changed(each: Step) -> Step:
        assert isinstance(each, Dispatch)
        return change(each)

    return step(result, lambda each: isinstance(each, Dispatch) and each.operator == operator, changed, which)


def operands(result: Lowered, operator: str, change: Callable[[list[Operand]], list[Operand]]) -> Lowered:
    """The same with other operands of a call."""
    return call(result, operator, lambda each: evolve(each, operands=tuple(change(list(each.operands)))))


def copy(result: Lowered, source: str, target: str, change: Callable[[Copy], Step]) -> Lowered:
    """The same with the first copy from one buffer to another changed."""

    def changed(each: Step) -> Step:
        assert isinstance(each, Copy)
        return change(each)

    def picked(each: Step) -> bool:
        return isinstance(each, Copy) and (each.source.of, each.target.of) == (source, target)

    return step(result, picked, changed)


def buffer(result: Lowered, name: str, **facts: object) -> Lowered:
    """The same with other facts of a buffer."""
    found: tuple[Buffer, ...] = tuple(
        evolve(each, **facts) if each.name == name else each  # type: ignore[arg-type]
        for each in result.steps.buffers
    )
    plan = evolve(result.plan, buffers=found)
    return evolve(result, steps=evolve(result.steps, buffers=found), plan=plan)


def kernel(result: Lowered, operator: str, change: Callable[[Kernel], Kernel]) -> Lowered:
    """The same with another kernel of the partition of an operator; the steps are what they were."""
    (found,) = (p.id for p in result.graph.partitions if any(each.id == operator for each in p.operators))
    kernels: Mapping[str, Kernel] = {**result.kernels, found: change(result.kernels[found])}
    return evolve(result, kernels=kernels)
