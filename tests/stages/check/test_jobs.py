"""The checker of memory that jobs of several models may use at once, on hand-made pools."""

import pytest
from attrs import evolve

from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.model_pools import ModelPools, Pairs, Sharing
from target_arch.plan.workloads.answers import Analysis, TableSlot, TimedTasks, TimeTable
from target_arch.plan.workloads.tasks import TaskWork, TimedTask
from target_arch.plan.workloads.workload import Schedule, Timing
from target_arch.stages.check.jobs import check_jobs
from target_arch.stages.errors import CheckError
from target_arch.stages.memory.model_pools import model_pools
from tests.tiny_plans import soc

NAMES = ("a", "b", "c")
ALL: Pairs = frozenset(frozenset(pair) for pair in (("a", "b"), ("a", "c"), ("b", "c")))


def plan(sram: int, tcm: int) -> MemoryPlan:
    """One buffer in each of two memories, the second of which only a device sees."""
    buffers = tuple(
        Buffer(name=f"{memory}_x", kind=kind, memory=memory, bytes=size, alignment=16, first=0, last=1)
        for memory, kind, size in (("sram", "activation", sram), ("tcm", "local", tcm))
    )
    return MemoryPlan(
        buffers=buffers,
        offsets={buffer.name: 0 for buffer in buffers},
        peaks={buffer.arena: buffer.bytes for buffer in buffers},
    )


PLANS = {"a": plan(1000, 160), "b": plan(500, 320), "c": plan(200, 100)}


def timed(
    *priorities: int, steps: int = 2, timeline: str = "", slots: tuple[TableSlot, ...] = ()
) -> TimedTasks:
    tasks = tuple(
        TimedTask(
            name=name,
            timing=Timing(period=100, deadline=100, priority=priority),
            steps=(TaskWork(takes=1, timeline=timeline),) * steps,
        )
        for name, priority in zip(NAMES, priorities, strict=True)
    )
    table = TimeTable(hyperperiod=100, slots=slots) if slots else None
    schedule = Schedule.TABLE if slots else Schedule.PRIORITIES
    return TimedTasks(tasks=tasks, analysis=Analysis(schedule=schedule, responses=(), table=table))


def pools(apart: Pairs) -> ModelPools:
    return model_pools(soc(), PLANS, Sharing.SHARED, apart)


def overlaps(made: ModelPools, jobs: TimedTasks) -> list[str]:
    """Each fault as its two models and the pool."""
    try:
        check_jobs(soc(), made, PLANS, jobs)
    except CheckError as error:
        return [f"{each.place}: {each.message.split(',')[0]}" for each in error.diagnostics]
    return []


def test_pools_of_jobs_that_are_kept_apart() -> None:
    made = pools(ALL)
    check_jobs(soc(), made, PLANS, timed(1, 2, 3))
    for pool in made.pools:
        ends = sorted((pool.offsets[n], pool.offsets[n] + pool.peaks[n]) for n in range(3))
        assert ends[0][1] <= ends[1][0]
        assert ends[1][1] <= ends[2][0]
        assert pool.bytes >= ends[2][1]


def test_models_that_do_not_meet_share() -> None:
    made = pools(frozenset((frozenset(("a", "c")),)))
    assert [pool.bytes for pool in made.pools] == [1216, 320]
    assert overlaps(made, timed(1, 1, 2)) == ["model c: overlaps `b` in pool `tcm`"]
    assert overlaps(made, timed(1, 1, 1)) == []
    assert overlaps(made, timed(1, 2, 3, steps=1)) == []
    assert overlaps(made, timed(1, 1, 2, steps=1, timeline="npu")) == ["model c: overlaps `b` in pool `tcm`"]


def test_a_byte_in_common_is_found() -> None:
    made = pools(ALL)
    for at, pool in enumerate(made.pools):
        last = max(range(3), key=lambda number: pool.offsets[number])
        offsets = tuple(
            offset - 1 if number == last else offset for number, offset in enumerate(pool.offsets)
        )
        near = sorted(range(3), key=lambda number: pool.offsets[number])[1]
        gap = pool.offsets[last] - pool.offsets[near] - pool.peaks[near]
        moved = tuple(o - gap if n == last else o for n, o in enumerate(offsets))
        wrong = tuple(evolve(p, offsets=moved) if n == at else p for n, p in enumerate(made.pools))
        assert len(overlaps(evolve(made, pools=wrong), timed(1, 2, 3))) == 1


