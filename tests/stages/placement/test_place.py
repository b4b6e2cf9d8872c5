"""Placement: who runs what, why, and what is refused."""

from collections.abc import Mapping
from itertools import product

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.backend.contract import Backend, Question
from target_arch.plan.model import Model
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.printed import text
from target_arch.soc.model import SoC
from target_arch.stages.errors import PlacementError
from target_arch.stages.placement.candidates import CandidateTable, PlacementTask
from target_arch.stages.placement.cheapest_chain import cheapest_chain, total
from target_arch.stages.placement.place import _problem, place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting
from tests.stages import chips


def instances(graph: PartitionGraph) -> dict[str, str]:
    return {choice.operator: choice.instance for choice in graph.choices}


def edge(model: Model, rules: Rules | None = None) -> PartitionGraph:
    return place(model, chips.setting(chips.EDGE), chips.BACKENDS, rules or Rules())


def refusal(model: Model, rules: Rules, soc: SoC = chips.EDGE) -> str:
    with pytest.raises(PlacementError) as caught:
        place(model, chips.setting(soc), chips.BACKENDS, rules)
    return str(caught.value)


def test_the_partition_table_says_why() -> None:
    assert text.partition_table(edge(chips.RESIDUAL)) == (
        "partitions: 5\n"
        "id  operator  kind   instance  why there\n"
        "p0  a         conv   conv      cheapest: 26.1 us vs 107 us on `host`\n"
        "p1  b         conv   conv      cheapest: 21.6 us vs 100 us on `host`\n"
        "p2  c         conv   conv      cheapest: 28.7 us vs 107 us on `host`\n"
        "p3  d         add    dsp       cheapest: 81.4 us vs 100 us on `host`\n"
        "p4  e         dense  npu       cheapest: 22.6 us vs 107 us on `host`\n"
    )


def test_every_operator_tells_about_every_instance() -> None:
    graph = edge(chips.RESIDUAL)
    for choice in graph.choices:
        assert [c.instance for c in choice.candidates] == ["host", "dsp", "conv", "npu"]
        assert all((c.cost is None) != (c.refusal is None) for c in choice.candidates)
    shown = text.explanation(graph, "a")
    assert "   npu                                  `conv` is not among dense\n" in shown
    assert shown.endswith("what would change it\n  `host`: if its compute fell from 100 us to below 19 us\n")


def test_a_cost_tells_its_parts() -> None:
    cost = edge(chips.RESIDUAL).choice("b").candidates[2].cost
    assert cost is not None
    assert [part.what for part in cost.parts] == ["copy of `a`", "copy of constants", "copy of its result"]
    assert sum(part.seconds for part in cost.parts) == pytest.approx(cost.copy)


def test_runs_on_one_cpu_are_one_partition() -> None:
    graph = edge(chips.CHAIN, Rules(forbid=(("*", "conv"), ("*", "npu"))))
    shown = [(p.id, p.instance, [op.id for op in p.operators]) for p in graph.partitions]
    assert shown == [("p0", "host", ["a", "b"]), ("p1", "dsp", ["c", "d"])]
    assert graph.partitions[0].reason == "only `host` can take it; and 1 more operator there"


def test_an_accelerator_gets_one_operator_at_a_time() -> None:
    graph = edge(chips.RESIDUAL)
    assert [len(p.operators) for p in graph.partitions if p.instance == "conv"] == [1, 1, 1]


def test_identical_instances_share_the_work() -> None:
    graph = place(chips.RESIDUAL, chips.setting(chips.quad()), chips.BACKENDS)
    assert [instances(graph)[id] for id in "abc"] == ["conv[0]", "conv[1]", "conv[2]"]
    assert graph.choice("b").reason == "cheapest: 21.6 us vs 100 us on `host`; the least busy of 4 alike"


def test_rules_are_honoured_and_named() -> None:
    rules = Rules(require={"a": "host", "conv": "conv", "d": "host"}, forbid=(("dense", "npu"),))
    graph = edge(chips.RESIDUAL, rules)
    assert instances(graph) == {"a": "host", "b": "conv", "c": "conv", "d": "host", "e": "host"}
    assert graph.choice("a").reason == "required on `host` by a rule"
    refusals = {c.instance: c.refusal for c in graph.choice("e").candidates}
    assert refusals["npu"] == "a rule forbids it"


