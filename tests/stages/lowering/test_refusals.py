"""A refusal for memory is a proof: constants on their way, plans and whole placements climb, too."""

import pytest
from attrs import evolve

from benchmarks.refusals import Case, judged
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model
from target_arch.soc.model import SoC
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from tests.stages import chips


def little(sram: int) -> SoC:
    """The small chip with so many KiB of SRAM, through which all constants go."""
    memories = (evolve(m, size=sram * chips.KIB) if m.name == "sram" else m for m in chips.MEMORIES)
    return evolve(
        chips.EDGE,
        memories=tuple(memories),
        copies=tuple(c for c in chips.COPIES if c.source != "ddr" or c.target == "sram"),
        modes=(evolve(chips.MODE, workspace=("sram",)),),
    )


def lowered(model: Model, soc: SoC, rules: Rules | None = None) -> Lowered:
    names = chips.codegens(soc)
    return lower_in_order(
        setting=chips.setting(soc),
        place=lambda wanted: place(model, chips.setting(soc), chips.BACKENDS, wanted),
        order=lambda graph: lowering_order(graph, soc, names),
        lower=chips.lowerer(soc),
        rules=rules or Rules(),
    )


def where(made: Lowered) -> dict[str, str]:
    return {choice.operator: choice.instance for choice in made.graph.choices}


HEAVY = chips.model(
    ("a", "conv", ("x",), 1024),
    ("b", "conv", ("a",), 1024),
    ("c", "conv", ("b",), 1024),
    inputs={"x": 1024},
    weights=4096,
)


def test_operators_whose_constants_crowd_a_memory_on_their_way_move_all_at_once() -> None:
    made = lowered(HEAVY, little(3))
    assert [(a.kind, a.operator, a.instance, a.outcome) for a in made.attempts] == [
        ("re-place", id, "conv", "on `host`") for id in ("a", "b", "c")
    ]
    assert made.attempts[0].reason == (
        "pool `sram` needs 5,120 B, 3,072 B are available (lower bound 5,120 B); "
        "alive there: `a.w@sram` 4,096 B, `x@sram` 1,024 B"
    )
    assert lowered(HEAVY, little(7)).attempts == (), "where they fit, they stay"


def test_only_operators_with_large_constants_move() -> None:
    tensors = {**HEAVY.tensors, "b.w": chips.tensor("b.w", 512, constant=True)}
    made = lowered(evolve(HEAVY, tensors=tensors), little(3))
    assert where(made) == {"a": "host", "b": "conv", "c": "host"}


def test_at_last_the_whole_model_is_placed_on_fewer_target_archs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host computes in place; the engine reads one tensor of the SRAM while it writes another."""
    monkeypatch.setitem(chips.KINDS, "conv", ("soft",))
    monkeypatch.setitem(chips.KINDS, "dsp", ())
    model = chips.model(("a", "soft", ("x",), 2048), inputs={"x": 2048})
    made = lowered(model, little(2))
    assert [str(attempt) for attempt in made.attempts] == [
        "* does not fit on `dsp, conv, npu, host`: pool `sram` needs 4,096 B, 2,048 B are available; "
        "targets: on conv, host",
        "* does not fit on `conv, host`: pool `sram` needs 4,096 B, 2,048 B are available; targets: on host",
    ]
    assert where(made) == {"a": "host"}
    assert lowered(model, little(4)).attempts == ()


@pytest.mark.parametrize("number", range(4))
def test_what_fits_in_a_simple_placement_is_not_refused(number: int) -> None:
    """The sample of `benchmarks.refusals` that takes a second or two."""
    assert judged(Case.random(number)).wrong == ()
