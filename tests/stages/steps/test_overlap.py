"""What happens at the same time: it takes as long as is said, is right in whatever order, and fits."""

from random import Random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.backend.planner import Algorithm
from target_arch.plan.execution import Activity, Execution
from target_arch.plan.memory import Arena
from target_arch.plan.model import Model
from target_arch.plan.partitions import PlacementFacts
from target_arch.plan.printed import text
from target_arch.plan.steps import Copy, Dispatch, Load, StepOrder, Wait
from target_arch.soc.model import SoC
from target_arch.stages.check.plan import check
from target_arch.stages.errors import CheckError, DoesNotFitError
from target_arch.stages.lowering.ladder import Lowered
from target_arch.stages.memory.allocate import allocate, capacities
from target_arch.stages.memory.planner import Planner
from target_arch.stages.paths.routes import Routes
from target_arch.stages.program.dependences import dependences
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps import list_order
from target_arch.stages.steps.fit import fit_memory
from target_arch.stages.steps.order import order_steps, steps_of
from target_arch.stages.steps.overlap import FULL, overlapped
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered, models
from tests.stages.simulator import Simulator, random_inputs, reference

SOCS = st.sampled_from((chips.EDGE, chips.quad()))
BRANCHES = chips.model(
    *((f"b{n}", "conv", ("x",), 4096) for n in range(4)),
    ("s", "add", ("b0", "b1"), 4096),
    ("t", "add", ("b2", "b3"), 4096),
    inputs={"x": 4096},
    weights=1024,
)


def work_of(result: Lowered, soc: SoC) -> PartialLowering:
    return PartialLowering(setting=chips.setting(soc), graph=result.graph, kernels=result.kernels)


def executed(result: Lowered) -> Execution:
    assert result.execution is not None
    return result.execution


def simulated(result: Lowered, soc: SoC) -> float:
    """How long the steps take. An operator's time is shared by its calls."""
    memories = {buffer.name: buffer.memory for buffer in result.steps.buffers}
    routes = Routes(soc, ())
    calls = [s.operator for s in result.steps.steps if isinstance(s, Dispatch)]
    happened: dict[str, float] = {}
    ends: dict[str, float] = {}
    now = 0.0
    for step in result.steps.steps:
        if isinstance(step, Wait):
            now = max(now, happened[str(step.event)])
        elif isinstance(step, Copy | Dispatch):
            if isinstance(step, Copy):
                paths = routes.direct(memories[step.source.of], memories[step.target.of])
                takes = routes.seconds(
                    next(p for p in paths if p.engine == step.engine), step.source.bytes, 1
                )
            else:
                takes = chips.SPEED[step.instance.partition("[")[0]] / calls.count(step.operator)
            if step.event is None:
                now += takes
            else:
                ends[step.event.timeline] = max(now, ends.get(step.event.timeline, 0.0)) + takes
                happened[str(step.event)] = ends[step.event.timeline]
    return now


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), SOCS, st.sampled_from((1, 2, 4)))
def test_the_run_takes_what_its_steps_take(model: Model, soc: SoC, tiles: int) -> None:
    result = lowered(model, soc, chips.lowerer(soc, tiles))
    found = executed(result)
    assert found.makespan == pytest.approx(simulated(result, soc), rel=1e-6)
    assert found.makespan == max(span.end for span in found.spans)
    assert found.bound <= found.makespan <= found.alone


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), SOCS, st.sampled_from((1, 2)), st.integers(0, 99))
def test_whatever_keeps_the_dependences_is_right(model: Model, soc: SoC, tiles: int, seed: int) -> None:
    """The items in a random order, on a chip with room for all of it."""
    soc = evolve(soc, memories=tuple(evolve(memory, size=memory.size * 64) for memory in soc.memories))
    work = work_of(lowered(model, soc, chips.lowerer(soc, tiles)), soc)
    residence = fit_memory(work).homes
    program, random = join(work, residence), Random(seed)
    before = dependences(program)
    order: list[int] = []
    left = set(range(len(before)))
    while left:
        able = [number for number in sorted(left) if not left.intersection(before[number])]
        order.append(random.choice(able))
        left.remove(order[-1])
    shuffled = evolve(program, items=tuple(program.items[number] for number in order))
    steps = steps_of(work, shuffled, evolve(residence, drained=()), Times(work))
    plan = allocate(steps.buffers, capacities(soc))
    inputs = random_inputs(model, seed)
    for late in (lambda: True, lambda: False, lambda: random.random() < 0.5):
        assert Simulator(steps, plan, model, late, seed).run(inputs) == reference(model, inputs)