def test_a_preference_goes_before_cost_where_it_can() -> None:
    graph = edge(chips.RESIDUAL, Rules(prefer={"add": "host", "dense": "conv"}))
    assert instances(graph)["d"] == "host"
    assert graph.choice("d").reason == "preferred on `host` by a rule"
    assert {c.instance: c.refusal for c in graph.choice("d").candidates}[
        "dsp"
    ] == "a rule prefers it on `host`"
    assert instances(graph)["e"] == "npu"
    assert graph.choice("e").reason == (
        "cheapest: 15.5 us vs 100 us on `host`; preferred on `conv`, which refuses it: "
        "`dense` is not among conv"
    )


def test_a_requirement_goes_before_a_preference() -> None:
    graph = edge(chips.RESIDUAL, Rules(require={"d": "dsp"}, prefer={"*": "host"}))
    assert instances(graph) == {"a": "host", "b": "host", "c": "host", "d": "dsp", "e": "host"}


def test_a_preference_must_name_what_exists() -> None:
    assert refusal(chips.RESIDUAL, Rules(prefer={"ad": "dsp"})) == (
        "rule `prefer ad = dsp`: error: the model has no operator and no kind of operator `ad` "
        "[unknown-operator]\n"
        "hint: did you mean `add`?"
    )


def test_one_of_several_instances_can_be_required() -> None:
    graph = place(
        chips.RESIDUAL, chips.setting(chips.quad()), chips.BACKENDS, Rules(require={"conv": "conv[2]"})
    )
    assert {instances(graph)[id] for id in "abc"} == {"conv[2]"}


def test_a_requirement_that_cannot_be_honoured_is_an_error() -> None:
    assert refusal(chips.RESIDUAL, Rules(require={"d": "npu", "e": "conv"})) == (
        "operator d: error: a rule requires `add` on `npu`, which refuses it: "
        "`npu`: `add` is not among dense [placement-not-honoured]\n"
        "hint: drop the rule, or require a target that supports the operator\n"
        "\n"
        "operator e: error: a rule requires `dense` on `conv`, which refuses it: "
        "`conv`: `dense` is not among conv [placement-not-honoured]\n"
        "hint: drop the rule, or require a target that supports the operator"
    )


def test_a_rule_must_name_what_exists() -> None:
    assert refusal(chips.RESIDUAL, Rules(require={"add": "dps"}, forbid=(("convv", "host"),))) == (
        "rule `require add = dps`: error: this SoC has no target_arch and no instance `dps` "
        "[unknown-target]\n"
        "hint: did you mean `dsp`?\n"
        "\n"
        "rule `forbid convv = host`: error: the model has no operator and no kind of operator "
        "`convv` [unknown-operator]\n"
        "hint: did you mean `conv`?"
    )


def test_an_operator_that_nothing_supports_is_refused_with_every_reason() -> None:
    assert refusal(chips.CHAIN, Rules(forbid=(("soft", "host"), ("soft", "dsp")))) == (
        "operator c: error: nothing in this SoC can run `soft`: `host`: a rule forbids it; "
        "`dsp`: a rule forbids it; `conv`: `soft` is not among conv; "
        "`npu`: `soft` is not among dense [unsupported-operator]"
    )


def test_a_target_arch_without_backend_is_refused_everything() -> None:
    known = {"host": chips.BACKENDS["host"]}
    graph = place(chips.RESIDUAL, Setting.of(chips.EDGE, known), known)
    assert set(instances(graph).values()) == {"host"}
    assert graph.choice("a").candidates[2].refusal == "no backend `conv` is installed"


def test_whole_operands_must_fit_the_memory_of_a_dsp() -> None:
    model = chips.model(("a", "soft", ("x",), 20_000), inputs={"x": 20_000})
    assert edge(model).choice("a").candidates[1].refusal == "its operands need 40,000 B, `tcm` has 32,768 B"


