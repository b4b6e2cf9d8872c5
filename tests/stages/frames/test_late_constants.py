"""Copies of constants come no earlier than in the period before they are read, at the same place in it."""

from types import MappingProxyType

import pytest
from attrs import evolve

from target_arch.plan.kernels import Access, Operand, Slice
from target_arch.plan.memory import Buffer, BufferKind
from target_arch.plan.steps import Copy, Dispatch, Event
from target_arch.stages.frames.blocks import blocks_of
from target_arch.stages.frames.late_constants import copies_of_constants, with_late_constants
from target_arch.stages.frames.modulo import ModuloSchedule, modulo_schedule
from target_arch.stages.frames.problem import FrameProblem
from tests.stages.frames.chains import Chain

HOPS = ("near", "far")
"""Where the constants of a call lie: in the memory that is copied to the engine, or one copy farther."""


class _Chain(Chain):
    """Calls of two engines in turn, each after the one before and with weights that are copied for it."""

    widths = MappingProxyType({"dma": 2})

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.calls: list[int] = []
        for number in range(self.random.randint(3, 8)):
            self._call(f"w{number}", self.random.choice(HOPS))

    def _call(self, name: str, where: str) -> None:
        self._buffer(name, BufferKind.CONSTANT)
        copied, source = list[int](), name
        for hop in HOPS if where == "far" else HOPS[:1]:
            target = f"{name}@{hop}"
            self._buffer(target, BufferKind.ACTIVATION)
            copied.append(self._copy(source, target, copied[-1:]))
            source = target
        engine = f"engine{len(self.calls) % 2}"
        call = Dispatch(
            partition=name,
            operator=name,
            instance=engine,
            function="f",
            operands=(Operand(of=source, access=Access.READ),),
            event=Event(timeline=engine, value=1),
        )
        takes = self.random.randint(1, 90)
        self.calls.append(self.add(call, engine, takes, *copied[-1:], *self.calls[-1:]))

    def _buffer(self, name: str, kind: BufferKind) -> None:
        self.buffers.append(Buffer(name=name, kind=kind, memory="m", bytes=1, alignment=1, first=0, last=0))

    def _copy(self, source: str, target: str, before: list[int]) -> int:
        here, there = (Slice(of=name, offset=0, row_bytes=1) for name in (source, target))
        event = Event(timeline="dma.0", value=1)
        copy = Copy(source=here, target=there, engine="dma", event=event, partition=None)
        return self.add(copy, "dma", self.random.randint(1, 9), *before)


def scheduled(problem: FrameProblem) -> ModuloSchedule:
    periods = (problem.bound * percent // 100 for percent in (125, 150, 200, 400))
    found = (modulo_schedule(problem, blocks_of(problem), {}, period, 1) for period in periods)
    return next(each for each in found if each is not None)


@pytest.mark.parametrize("seed", range(30))
def test_constants_come_in_the_period_before_they_are_read(seed: int) -> None:
    problem = _Chain(seed).problem
    early = scheduled(problem)
    late = with_late_constants(early, copies_of_constants(problem))
    for number, step in enumerate(problem.steps):
        turns, place = divmod(late.starts[number] - early.starts[number], late.period)
        assert place == 0, "another place in the period"
        assert late.issues[number] - early.issues[number] == turns * late.period
        assert turns >= 0 if isinstance(step, Copy) else turns == 0
        end = late.starts[number] + problem.takes[number]
        readers = [late.issues[n] for n, before in enumerate(problem.before) if number in before]
        assert all(end <= issue for issue in readers), "read before it is there"
        assert not isinstance(step, Copy) or min(readers) - end < late.period
    assert (late.period, late.channels, late.end) == (early.period, early.channels, early.end)


def test_states_are_copied_when_they_are_there() -> None:
    """What a copy brings of a state is the frame's own, however late it is read."""
    problem = _Chain(8).problem
    early = scheduled(problem)
    copies = [number for number, step in enumerate(problem.steps) if isinstance(step, Copy)]
    late = with_late_constants(early, copies_of_constants(problem))
    last = next(n for n in copies if late.starts[n] != early.starts[n])
    step = problem.steps[last]
    assert isinstance(step, Copy)
    buffers = problem.run.buffers
    state = (evolve(each, kind=BufferKind.STATE) if each.name == step.source.of else each for each in buffers)
    with_state = evolve(problem, run=evolve(problem.run, buffers=tuple(state)))
    assert with_late_constants(early, copies_of_constants(with_state)).starts[last] == early.starts[last]
