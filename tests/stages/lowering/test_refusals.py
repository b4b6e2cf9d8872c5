"""A refusal for memory is a proof: constants on their way, plans and whole placements climb, too."""

import pytest
from attrs import evolve

from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model
from target_arch.plan.steps import Copy
from target_arch.soc.model import SoC
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from tests.stages import chips
from tests.stages.lowering.refusals import Case, judged
from tests.stages.simulator import Simulator, random_inputs, reference


def little(sram: int, alignment: int = 1) -> SoC:
    """The small chip with so many KiB of SRAM, through which all constants go, at aligned addresses."""
    memories = (evolve(m, size=sram * chips.KIB) if m.name == "sram" else m for m in chips.MEMORIES)
    return evolve(
        chips.EDGE,
        memories=tuple(memories),
        copies=(
            evolve(chips.COPIES[0], alignment=alignment),
            *(path for path in chips.COPIES if path.source != "ddr"),
        ),
        modes=(evolve(chips.MODE, workspace=("sram",)),),
    )


def lowered(model: Model, soc: SoC, tiles: int = 2) -> Lowered:
    names = chips.codegens(soc)
    return lower_in_order(
        setting=chips.setting(soc),
        place=lambda wanted: place(model, chips.setting(soc), chips.BACKENDS, wanted),
        order=lambda graph: lowering_order(graph, soc, names),
        lower=chips.lowerer(soc, tiles),
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


def test_constants_on_their_way_go_in_pieces_where_they_have_no_room() -> None:
    soc = little(4)
    made = lowered(HEAVY, soc, tiles=1)
    assert (made.attempts, set(where(made).values())) == ((), {"conv"})
    rings = [buffer for buffer in made.plan.buffers if ".ring." in buffer.name]
    assert [(b.name, b.bytes) for b in rings[:2]] == [("p0.ring.sram.0", 512), ("p0.ring.sram.1", 512)]
    assert not any(buffer.name == "a.w@sram" for buffer in made.plan.buffers)
    inputs = random_inputs(HEAVY, 1)
    for late in (True, False):
        run = Simulator(made.steps, made.plan, HEAVY, lambda late=late: late, 2)  # type: ignore[misc]
        assert run.run(inputs) == reference(HEAVY, inputs)


def test_every_piece_matters() -> None:
    model = chips.model(("a", "conv", ("x",), 4096), inputs={"x": 512}, weights=4096)
    made, inputs = lowered(model, little(4), tiles=1), random_inputs(model, 1)
    expected = reference(model, inputs)
    assert sum(isinstance(step, Copy) for step in made.steps.steps) == 2 + 2 * 8
    for number, step in enumerate(made.steps.steps):
        if isinstance(step, Copy):
            run = Simulator(made.steps, made.plan, model, lambda: True, 2)
            assert run.run(inputs, skipped=number) != expected, f"step {number} may be left out"


def test_operators_whose_constants_no_path_carries_in_pieces_move_all_at_once() -> None:
    made = lowered(HEAVY, little(3, alignment=1024))
    assert [(a.kind, a.operator, a.instance, a.outcome) for a in made.attempts] == [
        ("re-place", id, "conv", "on `host`") for id in ("a", "b", "c")
    ]
    assert made.attempts[0].reason == (
        "pool `sram` needs 5,120 B, 3,072 B are available (these steps need at least 5,120 B); "
        "alive there: `a.w@sram` 4,096 B, `x@sram` 1,024 B"
    )
    assert lowered(HEAVY, little(7, alignment=1024)).attempts == (), "where they fit, they stay"


def test_only_operators_with_large_constants_move() -> None:
    tensors = {**HEAVY.tensors, "b.w": chips.tensor("b.w", 1024, constant=True)}
    made = lowered(evolve(HEAVY, tensors=tensors), little(3, alignment=1024))
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
    """The sample of `tests.stages.lowering.refusals` that takes a second or two."""
    assert judged(Case.random(number)).wrong == ()
