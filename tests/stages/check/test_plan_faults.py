"""Faults planted into random plans: nothing that computes something else is accepted."""

from collections import Counter
from random import Random

import pytest
from attrs import evolve

from target_arch.plan.steps import Copy, Dispatch, Wait
from tests.plan_faults.campaign import SUBJECTS, Verdict, planted
from tests.plan_faults.execution import outcomes
from tests.plan_faults.faults import FAULTS, recounted
from tests.plan_faults.frames import frames
from tests.plan_faults.models import models
from tests.plan_faults.plans import plan
from tests.stages.check.meaning.two import ALONE, EDGE, operands

PLANS = (4, 8, 14, 16, 22)
"""Of small graphs, with up to two states."""


@pytest.mark.slow
def test_nothing_wrong_is_accepted_of_every_kind() -> None:
    total: Counter[tuple[str, Verdict]] = Counter()
    for number in PLANS:
        right = plan(number)
        assert right is not None
        found = planted(right, number, seed=3, count=len(FAULTS))
        assert found.wrong == ()
        total += found.verdicts
    assert sum(count for (_, verdict), count in total.items() if verdict is Verdict.FOUND) > 150
    assert len({kind for kind, _ in total}) > len(FAULTS) - 5


@pytest.mark.parametrize(
    ("subject", "number"),
    [
        ("division", 1),
        ("division", 2),
        ("residents", 8),
        ("tables", 3),
        pytest.param("models", 6, marks=pytest.mark.slow),
        pytest.param("frames", 26, marks=pytest.mark.slow),
    ],
)
def test_nothing_wrong_is_accepted_of_others(subject: str, number: int) -> None:
    """The inputs of these frames may be written late in the round before theirs."""
    right = SUBJECTS[subject](number)
    assert right is not None
    assert right.accepts(right.right)
    assert planted(right, number, seed=5, count=2 * len(right.kinds)).wrong == ()


def test_frames_leave_what_runs_one_by_one_do() -> None:
    right = frames(1)
    assert right is not None
    one_by_one = right.one_by_one(1)
    with_all, with_gaps = right.outcomes(right.right, 1)
    assert with_all == [one_by_one] * len(with_all)
    assert with_gaps == [with_gaps[0]] * len(with_gaps)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_models_together_leave_what_each_leaves_alone(number: int) -> None:
    """In turn, side by side, and as tasks whose jobs come between the steps of others."""
    right = models(number)
    assert right is not None
    assert right.outcomes(right.right, 1) == right.alone(1)


def test_runs_of_a_right_plan_are_the_same_whatever_the_timing() -> None:
    right = plan(8)
    assert right is not None
    first, *others = outcomes(right.lowered, 1)
    assert others == [first] * len(others)
    assert outcomes(right.lowered, 2)[0] != first


def test_a_run_tells_what_is_computed_from_other_bytes() -> None:
    swapped = operands(ALONE, "y", lambda found: [found[1], found[0], found[2]])
    assert outcomes(swapped, 1) != outcomes(ALONE, 1)


def test_a_call_that_may_not_write_over_an_operand_loses_it() -> None:
    """`y` over `s`: its kernel does not say that it may."""
    over = operands(ALONE, "y", lambda found: [*found[:2], evolve(found[2], of=found[0].of)])
    names = tuple((name, "c_next@sram" if name == "y" else buffer) for name, buffer in over.steps.outputs)
    over = evolve(over, steps=evolve(over.steps, outputs=names))
    assert outcomes(over, 1)[0] != outcomes(ALONE, 1)[0]


def test_a_race_is_lost_with_some_timing() -> None:
    """Without the first wait for a copy, the call may read before it."""
    steps = EDGE.steps.steps
    first = next(n for n, step in enumerate(steps) if isinstance(step, Wait))
    raced = evolve(EDGE, steps=evolve(EDGE.steps, steps=(*steps[:first], *steps[first + 1 :])))
    found = outcomes(raced, 1)
    assert any(each != found[0] for each in found) or found[0] != outcomes(EDGE, 1)[0]


def test_events_are_counted_anew_and_waits_keep_their_steps() -> None:
    steps = EDGE.steps.steps
    assert recounted(steps) == steps
    number = next(n for n, step in enumerate(steps) if isinstance(step, Copy) and step.event is not None)
    gone = steps[number]
    assert isinstance(gone, Copy)
    assert gone.event is not None
    left = recounted((*steps[:number], *steps[number + 1 :]))
    values = [
        step.event.value
        for step in left
        if isinstance(step, Copy | Dispatch) and step.event and step.event.timeline == gone.event.timeline
    ]
    assert values == list(range(1, len(values) + 1))


def test_the_same_seed_is_the_same_fault() -> None:
    for fault in FAULTS.values():
        assert fault(Random(5), EDGE) == fault(Random(5), EDGE)
