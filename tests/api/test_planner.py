"""A planner as text: which algorithm plans the memory, and what is said to wishes that make no sense."""

import pytest

from target_arch.api.planner import planner
from target_arch.backend.planner import Algorithm, Effort
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.stages.memory.packing import ALGORITHMS
from target_arch.stages.memory.planner import BEST, Planner
from tests.stages.memory.packing.instances import buffer


def test_an_algorithm_with_its_effort() -> None:
    assert planner("best") == BEST
    assert planner("by-size") == Planner(algorithm="by-size")
    assert planner("search,nodes=500,seed=3").effort == Effort(nodes=500, seed=3)
    assert planner("cp-sat,seconds=1.5").effort == Effort(seconds=1.5)


WRONG = {
    "search,nods=3": ("planner: error: a planner has no `nods` [bad-planner]\nhint: did you mean `nodes`?"),
    "search,nodes=x": ("planner: error: `nodes` of a planner is a whole number, not `x` [bad-planner]"),
    "search,nodes=9,nodes=10": "planner: error: `nodes` is given twice [bad-planner]",
    "search,seconds=": "planner: error: `seconds` of a planner is a number, not `` [bad-planner]",
    "serch": (
        "memory plan: error: there is no algorithm `serch` [unknown-algorithm]\nhint: did you mean `search`?"
    ),
    "best,nodes=4": (
        "memory plan: error: the algorithm `best` takes no limit of nodes or seconds [no-effort]\n"
        "hint: those that do: `cp-sat`, `search`"
    ),
    "search,nodes=0": "memory plan: error: no search takes 0 nodes [no-effort]",
}


@pytest.mark.parametrize("wish", WRONG)
def test_what_makes_no_sense(wish: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        planner(wish).check()
    assert str(caught.value) == WRONG[wish]


def test_an_algorithm_of_the_user() -> None:
    def mine(buffers):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        top = 0
        offsets = {}
        for each in buffers:
            offsets[each.name], top = top, top + each.bytes
        return offsets

    asked = Planner(
        algorithm="mine",
        algorithms={**ALGORITHMS, "mine": Algorithm(name="mine", description="a test", pack=mine)},
    )
    plan = asked.plan((buffer(0, 8, 0, 1), buffer(1, 8, 2, 3)), {"m": 100})
    assert isinstance(plan, MemoryPlan)
    assert (plan.offsets, plan.peaks, plan.found_by) == (
        {"b0": 0, "b1": 8},
        {Arena("m"): 16},
        {Arena("m"): "mine"},
    )
