"""Policies, explicit lists and what is wrong with a wish, whole messages."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.backend.policy import Policy, Wishes
from target_arch.plan.kernels import Codegen
from target_arch.plan.orders import PHASES
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.printed import text
from target_arch.soc.model import SoC
from target_arch.stages.errors import OrderError
from target_arch.stages.lowering.order import POLICIES, lowering_order
from target_arch.stages.placement.place import place
from tests.stages import chips

GRAPH = place(chips.RESIDUAL, chips.setting(chips.EDGE), chips.BACKENDS)
CODEGENS = chips.codegens(chips.EDGE)


def turns(policy: str | tuple[str, ...] | None) -> list[str]:
    return [slot.partition for slot in lowering_order(GRAPH, chips.EDGE, CODEGENS, policy).slots]


def refusal(policy: str | tuple[str, ...]) -> str:
    with pytest.raises(OrderError) as caught:
        lowering_order(GRAPH, chips.EDGE, CODEGENS, policy)
    return str(caught.value)


def test_c_first_is_the_default_of_the_description_and_says_why() -> None:
    order = lowering_order(GRAPH, chips.EDGE, CODEGENS)
    assert text.lowering_order(order) == (
        "lowering order: c-first\n"
        "slot  id  phase    reason\n"
        "   1  p3  codegen  its kernels are C, so what they take is known before any budget\n"
        "   2  p0  codegen  after all C, with the budget that is left\n"
        "   3  p1  codegen  after all C, with the budget that is left\n"
        "   4  p2  codegen  after all C, with the budget that is left\n"
        "   5  p4  codegen  after all C, with the budget that is left\n"
    )


def test_program_is_the_order_of_execution() -> None:
    assert turns("program") == ["p0", "p1", "p2", "p3", "p4"]


def test_a_list_may_name_target_archs_instances_and_partitions() -> None:
    assert turns(("npu", "p3", "conv")) == ["p4", "p3", "p0", "p1", "p2"]


def test_accelerators_first_is_the_old_order() -> None:
    assert turns("accelerators-first") == ["p0", "p1", "p2", "p4", "p3"]


def test_phases_with_one_order_are_one_turn() -> None:
    assert {slot.phase for slot in lowering_order(GRAPH, chips.EDGE, CODEGENS, "program").slots} == {
        "codegen"
    }
    both = {"graph": "program", "s-tir": "program", "ns-tir": "program"}
    order = lowering_order(GRAPH, chips.EDGE, CODEGENS, both)
    assert order.policy == "graph: program, s-tir: program, ns-tir: program, codegen: c-first"
    assert [(slot.partition, slot.phase) for slot in order.slots] == [
        *((id, "ns-tir") for id in ("p0", "p1", "p2", "p3", "p4")),
        *((id, "codegen") for id in ("p3", "p0", "p1", "p2", "p4")),
    ]


def test_an_unknown_phase() -> None:
    with pytest.raises(OrderError) as caught:
        lowering_order(GRAPH, chips.EDGE, CODEGENS, {"nstir": "program"})
    assert str(caught.value) == (
        "lowering order: error: there is no phase `nstir` [unknown-phase]\nhint: did you mean `ns-tir`?"
    )


@pytest.mark.slow
def test_the_order_does_not_depend_on_the_seed_of_hashes() -> None:
    script = (
        "from tests.stages.lowering.test_lowering_order import *\n"
        "for policy in sorted(POLICIES): print(text.lowering_order("
        "lowering_order(GRAPH, chips.EDGE, CODEGENS, policy)))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(printed) == 1


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_every_partition_has_exactly_one_last_turn(data: st.DataObject) -> None:
    wish = st.sampled_from((*sorted(POLICIES), None)) | st.permutations([p.id for p in GRAPH.partitions])
    asked = data.draw(st.dictionaries(st.sampled_from(PHASES), wish.map(_frozen)))
    order = lowering_order(GRAPH, chips.EDGE, CODEGENS, asked)
    last = [slot.partition for slot in order.slots if slot.phase == PHASES[-1]]
    assert sorted(last) == sorted(partition.id for partition in GRAPH.partitions)
    turns = [(slot.partition, slot.phase) for slot in order.slots]
    assert len(set(turns)) == len(turns)


def _frozen(wish: str | list[str] | None) -> str | tuple[str, ...] | None:
    return tuple(wish) if isinstance(wish, list) else wish


def test_an_unknown_policy() -> None:
    assert refusal("c-frist") == (
        "lowering order: error: there is no policy `c-frist` [unknown-policy]\nhint: did you mean `c-first`?"
    )


def test_a_list_with_every_mistake_at_once() -> None:
    assert refusal(("nqu", "p0", "conv", "p0")) == (
        "lowering order: error: `nqu` is no partition, no instance and no target_arch [unknown-in-order]\n"
        "hint: did you mean `npu`?\n"
        "\n"
        "lowering order: error: partition `p0` is meant by `p0` and again by `conv` [contradictory-order]\n"
        "hint: name every partition by one name\n"
        "\n"
        "lowering order: error: `p0` is named twice [repeated-order]\n"
        "hint: name each once\n"
        "\n"
        "lowering order: error: partition `p3` on `dsp` has no turn [incomplete-order]\n"
        "hint: add `p3` or `dsp`\n"
        "\n"
        "lowering order: error: partition `p4` on `npu` has no turn [incomplete-order]\n"
        "hint: add `p4` or `npu`"
    )


def named(name: str, wishes: Callable[..., Wishes]) -> dict[str, Policy]:
    return {name: Policy(name=name, description="a test", wishes=wishes)}


def cyclic(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, Codegen]) -> Wishes:
    return Wishes(
        reasons={p.id: "" for p in graph.partitions}, edges=(("p0", "p1"), ("p1", "p2"), ("p2", "p0"))
    )


def backwards(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, Codegen]) -> Wishes:
    ids = [p.id for p in graph.partitions]
    return Wishes(reasons=dict.fromkeys(ids, "last comes first"), ranks={id: -n for n, id in enumerate(ids)})


def lazy(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, Codegen]) -> Wishes:
    return Wishes(reasons={p.id: "" for p in graph.partitions[1:]})


def test_policies_of_others_are_registered_by_name() -> None:
    order = lowering_order(
        GRAPH, chips.EDGE, CODEGENS, "backwards", {**POLICIES, **named("backwards", backwards)}
    )
    assert [slot.partition for slot in order.slots] == ["p4", "p3", "p2", "p1", "p0"]


def test_a_cyclic_wish_is_shown() -> None:
    with pytest.raises(OrderError) as caught:
        lowering_order(GRAPH, chips.EDGE, CODEGENS, "cyclic", named("cyclic", cyclic))
    assert str(caught.value) == (
        "lowering order: error: policy `cyclic` wishes a cycle: "
        "`p0` before `p1` before `p2` before `p0` [cyclic-order]"
    )


def strange(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, Codegen]) -> Wishes:
    return Wishes(reasons={p.id: "" for p in graph.partitions} | {"p10": ""})


def test_a_policy_that_names_what_is_no_partition() -> None:
    with pytest.raises(OrderError) as caught:
        lowering_order(GRAPH, chips.EDGE, CODEGENS, "strange", named("strange", strange))
    assert str(caught.value).startswith("lowering order: error: `p10` is no partition")


def test_a_policy_that_leaves_a_partition_out() -> None:
    with pytest.raises(OrderError) as caught:
        lowering_order(GRAPH, chips.EDGE, CODEGENS, "lazy", named("lazy", lazy))
    assert str(caught.value) == (
        "lowering order: error: partition `p0` on `conv` has no turn [incomplete-order]\n"
        "hint: add `p0` or `conv`"
    )


def test_the_description_may_have_orders_of_single_phases() -> None:
    soc = evolve(chips.EDGE, lowering_phases={"s-tir": "program"})
    names = "graph: c-first, s-tir: program, ns-tir: c-first, codegen: c-first"
    assert lowering_order(GRAPH, soc, CODEGENS).policy == names
    asked = lowering_order(GRAPH, soc, CODEGENS, {"codegen": "program"})
    assert asked.policy == "graph: c-first, s-tir: program, ns-tir: c-first, codegen: program"
    assert lowering_order(GRAPH, soc, CODEGENS, "program").policy == "program"
