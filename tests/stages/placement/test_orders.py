"""Placement counts what the host spends on starting operators and copies, and on seeing their ends."""

import pytest
from attrs import evolve

from target_arch.plan.objective import Objective
from target_arch.plan.partitions import Cost, PartitionGraph
from target_arch.plan.printed.reasoning import reasoning
from target_arch.plan.printed.text import explanation
from target_arch.soc.costs import Costs, OrderCost
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from tests.stages import chips

MODEL = chips.model(("a", "soft", ("x",), 64), ("b", "soft", ("a",), 64), inputs={"x": 64})


def placed(costs: Costs, objective: Objective = Objective.LATENCY) -> PartitionGraph:
    setting = evolve(chips.setting(costs=costs), objective=objective)
    return place(MODEL, setting, chips.BACKENDS, Rules())


def on_dsp(graph: PartitionGraph) -> Cost:
    found = next(each.cost for each in graph.choices[0].candidates if each.instance == "dsp")
    assert found is not None
    return found


def test_an_operator_stays_where_its_order_takes_longer_than_it_saves() -> None:
    """60 us on the DSP instead of 100 us on the host, for 45 us of the host."""
    free, slow = placed(Costs()), placed(Costs(orders={"dsp": OrderCost(start=40e-6, end=5e-6)}))
    assert {choice.instance for choice in free.choices} == {"dsp"}
    assert {choice.instance for choice in slow.choices} == {"host"}
    assert on_dsp(slow).order == pytest.approx(45e-6)
    assert on_dsp(slow).total == pytest.approx(on_dsp(slow).copy + 60e-6 + 45e-6)
    assert "order of the host 45 us" in reasoning(slow.choices[0])
    assert "order" not in explanation(free, "a").split("parts")[0].splitlines()[1]
    assert explanation(slow, "a").splitlines()[1].split()[:5] == [
        "instance",
        "compute",
        "copies",
        "order",
        "total",
    ]


def test_a_copy_that_is_ordered_takes_as_much_longer() -> None:
    free, slow = placed(Costs()), placed(Costs(orders={"dma": OrderCost(start=9e-6, end=1e-6)}))
    assert on_dsp(slow).copy >= on_dsp(free).copy + 9e-6


def test_the_period_has_the_orders_on_the_host() -> None:
    """Both operators on the DSP take it 120 us a frame, and two orders of 80 us the host 160 us."""
    costs = Costs(orders={"dsp": OrderCost(start=80e-6)})
    rule = Rules(require={"*": "dsp"})
    setting = evolve(chips.setting(costs=costs), objective=Objective.THROUGHPUT)
    graph = place(MODEL, setting, chips.BACKENDS, rule)
    assert graph.facts is not None
    assert graph.facts.objective is not None
    assert graph.facts.objective.value >= 160e-6
    assert graph.facts.objective.busiest == "host"
