"""Frames that take turns on equal cores: which cores those are, and who computes what of a frame."""

from collections import Counter, defaultdict
from itertools import groupby

import pytest
from attrs import evolve

from target_arch.plan.frames import FramePipeline
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model
from target_arch.plan.steps import Dispatch, Wait
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.soc.model import Cores, LoadProcess, SoC
from target_arch.stages.check.frames import check_frames
from target_arch.stages.frames.ahead import AHEAD
from target_arch.stages.frames.cores import core_pools, rotating, spare_cores
from target_arch.stages.frames.parts import parts_of
from target_arch.stages.frames.pipelined import pipelined
from target_arch.stages.frames.problem import FrameProblem, frame_problem
from target_arch.stages.frames.rotation import rotated
from target_arch.stages.frames.staggered import staggered
from target_arch.stages.lowering.ladder import sizes
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

SOFT = chips.model(
    *((f"n{number}", "soft", (f"n{number - 1}" if number else "x",), 512) for number in range(7)),
    inputs={"x": 512},
)
MIXED = chips.model(
    ("a", "soft", ("x",), 512),
    ("b", "conv", ("a",), 512),
    ("c", "soft", ("b",), 512),
    ("d", "soft", ("c",), 512),
    inputs={"x": 512},
    weights=64,
)


def on_one(model: Model, soc: SoC) -> Lowered:
    """The model on one of the cores, with all of them started."""
    spare = frozenset(spare_cores(soc))
    setting = evolve(chips.setting(soc), started=spare)
    return lowered(model, soc, rules=Rules().in_turn_on(spare), setting=setting)


def in_flight(model: Model, soc: SoC, most: int | None = None) -> FramePipeline:
    """The pipeline, which the checker accepts."""
    run = on_one(model, soc)
    work = PartialLowering(setting=chips.setting(soc), graph=run.graph, kernels=run.kernels)
    found = pipelined(soc, run.steps, run.plan, Times(work), most, 0.0)
    assert found is not None
    known = sizes(run.graph, run.kernels)
    check_frames(soc, found, run.graph, run.kernels, known, (run.steps, run.plan))
    return found


def turns(model: Model, soc: SoC) -> FrameProblem:
    """The problem of frames that take turns on all cores."""
    run = on_one(model, soc)
    work = PartialLowering(setting=chips.setting(soc), graph=run.graph, kernels=run.kernels)
    problem = frame_problem(soc, run.steps, Times(work), run.plan)
    (cores,) = rotating(soc, run.steps, 14)
    return rotated(soc, problem, cores)


def slowly_woken(workers: int) -> SoC:
    """The chip with cores that lose much where they wait for each other."""
    return changed(
        chips.cores(workers), cores=Cores(stack=1024, coherent=True, wake=chips.SPEED["host"] / 20)
    )


def computed(pipeline: FramePipeline) -> dict[int, list[str]]:
    """By round that starts a frame of the table, the instances that compute it."""
    found = defaultdict[int, list[str]](list)
    length = pipeline.round_steps
    for number, step in enumerate(pipeline.order.steps[pipeline.loads :]):
        if isinstance(step, Dispatch):
            turn = number // length
            stage = pipeline.stages[turn % pipeline.kinds * length + number % length]
            found[(turn - stage) % pipeline.rounds].append(step.instance)
    return found


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_each_core_computes_whole_frames(workers: int) -> None:
    soc = chips.cores(workers)
    pipeline = in_flight(SOFT, soc)
    cores = pipeline.cores
    assert cores == ("host", *(each.name for each in soc.instances if each.arch.name == "worker"))
    for turn, instances in computed(pipeline).items():
        assert instances == [cores[turn % len(cores)]] * 7
    assert pipeline.period == pytest.approx(7 * chips.SPEED["host"] / len(cores))
    assert (pipeline.bound, pipeline.frames) == (pytest.approx(pipeline.period), len(cores))
    assert pipeline.rounds % len(cores) == 0


def test_a_host_waits_for_a_core_once_a_frame() -> None:
    pipeline = in_flight(SOFT, chips.cores(1))
    waits = [step.event for step in pipeline.order.steps if isinstance(step, Wait)]
    assert len({each.value for each in waits}) == pipeline.rounds // pipeline.kinds