def test_a_missing_link_is_named() -> None:
    paths = tuple(p for p in chips.COPIES if (p.source, p.target) != ("npu_out", "sram"))
    graph = place(chips.RESIDUAL, chips.setting(evolve(chips.EDGE, copies=paths)), chips.BACKENDS)
    assert (
        graph.choice("e").candidates[3].refusal
        == "no copy path leads from `npu_inp`, `npu_out` to `ddr`, `sram`"
    )
    paths = tuple(p for p in chips.COPIES if p.target != "tcm")
    graph = place(chips.RESIDUAL, chips.setting(evolve(chips.EDGE, copies=paths)), chips.BACKENDS)
    assert graph.choice("d").candidates[1].refusal == "no copy path leads from `ddr`, `sram` to `tcm`"


def test_ties_go_to_the_first_of_the_partitioning_order() -> None:
    free = evolve(chips.EDGE, copies=tuple(evolve(p, bandwidth=None, setup=0.0) for p in chips.COPIES))
    backends = {name: evolve(backend, cost=lambda _: 1e-6) for name, backend in chips.BACKENDS.items()}
    graph = place(chips.RESIDUAL, Setting.of(free, backends), backends)
    assert instances(graph) == {"a": "conv", "b": "conv", "c": "conv", "d": "dsp", "e": "npu"}
    assert graph.choice("a").reason == "as cheap as on `host`, first in the partitioning order"
    graph = place(chips.RESIDUAL, Setting.of(free, backends), backends, order=("host",))
    assert set(instances(graph).values()) == {"host"}


def test_copies_count() -> None:
    """A dsp that is a little faster is not worth the way there and back for one operator, but for a run of
    them.
    """
    backends = _with_costs({"host": 20e-6, "dsp": 12e-6})
    rows = [(f"n{n}", "soft", (f"n{n - 1}" if n else "x",), 2000) for n in range(3)]
    one, run = chips.model(rows[0], inputs={"x": 2000}), chips.model(*rows, inputs={"x": 2000})
    assert set(instances(place(one, Setting.of(chips.EDGE, backends), backends)).values()) == {"host"}
    graph = place(run, Setting.of(chips.EDGE, backends), backends)
    assert set(instances(graph).values()) == {"dsp"}
    assert graph.choice("n1").reason == "cheapest: 12 us vs 29 us on `host`"


@st.composite
def models(draw: st.DrawFn) -> Model:
    rows: list[tuple[str, str, tuple[str, ...], int]] = []
    names = ["x"]
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(("conv", "dense", "soft", "add")))
        inputs = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
        rows.append((f"n{number}", kind, inputs, draw(st.sampled_from((64, 1024, 8192)))))
        names.append(f"n{number}")
    return chips.model(*rows, inputs={"x": 1024}, weights=128)


@settings(max_examples=40, deadline=None)
@given(models(), st.sampled_from((20e-6, 60e-6)), st.sampled_from((30e-6, 100e-6)))
def test_the_search_finds_the_cheapest_placement(model: Model, dsp: float, host: float) -> None:
    backends = _with_costs({"host": host, "dsp": dsp, "conv": 5e-6, "npu": 4e-6})
    wanted = PlacementTask(
        model=model,
        setting=Setting.of(chips.EDGE, backends),
        backends=backends,
        rules=Rules(),
        order=chips.EDGE.partitioning,
    )
    problem = _problem(wanted, CandidateTable(wanted))
    found = cheapest_chain(problem)
    assert found is not None
    ids = [op.id for op in problem.order]
    every = (
        dict(zip(ids, groups, strict=True)) for groups in product(range(len(problem.groups)), repeat=len(ids))
    )
    assert total(problem, found) == min(
        cost for groups in every if (cost := total(problem, groups)) is not None
    )


def _with_costs(seconds: Mapping[str, float]) -> dict[str, Backend]:
    def cost(question: Question) -> float:
        return seconds.get(question.instance.arch.name, 1.0)

    return {name: evolve(backend, cost=cost) for name, backend in chips.BACKENDS.items()}


def test_operators_that_are_refused_alike_are_one_mistake() -> None:
    assert refusal(chips.RESIDUAL, Rules(require={"conv": "npu"})) == (
        "operator a, b, c: error: a rule requires `conv` on `npu`, which refuses it: "
        "`npu`: `conv` is not among dense [placement-not-honoured]\n"
        "hint: drop the rule, or require a target that supports the operator"
    )
