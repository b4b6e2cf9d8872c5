"""Schedules around a busy host, and with blocks that keep to a channel: no resource or memory has more than
it takes, and the host can start all.
"""

from collections.abc import Callable
from types import MappingProxyType

import pytest
from attrs import evolve

from target_arch.plan.kernels import Access, Operand, Slice
from target_arch.plan.memory import Buffer, BufferKind
from target_arch.plan.steps import Copy, Dispatch, Event
from target_arch.stages.frames import around
from target_arch.stages.frames.around import around_host, longest_first
from target_arch.stages.frames.blocks import blocks_of
from target_arch.stages.frames.modulo import ModuloSchedule, modulo_schedule
from target_arch.stages.frames.problem import FrameProblem, names_of
from tests.stages.frames.chains import Chain

ENGINES, CHANNELS, ROOM = ("one", "two"), 2, 100


class _Chain(Chain):
    """A random model: kernels on engines, whose tiles share a buffer, and work of the host between."""

    widths = MappingProxyType({"dma": CHANNELS})

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        last: tuple[int, ...] = ()
        for number in range(self.random.randint(2, 6)):
            last = self._kernel(f"k{number}", last) if number % 2 else self._host(last)

    def _host(self, before: tuple[int, ...]) -> tuple[int, ...]:
        for _ in range(self.random.randint(1, 6)):
            call = Dispatch(partition="h", operator="h", instance="cpu", function="f", operands=())
            before = (self.add(call, "", self.random.randint(1, 40), *before),)
        return before

    def _kernel(self, name: str, before: tuple[int, ...]) -> tuple[int, ...]:
        engine = self.random.choice(ENGINES)
        self.buffers.append(
            Buffer(
                name=name,
                kind=BufferKind.LOCAL,
                memory=engine,
                bytes=self.random.randint(20, ROOM),
                alignment=1,
                first=0,
                last=0,
            )
        )
        part = Slice(of=name, offset=0, row_bytes=1)
        outside = Slice(of="x", offset=0, row_bytes=1)
        for _ in range(self.random.randint(1, 3)):
            copy = Copy(
                source=outside,
                target=part,
                engine="dma",
                event=Event(timeline="dma.0", value=1),
                partition=name,
            )
            first = self.add(copy, "dma", self.random.randint(1, 20), *before)
            operands = (Operand(of=name, access=Access.READ),)
            call = Dispatch(
                partition=name,
                operator=name,
                instance=engine,
                function="f",
                operands=operands,
                event=Event(timeline=engine, value=1),
            )
            before = (self.add(call, engine, self.random.randint(1, 30), first, *before),)
        return before


def times(begin: int, takes: int, period: int) -> set[int]:
    assert takes <= period
    return {time % period for time in range(begin, begin + takes)}


def check(problem: FrameProblem, schedule: ModuloSchedule) -> None:
    period, starts = schedule.period, schedule.starts
    busy: dict[tuple[str, int], set[int]] = {}
    for number, start in enumerate(starts):
        own = times(start, problem.takes[number], period)
        there = busy.setdefault((problem.where[number], schedule.channels[number]), set())
        assert not own & there, "two tasks at once"
        there |= own
        assert all(starts[other] + problem.takes[other] <= start for other in problem.before[number])
    for number, issue in enumerate(schedule.issues):
        inside = ((issue - starts[h]) % period for h, where in enumerate(problem.where) if where == "")
        works = (problem.takes[h] for h, where in enumerate(problem.where) if where == "")
        assert problem.where[number] == "" or not any(0 < i < w for i, w in zip(inside, works, strict=True))
        assert issue <= starts[number]
        for other in problem.before[number]:
            same = problem.where[other] == problem.where[number]
            same &= schedule.channels[other] == schedule.channels[number]
            assert same or starts[other] + problem.takes[other] <= issue, "started before it can be"
    held: dict[tuple[str, int], int] = {}
    for buffer in problem.run.buffers:
        users = [n for n, step in enumerate(problem.steps) if buffer.name in names_of(step)]
        begin, end = min(starts[n] for n in users), max(starts[n] + problem.takes[n] for n in users)
        for time in times(begin, end - begin, period):
            held[buffer.memory, time] = held.get((buffer.memory, time), 0) + buffer.bytes
    assert max(held.values(), default=0) <= ROOM


@pytest.mark.parametrize("scheduled", [around_host, longest_first])
@pytest.mark.parametrize("seed", range(60))
def test_what_is_found_is_right(seed: int, scheduled: Callable[..., ModuloSchedule | None]) -> None:
    """No period is found that is shorter than a buffer is there which has no room beside another one."""
    problem = _Chain(seed).problem
    held = evolve(problem, sizes=dict.fromkeys(ENGINES, ROOM)).bound
    found = 0
    for percent in (100, 110, 150, 300):
        period = max(problem.bound * percent // 100, *problem.takes)
        schedule = scheduled(problem, blocks_of(problem), dict.fromkeys(ENGINES, ROOM), period)
        if schedule is not None:
            check(problem, schedule)
            assert held <= period
            found += 1
    assert found


@pytest.mark.parametrize("seed", range(20))
def test_narrow_blocks_keep_to_one_channel(seed: int) -> None:
    problem = _Chain(seed).problem
    blocks = blocks_of(problem, narrow=True)
    period = 3 * max(problem.bound, *problem.takes)
    schedule = modulo_schedule(problem, blocks, dict.fromkeys(ENGINES, ROOM), period, 1)
    assert schedule is not None
    check(problem, schedule)
    for block in blocks:
        copies = [number for number in block.tasks if problem.where[number] == "dma"]
        assert len({schedule.channels[number] for number in copies}) <= 1


def test_a_host_that_is_too_busy() -> None:
    problem = _Chain(1).problem
    period = problem.busy[""] - 1
    for scheduled in (around_host, longest_first):
        assert scheduled(problem, blocks_of(problem), dict.fromkeys(ENGINES, ROOM), period) is None


def test_a_buffer_that_has_no_room_twice_bounds_the_period() -> None:
    """From its first task to its last one: those on engines and channels may well be others' in between."""
    chain = _Chain(0)
    chain.steps, chain.before, chain.takes, chain.where, chain.buffers = [], [], [], [], []
    chain._kernel("k", ())
    (buffer,), problem = chain.buffers, chain.problem
    room = {buffer.memory: 2 * buffer.bytes}
    assert evolve(problem, sizes=room).bound == problem.bound < sum(problem.takes)
    less = evolve(problem, sizes={buffer.memory: 2 * buffer.bytes - 1})
    assert (less.busiest, less.bound) == (buffer.memory, sum(problem.takes))


def test_a_block_that_found_no_place_has_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _Chain(34).problem
    period = max(problem.bound * 3 // 2, *problem.takes)
    found = longest_first(problem, blocks_of(problem), dict.fromkeys(ENGINES, ROOM), period)
    assert found is not None
    check(problem, found)
    monkeypatch.setattr(around, "ORDERS", 1)
    assert longest_first(problem, blocks_of(problem), dict.fromkeys(ENGINES, ROOM), period) is None
