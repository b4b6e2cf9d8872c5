"""The loop over everything: simulated runs are right whatever the timing, and what does not fit moves or is
refused.
"""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.steps import Copy, Load
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering.ladder import Lower, Lowered, lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting
from tests.stages import chips
from tests.stages.simulator import Simulator, random_inputs, reference


def lowered(
    model: Model,
    soc: SoC,
    lower: Lower | None = None,
    rules: Rules | None = None,
    setting: Setting | None = None,
) -> Lowered:
    names = chips.codegens(soc)
    return lower_in_order(
        setting=setting or chips.setting(soc),
        place=lambda wanted: place(model, chips.setting(soc), chips.BACKENDS, wanted),
        order=lambda graph: lowering_order(graph, soc, names),
        lower=lower or chips.lowerer(soc),
        rules=rules or Rules(),
    )


def placements(result: Lowered) -> dict[str, str]:
    return {choice.operator: choice.instance for choice in result.graph.choices}


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Random graphs of tensors of 512 bytes, so that tiles of operands are tiles of results."""
    rows: list[tuple[str, str, tuple[str, ...], int]] = []
    names = ["x", "y"]
    for number in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(("conv", "dense", "soft", "add", "other")))
        count = 2 if kind == "add" else 1
        inputs = tuple(draw(st.sampled_from(names[-4:])) for _ in range(count))
        rows.append((f"n{number}", kind, inputs, 512))
        names.append(f"n{number}")
    return chips.model(*rows, inputs={"x": 512, "y": 512}, weights=64)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), st.sampled_from((chips.EDGE, chips.quad())), st.sampled_from((1, 2, 4)), st.integers(0, 9))
def test_simulated_runs_equal_the_reference(model: Model, soc: SoC, tiles: int, seed: int) -> None:
    random = Random(seed)
    arch = {"conv": "conv", "dense": "npu", "soft": "dsp", "add": "dsp"}
    wishes = {op.id: arch[op.kind] for op in model.operators if op.kind in arch and random.random() < 0.7}
    known = {a.name for a in soc.archs}
    rules = Rules(require={id: target for id, target in wishes.items() if target in known})
    result = lowered(model, soc, chips.lowerer(soc, tiles), rules)
    inputs = random_inputs(model, seed)
    expected = reference(model, inputs)
    for late in (lambda: True, lambda: False, lambda: random.random() < 0.5):
        assert Simulator(result.steps, result.plan, model, late, seed).run(inputs) == expected


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), st.sampled_from((chips.EDGE, chips.quad())), st.sampled_from((1, 2)))
def test_no_copy_is_redundant(model: Model, soc: SoC, tiles: int) -> None:
    result = lowered(model, soc, chips.lowerer(soc, tiles))
    inputs, expected = random_inputs(model, 1), reference(model, random_inputs(model, 1))
    for number, step in enumerate(result.steps.steps):
        if isinstance(step, Copy):
            simulator = Simulator(result.steps, result.plan, model, lambda: True, 2)
            assert simulator.run(inputs, skipped=number) != expected, f"step {number} may be left out"


def test_all_four_kinds_work_and_are_loaded_first() -> None:
    result = lowered(chips.RESIDUAL, chips.EDGE)
    assert set(placements(result).values()) == {"conv", "dsp", "npu"}
    assert [step.instance for step in result.steps.steps if isinstance(step, Load)] == ["dsp", "conv", "npu"]
    assert not any(isinstance(step, Load) for step in result.steps.steps[3:])


def test_budgets_say_what_was_left_and_what_was_used() -> None:
    result = lowered(chips.RESIDUAL, chips.EDGE)
    budget = result.budgets[0]
    pool = budget.sites["a"][0]
    assert (pool.memory, pool.live, pool.remaining, pool.guaranteed) == ("bram", 0, 16384, 16384)
    assert pool.used == 256 + 2 * (1024 + 2048)


def test_c_is_lowered_before_any_accelerator() -> None:
    turns: list[str] = []

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        turns.append(partition.instance)
        return chips.lowerer(chips.EDGE)(graph, partition, given)

    lowered(chips.RESIDUAL, chips.EDGE, lower)
    assert turns == ["dsp", "conv", "conv", "conv", "npu"]


def test_what_fits_nowhere_on_an_accelerator_goes_elsewhere_and_is_told() -> None:
    turns: list[str] = []

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        turns.append(f"{partition.instance}:{','.join(op.id for op in partition.operators)}")
        if partition.instance == "conv" and partition.operators[0].id == "b":
            raise DoesNotFit("b", "bram", 20_000, 16_384)
        return chips.lowerer(chips.EDGE)(graph, partition, given)

    result = lowered(chips.RESIDUAL, chips.EDGE, lower)
    assert placements(result)["b"] == "host"
    assert [str(attempt) for attempt in result.attempts] == [
        "b does not fit on `conv`: b needs 20,000 B of `bram`, 16,384 B are available; re-place: on `host`"
    ]
    assert result.graph.choice("b").reason == "only `host` can take it; does not fit on `conv`"
    refusal = next(c.refusal for c in result.graph.choice("b").candidates if c.instance == "conv")
    assert refusal == "does not fit: b needs 20,000 B of `bram`, 16,384 B are available"
    assert turns == ["dsp:d", "conv:a", "conv:b", "conv:c", "npu:e", "host:b"]


def test_identical_instances_are_given_up_together_when_only_the_size_is_in_the_way() -> None:
    soc = chips.quad()

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if partition.instance.startswith("conv"):
            raise DoesNotFit(
                partition.operators[0].id, soc.instance(partition.instance).memory[0], 99_999, 16_384
            )
        return chips.c_kernel(partition)

    result = lowered(chips.RESIDUAL, soc, lower)
    assert [attempt.operator for attempt in result.attempts] == ["a", "b", "c"]
    assert set(placements(result).values()) == {"host"}


def test_two_instances_run_different_programs() -> None:
    result = lowered(chips.RESIDUAL, chips.quad())
    assert [placements(result)[id] for id in ("a", "b", "c")] == ["conv[0]", "conv[1]", "conv[2]"]


def test_a_model_that_fits_nowhere_is_refused_with_everything_a_reader_needs() -> None:
    rows = [("a", "other", ("x",), 900_000), ("b", "other", ("a",), 500_000)]
    said = (
        "step 1 (dispatch b on host): error: pool `ddr` needs 1,400,000 B, 1,048,576 B are available "
        "(these steps need at least 1,400,000 B); alive there: `a@ddr` 900,000 B, `b@ddr` 500,000 B "
        "[does-not-fit]\n"
    )
    with pytest.raises(DoesNotFitError) as caught:
        lowered(chips.model(*rows, ("c", "other", ("b",), 64), inputs={"x": 1000}), chips.ALONE)
    assert str(caught.value) == f"{said}hint: `ddr` 344 KiB larger"
    with pytest.raises(DoesNotFitError) as caught:
        lowered(chips.model(*rows, inputs={"x": 1000}), chips.ALONE)
    nothing = "no single change was found that makes it fit: not even `ddr` 11,008 KiB larger"
    assert str(caught.value) == f"{said}hint: {nothing}", "the output must be in `sram`, which is small"


def test_a_required_placement_that_does_not_fit_is_refused_and_not_changed_in_silence() -> None:
    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if partition.instance == "conv":
            raise DoesNotFit(partition.operators[0].id, "bram", 20_000, 16_384)
        return chips.c_kernel(partition)

    with pytest.raises(DoesNotFitError) as caught:
        lowered(
            chips.RESIDUAL,
            chips.EDGE,
            lower,
            Rules(require={"b": "conv"}, forbid=(("a", "conv"), ("c", "conv"))),
        )
    assert str(caught.value) == (
        "partition p1 (b on conv): error: pool `bram` needs 20,000 B, 16,384 B are available; "
        "alive there: `b` 20,000 B [does-not-fit]\n"
        "tried: note: re-place (4)\n"
        "tried on dsp, conv, npu, host: note: pool `bram` needs 20,000 B, 16,384 B are available\n"
        "tried on conv, npu, host: note: pool `bram` needs 20,000 B, 16,384 B are available\n"
        "tried on dsp, conv, host: note: pool `bram` needs 20,000 B, 16,384 B are available\n"
        "tried on conv, host: note: pool `bram` needs 20,000 B, 16,384 B are available\n"
        "hint: `b` on `host`"
    )