@pytest.mark.parametrize("workers", [1, 3])
def test_a_core_has_its_next_frame_before_it_ends_one(workers: int) -> None:
    """Three calls of the next frame are issued, and the wait for the one before comes after them."""
    pipeline = in_flight(SOFT, slowly_woken(workers))
    issued, total = Counter[str](), 7 * pipeline.rounds // pipeline.kinds
    for step in pipeline.order.steps[pipeline.loads :] * 2:
        if isinstance(step, Dispatch):
            issued[step.instance] += 1
        elif isinstance(step, Wait) and issued[step.event.timeline] > total:
            assert (issued[step.event.timeline] - step.event.value) % total >= 3


def test_cores_begin_apart() -> None:
    problem = turns(SOFT, slowly_woken(3))
    schedule = staggered(problem)
    assert schedule is not None
    begins = sorted(schedule.issues[number] % schedule.period for number in range(0, 28, 7))
    assert begins == [schedule.period * part // 4 for part in range(4)]
    assert schedule.patience == schedule.period // 8


def test_cores_that_begin_apart_have_a_frame_as_one_order() -> None:
    """All calls of a frame on another core come one right after the other."""
    pipeline = in_flight(SOFT, slowly_woken(1))
    steps = pipeline.order.steps[pipeline.loads :]
    orders = [
        len(list(run))
        for core, run in groupby(steps, lambda step: getattr(step, "instance", "host"))
        if core == "worker"
    ]
    assert orders == [7] * (pipeline.rounds // pipeline.kinds)


def test_with_as_many_frames_as_cores_they_wait_for_each_other() -> None:
    """A frame more takes memory: where that is not to be had, cores begin and end together."""
    pipeline = in_flight(SOFT, slowly_woken(1), 2)
    assert (pipeline.frames, pipeline.cores) == (2, ("host", "worker"))
    assert in_flight(SOFT, slowly_woken(1)).frames > 2


def test_cores_that_lose_little_wait_for_each_other() -> None:
    assert staggered(turns(SOFT, chips.cores(1))) is None
    assert in_flight(SOFT, chips.cores(1)).frames == 2


def test_calls_are_issued_as_far_ahead_as_queues_are_deep() -> None:
    """When the host begins a call of its own, the core may have so many of its frame to begin."""
    pipeline = in_flight(SOFT, chips.cores(1))
    own = others = 0
    for step in pipeline.order.steps[pipeline.loads :][: pipeline.round_steps * pipeline.kinds]:
        if isinstance(step, Dispatch):
            own, others = own + (step.instance == "host"), others + (step.instance == "worker")
            assert others <= own + 1 + AHEAD
    assert (own, others) == (7, 7)


def test_what_is_not_for_cores_stays_where_it_is() -> None:
    pipeline = in_flight(MIXED, chips.cores(1))
    assert pipeline.cores == ("host", "worker")
    for turn, instances in computed(pipeline).items():
        assert sorted(set(instances)) == sorted({"conv", pipeline.cores[turn % 2]})
    alone = chips.SPEED["host"] * 3
    assert pipeline.period == pytest.approx(alone / 2, rel=0.05)


def test_frames_with_states_wait_for_each_other() -> None:
    """The next frame reads what the last call of one leaves: no core can begin it before."""
    model = chips.model(
        ("a", "add", ("x", "s"), 512), ("b", "soft", ("a",), 512), inputs={"x": 512, "s": 512}
    )
    states = with_states(model, [StatePair(input=1, output=0)], ("b",))
    pipeline = in_flight(states, chips.cores(1))
    assert pipeline.period >= 2 * chips.SPEED["host"]
    assert staggered(turns(states, slowly_woken(1))) is None


def test_fewer_frames_than_cores_take_turns_on_fewer() -> None:
    assert in_flight(SOFT, chips.cores(3), 2).cores == ("host", "worker[0]")
    assert in_flight(SOFT, chips.cores(3), 1).cores == ()


def test_the_curve_has_what_one_core_does() -> None:
    pipeline = in_flight(SOFT, chips.cores(1))
    one, two = pipeline.curve
    assert (one.frames, two.frames) == (1, 2)
    assert one.period == pytest.approx(2 * two.period)


def test_buffers_that_one_core_alone_touches_have_the_same_bytes() -> None:
    """All seven results of 512 bytes take as much of each core's frame as they do in a run."""
    pipeline, run = in_flight(SOFT, chips.cores(1)), on_one(SOFT, chips.cores(1))
    (peak,) = (peak for arena, peak in pipeline.plan.peaks.items() if str(arena) == "sram")
    (alone,) = (peak for arena, peak in run.plan.peaks.items() if str(arena) == "sram")
    assert alone <= peak <= 6 * 512 + 2 * alone


def changed(soc: SoC, **facts: object) -> SoC:
    """The chip with another kind of workers."""
    archs = tuple(evolve(each, **facts) if each.name == "worker" else each for each in soc.archs)  # type: ignore[arg-type]
    return evolve(soc, archs=archs)


def test_pools_are_of_equal_cores() -> None:
    soc = chips.cores(2)
    assert core_pools(soc) == (("host", "worker[0]", "worker[1]"),)
    assert list(spare_cores(soc)) == ["worker[0]", "worker[1]"]
    cluster = (("worker[0]", "worker[1]"),)
    firmware = LoadProcess(process="firmware", image="w.elf")
    for facts in ({"load": firmware}, {"clock": 2e9}, {"options": {"fast": True}}):
        assert core_pools(changed(soc, **facts)) == cluster
    assert core_pools(changed(soc, load=firmware, buffers={"own": "sram"})) == ()
    assert core_pools(changed(soc, cores=None)) == ()
    assert core_pools(changed(chips.cores(1), clock=2e9)) == ()
    assert core_pools(chips.EDGE) == ()


def test_a_cluster_takes_turns_beside_the_host() -> None:
    soc = changed(chips.cores(2), load=LoadProcess(process="firmware", image="w.elf"))
    spare = frozenset(spare_cores(soc))
    setting = evolve(chips.setting(soc), started=spare)
    rules = evolve(Rules().in_turn_on(spare), require={"*": "worker[0]"})
    run = lowered(SOFT, soc, rules=rules, setting=setting)
    assert list(rotating(soc, run.steps, 14)) == [("worker[0]", "worker[1]")]
    assert list(rotating(soc, run.steps, 1)) == []


def test_cores_that_miss_a_memory_compute_no_frames() -> None:
    soc = chips.cores(1)
    run = on_one(SOFT, soc)
    assert list(rotating(soc, run.steps, 14)) == [("host", "worker")]
    assert list(rotating(changed(soc, memory=("ddr",)), run.steps, 14)) == []
    ddr = evolve(soc.memory("ddr"), observers={})
    unseen = evolve(soc, memories=tuple(ddr if each.name == "ddr" else each for each in soc.memories))
    assert list(rotating(unseen, run.steps, 14)) == [("host", "worker")]
    weights = on_one(chips.model(("a", "dense", ("x",), 512), inputs={"x": 512}, weights=64), soc)
    assert list(rotating(unseen, weights.steps, 14)) == []


def test_a_core_that_was_not_started_computes_no_frames() -> None:
    soc = chips.cores(1)
    run = lowered(SOFT, soc, rules=Rules(forbid=(("*", "worker"),)))
    assert list(rotating(soc, run.steps, 14)) == []


def test_a_core_that_sleeps_is_woken_for_its_first_call() -> None:
    slow = changed(chips.cores(1), cores=Cores(stack=1024, coherent=True, wake=50e-6))
    period, quick = in_flight(SOFT, slow).period, in_flight(SOFT, chips.cores(1)).period
    assert period == pytest.approx(quick + 25e-6)


@pytest.mark.parametrize(
    ("steps", "firsts", "starts", "length"),
    [
        (6, [0], (0,), 6),
        (6, [0, 3], (0, 3), 3),
        (6, [0, 5], (0, 3), 3),
        (6, [0, 1], (0, 1), 5),
        (7, [2, 0, 0], (0, 0, 0), 7),
        (7, [0, 4, 6], (0, 3, 6), 3),
    ],
)
def test_parts_are_equally_long(steps: int, firsts: list[int], starts: tuple[int, ...], length: int) -> None:
    parts = parts_of(steps, firsts)
    assert (parts.starts, parts.length, parts.filled) == (starts, length, len(firsts) * length)
    places = [parts.place(step) for step in range(steps)]
    assert places == sorted(set(places))
    for number, (start, end) in enumerate(parts.spans):
        assert all(place // length == number for place in places[start:end])
