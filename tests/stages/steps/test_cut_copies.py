"""Copies in pieces: the same bytes, never a slower run, and a tensor that is on its way while it is made."""

from random import Random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.model import Model
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.items import Transfer
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.cut_copies import cut_copies
from target_arch.stages.steps.fit import fit_memory
from target_arch.stages.steps.list_order import list_orders, problem
from target_arch.stages.steps.order import steps_of
from target_arch.stages.steps.overlap import overlapped
from target_arch.stages.steps.simulation.replay import replay
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered, models
from tests.stages.simulator import Simulator, random_inputs, reference


def chip(setup: float, bandwidth: float, max_bytes: int | None = None) -> SoC:
    copies = tuple(
        evolve(path, setup=setup, bandwidth=bandwidth, max_bytes=max_bytes) if path.is_async else path
        for path in chips.EDGE.copies
    )
    return evolve(chips.EDGE, copies=copies)


def work_of(model: Model, soc: SoC, tiles: int, rules: Rules) -> PartialLowering:
    result = lowered(model, soc, chips.lowerer(soc, tiles), rules)
    return PartialLowering(setting=chips.setting(soc), graph=result.graph, kernels=result.kernels)


WISHES = {"conv": "conv", "dense": "npu", "soft": "dsp", "add": "dsp"}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), st.sampled_from((2, 4)), st.sampled_from((0.0, 1e-8)), st.integers(0, 9))
def test_pieces_carry_the_same_bytes_and_no_run_is_slower(
    model: Model, tiles: int, setup: float, seed: int
) -> None:
    rules = Rules(require={op.id: WISHES[op.kind] for op in model.operators if op.kind in WISHES})
    soc = chip(setup, 2e7)
    try:
        work = work_of(model, soc, tiles, rules)
    except DoesNotFitError:
        return
    settled, times = fit_memory(work), Times(work)
    found = overlapped(work, settled)
    plain, *_ = list_orders(work, problem(work, settled.program, times))
    uncut = replay(steps_of(work, plain, settled.homes, times, crowded=True), times, "host").makespan
    alone = replay(settled.steps, times, "host").makespan
    assert found.execution is not None
    assert found.execution.makespan * PICO <= min(uncut, alone) * PICO + 1
    random, inputs = Random(seed), random_inputs(model, seed)
    for late in (lambda: True, lambda: False, lambda: random.random() < 0.5):
        assert Simulator(found.steps, found.plan, model, late, seed).run(inputs) == reference(model, inputs)


def test_a_tensor_is_on_its_way_while_it_is_made() -> None:
    """Four tiles of 100 us each, each copied out in 10 us; to the DSP each in 40 us more, beside the next."""
    model = chips.model(("a", "conv", ("x",), 2048), ("b", "soft", ("a",), 2048), inputs={"x": 2048})
    soc = chip(0.0, 2048 / 40e-6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(chips.SPEED, "conv", 400e-6)
        work = work_of(model, soc, 4, Rules(require={"a": "conv", "b": "dsp"}))
        settled, times = fit_memory(work), Times(work)
        cut = cut_copies(settled.program, times)
        found = overlapped(work, settled)
    pieces = [item.pieces for item in cut.items if isinstance(item, Transfer)]
    to_dsp = [source for ((source, target),) in pieces if target.of == "a@tcm"]
    assert [(part.offset, part.bytes) for part in to_dsp] == [(0, 512), (512, 512), (1024, 512), (1536, 512)]
    assert found.execution is not None
    ends = {span.what: span.end for span in found.execution.spans if span.what in ("a", "a@tcm")}
    assert ends["a@tcm"] == pytest.approx(ends["a"] + 20e-6)


def test_pieces_are_worth_their_set_up() -> None:
    """A path that takes 2 us for any copy: the moves of 512 B take less."""
    model = chips.model(("a", "conv", ("x",), 2048), ("b", "soft", ("a",), 2048), inputs={"x": 2048})
    work = work_of(model, chips.EDGE, 4, Rules(require={"a": "conv", "b": "dsp"}))
    program = fit_memory(work).program
    assert cut_copies(program, Times(work)) is program
