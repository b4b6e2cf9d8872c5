"""Frames that take turns on equal cores: each is computed by one of them from its first call to its last.

A round of the problem starts a frame on each core. So it has the tasks of a frame as often as there are
cores, and a modulo schedule of it is one in which the cores are a resource whose period has as many rounds of
a frame. What others do stays where it is, and is done for each frame.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from attrs import evolve, frozen

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Copy, Dispatch, Event, StepOrder
from target_arch.soc.model import SoC
from target_arch.stages.frames.cores import Pool
from target_arch.stages.frames.problem import CopyOf, FrameProblem, common
from target_arch.stages.paths.routes import PICO
from target_arch.stages.steps.simulation.clock import HOST


def rotated(soc: SoC, problem: FrameProblem, cores: Pool) -> FrameProblem:
    """The problem of a round in which the frames are started that these cores compute, in their order. In
    `problem` the first one computes them all.
    """
    copies = [_Copy(soc, problem, cores, turn) for turn in range(len(cores))]
    tasks = len(problem.steps)
    last = (len(cores) - 1) * tasks
    return evolve(
        problem,
        run=_run(problem.run, copies),
        steps=tuple(step for copy in copies for step in copy.steps()),
        takes=tuple(takes for copy in copies for takes in copy.takes()),
        where=tuple(where for copy in copies for where in copy.where()),
        before=[before for copy in copies for before in copy.before()],
        carried=tuple((last + one, other) for one, other in problem.carried),
        cores=cores,
        wake=round(max(soc.instance(core).arch.wake for core in cores) * PICO),
        copies={name: CopyOf(of, copy.turn) for copy in copies for of, name in copy.names.items()},
    )


@frozen(slots=False)
class _Copy:
    """The tasks of the frame that one of the cores computes."""

    soc: SoC
    problem: FrameProblem
    cores: Pool
    turn: int

    @cached_property
    def names(self) -> dict[str, str]:
        """The buffers of the frame, by that of a run."""
        shared = common(self.problem.run)
        named = (buffer.name for buffer in self.problem.run.buffers if buffer.name not in shared)
        return {name: f"{name}@{self.turn}" for name in named}

    def steps(self) -> Iterator[Copy | Dispatch]:
        """The steps on the core and the buffers of the frame."""
        names = self.names

        def renamed(part: Slice) -> Slice:
            return part.renamed(names.get(part.of, part.of))

        for step in self.problem.steps:
            if isinstance(step, Copy):
                yield evolve(step, source=renamed(step.source), target=renamed(step.target))
                continue
            operands = (
                evolve(
                    operand,
                    of=names.get(operand.of, operand.of),
                    over=tuple(names.get(name, name) for name in operand.over),
                )
                for operand in step.operands
            )
            moved = evolve(step, operands=tuple(operands))
            yield self._on_core(moved) if step.instance == self.cores[0] else moved

    def _on_core(self, step: Dispatch) -> Dispatch:
        core = self.soc.instance(self.cores[self.turn])
        event = None if core.arch.host else Event(timeline=core.name, value=1)
        return evolve(step, instance=core.name, event=event)

    def where(self) -> Iterator[str]:
        """The resources; the core's own for what a core computes."""
        core = self.soc.instance(self.cores[self.turn])
        for step, where in zip(self.problem.steps, self.problem.where, strict=True):
            turns = isinstance(step, Dispatch) and step.instance == self.cores[0]
            yield where if not turns else HOST if core.arch.host else core.name

    def takes(self) -> Iterator[int]:
        """The times; a core that the host wakes takes longer where it has done nothing that comes before."""
        there, own = self.soc.instance(self.cores[self.turn]).arch, self.soc.instance(self.cores[0]).arch
        wake = round((there.wake - own.wake) * PICO)
        where = tuple(self.where())
        for number, takes in enumerate(self.problem.takes):
            moved = where[number] != self.problem.where[number]
            awake = any(where[other] == where[number] for other in self.problem.before[number])
            yield takes + wake if moved and not awake else takes

    def before(self) -> Iterator[tuple[int, ...]]:
        """The tasks before each: those of the frame, and those of the frame before that leave a state."""
        first = self.turn * len(self.problem.steps)
        for number, before in enumerate(self.problem.before):
            own = (first + other for other in before)
            ahead = first - len(self.problem.steps)
            left = (ahead + one for one, other in self.problem.carried if other == number and self.turn)
            yield (*left, *own)


def _run(run: StepOrder, copies: Sequence[_Copy]) -> StepOrder:
    """The run with the buffers of all frames of a round."""
    shared = common(run)
    buffers = [buffer for buffer in run.buffers if buffer.name in shared]
    buffers += [buffer for copy in copies for buffer in _own(run, copy)]
    return evolve(
        run,
        buffers=tuple(buffers),
        inputs=tuple((tensor, copy.names[name]) for copy in copies for tensor, name in run.inputs),
        outputs=tuple(
            (tensor, copy.names.get(name, name)) for copy in copies for tensor, name in run.outputs
        ),
    )


def _own(run: StepOrder, copy: _Copy) -> Iterator[Buffer]:
    names = copy.names
    for buffer in run.buffers:
        if buffer.name in names:
            yield evolve(buffer, name=names[buffer.name])
