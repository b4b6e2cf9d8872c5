"""What would have to change for another choice, in words."""

import pytest

from target_arch.plan.partitions import Candidate, Choice, Cost, CostItem
from target_arch.plan.printed.reasoning import reasoning


def said(
    other: Cost, *, reason: str = "cheapest", runs: tuple[float | None, float | None] = (None, None)
) -> str:
    mine = Candidate(instance="npu", cost=Cost(compute=10e-6), run=runs[0])
    rival = Candidate(instance="dsp", cost=other, run=runs[1])
    choice = Choice(operator="a", instance="npu", reason=reason, candidates=(mine, rival))
    return reasoning(choice).partition("what would change it\n")[2].strip()


def test_compute_or_a_copy() -> None:
    parts = (CostItem(what="copy of `x`", seconds=6e-6), CostItem(what="copy of its result", seconds=1e-6))
    cost = Cost(compute=8e-6, copy=7e-6, parts=parts)
    assert said(cost) == (
        "`dsp`: if its compute fell from 8 us to below 3 us, or the copy of `x` (6 us) vanished"
    )


def test_nothing_alone_helps() -> None:
    parts = (CostItem(what="copy of `x`", seconds=15e-6),)
    assert said(Cost(compute=15e-6, copy=15e-6, parts=parts)) == (
        "`dsp`: if computing and copies together fell by 20 us"
    )


def test_cheaper_by_itself() -> None:
    cost = Cost(compute=9e-6)
    assert said(cost, runs=(50e-6, 60e-6)) == (
        "`dsp`: 1 us cheaper by itself, but the run would take 60 us instead of 50 us"
    )
    assert said(cost, runs=(50e-6, 50e-6)) == "`dsp`: 1 us cheaper by itself; the run would be as long, 50 us"
    assert said(cost, runs=(50e-6, 40e-6)) == (
        "`dsp`: 1 us cheaper by itself; the run would take 40 us instead of 50 us, which the search model "
        "does not see"
    )
    assert said(cost) == "`dsp`: 1 us cheaper by itself, but not together with its neighbours"


def test_alike() -> None:
    assert said(Cost(compute=10e-6)) == "`dsp`: as good; it has more to do"


@pytest.mark.parametrize("rule", ["requires it on `npu`", "prefers it on `npu`", "forbids it"])
def test_a_rule_decided(rule: str) -> None:
    mine = Candidate(instance="npu", cost=Cost(compute=10e-6))
    others = (
        Candidate(instance="dsp", refusal=f"a rule {rule}"),
        Candidate(instance="host", refusal="it lacks `conv2d`"),
    )
    choice = Choice(operator="a", instance="npu", reason="r", candidates=(mine, *others))
    assert reasoning(choice) == (
        f"parts\n  npu: compute 10 us\nwhat would change it\n  `dsp`: if the rule that {rule} were dropped\n"
    )


def test_parts_tell_what_was_measured() -> None:
    cost = Cost(compute=1e-6, measured=True, energy=3e-6, load=2e-3)
    candidate = Candidate(instance="npu", cost=cost)
    choice = Choice(operator="a", instance="npu", reason="r", candidates=(candidate,))
    assert reasoning(choice) == "parts\n  npu: compute 1 us (measured); once, to load it 2 ms; 3 uJ\n"