def slot(task: int, start: int, first: int, past: int, due: int = 0) -> TableSlot:
    return TableSlot(task=task, start=start, end=start + 1, due=due, first=first, past=past)


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        ((slot(0, 0, 0, 1), slot(1, 2, 0, 2), slot(0, 4, 1, 2), slot(2, 6, 0, 2)), ["model b: overlaps `a`"]),
        ((slot(0, 0, 0, 2), slot(1, 2, 0, 2), slot(0, 4, 0, 2, due=4), slot(2, 6, 0, 2)), []),
        ((slot(2, 0, 0, 2), slot(1, 2, 0, 2), slot(2, 4, 0, 2, due=4), slot(0, 6, 0, 2)), []),
        ((slot(2, 0, 0, 1), slot(1, 2, 0, 2), slot(2, 4, 1, 2), slot(0, 6, 0, 2)), ["model c: overlaps `b`"]),
    ],
)
def test_a_table_says_whose_jobs_are_open(slots: tuple[TableSlot, ...], said: list[str]) -> None:
    found = overlaps(pools(frozenset()), timed(0, 0, 0, slots=slots))
    assert found == [f"{each} in pool `{memory}`" for each in said for memory in ("sram", "tcm")]


def test_a_model_listed_first_may_be_the_one_that_interrupts() -> None:
    made = pools(frozenset((frozenset(("a", "c")),)))
    assert overlaps(made, timed(2, 2, 1)) == ["model c: overlaps `b` in pool `tcm`"]


@pytest.mark.parametrize(("low", "high"), [("npu", ""), ("", "npu")])
def test_a_job_in_one_go_meets_none_only_where_the_host_waits(low: str, high: str) -> None:
    """A single step of the lower priority, and of the higher one two, of which the second is elsewhere."""
    jobs = timed(1, 1, 2, steps=1)
    first, second, third = jobs.tasks
    there = (TaskWork(takes=1), TaskWork(takes=1, timeline=high)) if high else third.steps
    tasks = (first, evolve(second, steps=(TaskWork(takes=1, timeline=low),)), evolve(third, steps=there))
    made = pools(frozenset((frozenset(("a", "c")),)))
    assert overlaps(made, evolve(jobs, tasks=tasks)) == ["model c: overlaps `b` in pool `tcm`"]


def test_the_second_job_of_a_table_is_open_too() -> None:
    """The first model has jobs of one slot, and of two with the other model's slot between them."""
    slots = (
        slot(1, 0, 0, 2),
        slot(0, 2, 0, 2),
        slot(0, 4, 0, 1, due=4),
        slot(2, 6, 0, 2),
        slot(0, 8, 1, 2, due=4),
    )
    found = overlaps(pools(frozenset()), timed(0, 0, 0, slots=slots))
    assert found == [f"model c: overlaps `a` in pool `{memory}`" for memory in ("sram", "tcm")]


def parts(*buffers: tuple[int, int], memory: str = "sram") -> MemoryPlan:
    """Activations, each from an offset on so many bytes; one more far behind, in another memory."""
    made = [
        Buffer(name=f"x{at}", kind="activation", memory=memory, bytes=size, alignment=1, first=0, last=1)
        for at, (_, size) in enumerate(buffers)
    ]
    other = Buffer(name="o", kind="local", memory="tcm", bytes=64, alignment=1, first=0, last=1)
    offsets = {buffer.name: offset for buffer, (offset, _) in zip(made, buffers, strict=True)}
    return MemoryPlan(buffers=(*made, other), offsets={**offsets, "o": 4096}, peaks={})


@pytest.mark.parametrize(
    ("one", "other", "offsets", "shared"),
    [
        (parts((64, 32), (0, 8)), parts((0, 8)), (0, 64), True),
        (parts((64, 32), (0, 8)), parts((0, 8)), (0, 96), False),
        (parts((0, 8), (64, 32)), parts((0, 8)), (0, 64), True),
        (parts((0, 33)), parts((0, 8)), (0, 32), True),
        (parts((0, 33)), parts((0, 8)), (0, 33), True),
        (parts((0, 33)), parts((0, 8)), (0, 64), False),
        (parts((0, 96)), parts(), (0, 32), False),
        (parts(), parts((0, 96)), (32, 0), False),
        (parts((0, 96)), parts(), (32, 32), False),
    ],
)
def test_bytes_and_lines_in_common(
    one: MemoryPlan, other: MemoryPlan, offsets: tuple[int, int], shared: bool
) -> None:
    """Lines of 32 bytes; what has no bytes in a pool shares none, wherever its part begins."""
    made = pools(frozenset())
    (sram,) = (pool for pool in made.pools if pool.memory == "sram")
    pair = ModelPools(
        models=("a", "b"), arenas=Sharing.SHARED, pools=(evolve(sram, peaks=(0, 0), offsets=offsets),)
    )
    chip = evolve(soc(), memories=tuple(evolve(m, cached=True, cache_line=32) for m in soc().memories))
    jobs = timed(1, 2, 3)
    try:
        check_jobs(chip, pair, {"a": one, "b": other}, jobs)
    except CheckError:
        assert shared
    else:
        assert not shared