def most_in_flight(steps: StepOrder, arch: str) -> int:
    """The most instances of a target_arch that were begun and not waited for at any time."""
    flying: dict[str, int] = {}
    most = 0
    for step in steps.steps:
        if isinstance(step, Dispatch) and step.event is not None and step.instance.startswith(arch):
            flying[step.instance] = step.event.value
        if isinstance(step, Wait) and flying.get(step.event.timeline, 0) <= step.event.value:
            flying.pop(step.event.timeline, None)
        most = max(most, len(flying))
    return most


def beside(spans: tuple[Activity, ...], one: str, other: str) -> bool:
    """True where the two do something at the same time."""
    mine = [span for span in spans if span.what == one]
    return any(a.start < b.end and b.start < a.end for a in mine for b in spans if b.what == other)


def test_engines_of_one_kind_work_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chips.SPEED, "conv", 80e-6)
    result = lowered(BRANCHES, chips.quad())
    used = {partition.instance for partition in result.graph.partitions if partition.instance != "host"}
    assert most_in_flight(result.steps, "conv") == len(used) > 2
    found = executed(result)
    assert found.overlap == FULL
    convs = [span for span in found.spans if span.kind == "run" and span.what.startswith("b")]
    assert any(a.start < b.end and b.start < a.end for a in convs for b in convs if a.where != b.where)
    assert found.makespan < found.alone


def test_no_item_begins_long_before_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few partitions there are: with one item at a time, nothing begins early."""
    monkeypatch.setitem(chips.SPEED, "conv", 80e-6)
    usual = executed(lowered(BRANCHES, chips.quad()))
    monkeypatch.setattr(list_order, "NEAR", 1)
    assert usual.makespan < executed(lowered(BRANCHES, chips.quad())).makespan


def test_weights_of_the_next_layer_come_while_this_one_computes() -> None:
    model = chips.model(
        ("a", "conv", ("x",), 1024), ("b", "conv", ("a",), 1024), inputs={"x": 1024}, weights=4096
    )
    found = executed(lowered(model, chips.EDGE))
    assert beside(found.spans, "a", "p1.l_b.w")


def test_the_host_waits_to_start_others_before_it_computes_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a long program it does not."""
    rows = (
        ("long", "relu", ("x",), 1024),
        ("a", "conv", ("x",), 1024),
        ("b", "soft", ("a",), 1024),
        ("end", "relu", ("long", "b"), 1024),
    )
    model = chips.model(*rows, inputs={"x": 1024}, weights=64)
    found = executed(lowered(model, chips.EDGE))
    assert beside(found.spans, "long", "b")
    monkeypatch.setattr(list_order, "PATIENCE", 3)
    assert not beside(executed(lowered(model, chips.EDGE)).spans, "long", "b")


def test_calls_that_nobody_has_waited_for_have_the_bytes_of_those_before() -> None:
    """The host computes `e` from `y` while operators are in the queue of the DSP, whose first one is over."""
    model = chips.model(
        ("a", "add", ("y", "x"), 100),
        ("b", "soft", ("a",), 64),
        ("c", "soft", ("b",), 100),
        ("d", "soft", ("c",), 64),
        ("e", "soft", ("y",), 64),
        inputs={"x": 512, "y": 128},
    )
    result = lowered(model, chips.EDGE)
    inputs, late = random_inputs(model, seed=1), iter([False, False, False])
    simulator = Simulator(result.steps, result.plan, model, lambda: next(late, True))
    assert result.plan.offsets["a@tcm"] == result.plan.offsets["c@tcm"]
    assert simulator.run(inputs) == reference(model, inputs)


def test_what_fits_one_after_the_other_only_runs_so_and_says_why() -> None:
    """Each layer takes the whole memory of the engine."""
    model = chips.model(
        ("a", "conv", ("x",), 1024), ("b", "conv", ("a",), 1024), inputs={"x": 1024}, weights=14 * 1024
    )
    soc = chips.EDGE
    result = lowered(model, soc)
    assert not beside(executed(result).spans, "a", "p1.l_b.w")
    assert result.plan.peaks[Arena("bram")] <= soc.memory("bram").size


@pytest.mark.parametrize("arena", [Arena("sram"), Arena("sram", constant=True)], ids=str)
def test_the_order_of_the_program_stays_where_an_overlap_does_not_fit(arena: Arena) -> None:

    def full(buffers: object) -> dict[str, int]:
        raise DoesNotFitError(pool=arena, step=0, needed=2, available=1, bound=2, alive=())

    result = lowered(BRANCHES, chips.quad())
    work = work_of(result, chips.quad())
    settled = fit_memory(work)
    placed = Algorithm(name="full", description="a test", pack=full)
    never = Planner(algorithm="full", algorithms={"full": placed})
    found = overlapped(evolve(work, setting=evolve(work.setting, planner=never)), settled)
    assert (found.steps, found.plan) == (settled.steps, settled.plan)
    assert found.execution is not None
    assert found.execution.overlap == (
        f"one partition after the other, as more at the same time does not fit `{arena}`"
    )
    assert found.execution.makespan == found.execution.alone


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(models(), SOCS, st.integers(2, 8))
def test_more_at_the_same_time_never_takes_more_than_there_is(model: Model, soc: SoC, kib: int) -> None:
    """On a chip whose memories are as small as one partition after the other needs, with every operand apart:
    placement does not foresee who takes whose place.
    """
    result = lowered(model, soc)
    work = work_of(result, soc)
    plan = fit_memory(work).plan
    peaks = {arena: max(plan.peaks[arena], plan.bounds[arena]) for arena in plan.peaks}

    def tight(name: str, size: int) -> int:
        return min(size, -(-(peaks.get(Arena(name), 0) + kib * 64) // 64) * 64) if name != "ddr" else size

    small = evolve(soc, memories=tuple(evolve(m, size=tight(m.name, m.size)) for m in soc.memories))
    again = lowered(model, small)
    assert all(again.plan.peaks.get(Arena(m.name), 0) <= m.size for m in small.memories)
    assert executed(again).makespan <= executed(again).alone


def test_the_order_of_the_program_needs_no_overlap() -> None:
    work = work_of(lowered(BRANCHES, chips.quad()), chips.quad())
    assert most_in_flight(order_steps(work, fit_memory(work).homes), "conv") == 1


def test_a_run_is_one_line() -> None:
    found = Execution(makespan=2e-3, bound=1.6e-3, alone=3e-3, overlap="o", spans=())
    assert text.simulated_run(found) == (
        "simulated run: 2 ms, 25.0% above the lower bound of 1.6 ms for any order of its steps; "
        "3 ms one after the other; o\n"
    )
    shared = evolve(found, division_bound=0.4e-3, busy=1.25, instances=4)
    assert text.simulated_run(shared) == (
        "simulated run: 2 ms, 25.0% above the lower bound of 1.6 ms for any order of its steps and 400.0% "
        "above that of 400 us for any division of its operators over this chip; "
        "1.25 of 4 instances busy on average; 3 ms one after the other; o\n"
    )
    assert text.simulated_run(evolve(found, makespan=1.6e-3, alone=1.6e-3), lowered=False) == (
        "expected run, before lowering: 1.6 ms; o\n"
    )
    facts = PlacementFacts(method="HEFT", search_makespan=2e-3, search_bound=1e-3, load=0.5)
    said = text.simulated_run(found, facts)
    assert said.endswith("; o; placement found by HEFT; before the first run 500 ms to load\n")
    loaded = text.simulated_run(found, evolve(facts, load_bytes=2048))
    assert loaded.endswith("; before the first run 500 ms to load 2,048 B\n")
    fast = text.simulated_run(found, evolve(facts, load=0.0, load_bytes=2048))
    assert fast.endswith("; before the first run 2,048 B to load\n")


def test_the_search_is_judged_in_its_own_model() -> None:
    facts = PlacementFacts(method="HEFT", search_makespan=2e-3, search_bound=1e-3)
    assert text.search(facts) == (
        "search: 2 ms, 100.0% above the lower bound of 1 ms, both of the search model; found by HEFT\n"
    )
    assert text.search(evolve(facts, search_bound=2e-3)).startswith(
        "search: 2 ms, at the lower bound of 2 ms,"
    )


@settings(max_examples=15, deadline=None)
@given(models(), SOCS, st.sampled_from((1, 2)))
def test_no_wait_may_be_left_out(model: Model, soc: SoC, tiles: int) -> None:
    """Something else in its place changes no number; what is found is what the wait was for."""
    result = lowered(model, soc, chips.lowerer(soc, tiles))
    steps, blank = result.steps.steps, Load(instance="conv", process="bitstream")
    for number in [number for number, step in enumerate(steps) if isinstance(step, Wait)]:
        without = evolve(result.steps, steps=(*steps[:number], blank, *steps[number + 1 :]))
        with pytest.raises(CheckError) as caught:
            check(soc, without, result.plan)
        assert {fault.rule for fault in caught.value.diagnostics} - {"late-load"}, number
