"""The expected run of a placement: its steps, replayed with stand-ins before kernels are lowered."""

from collections.abc import Collection

from attrs import evolve

from target_arch.plan.execution import Execution
from target_arch.plan.partitions import Candidate, Choice, PartitionGraph
from target_arch.stages.errors import StepError
from target_arch.stages.garbage_collector import gc_paused
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.program.homes import choose_homes
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import scarce, with_slices
from target_arch.stages.steps.overlap import fastest
from target_arch.stages.steps.simulation.times import Times


@gc_paused()
def expected_run(work: PartialLowering) -> Execution:
    """A simulated run of the steps that the plan would emit, with stand-ins for kernels that are missing.

    They are ordered as kernels would be, within the memories of the chip. No memory is planned, so the model
    may still not fit. Raises StepError where no copy path leads to a memory in which a tensor is needed.
    """
    homes = choose_homes(work, scarce(work))
    program = with_slices(work, join(work, homes, timed=True))
    return fastest(work, program, homes, Times(work))


def with_runs(graph: PartitionGraph, grouping: Grouping, operators: Collection[str] = ()) -> PartitionGraph:
    """The placed graph with its expected run, and the runs of these operators' candidates."""
    run = expected_run(_work(graph, grouping))
    wanted = frozenset(operators)
    choices = (
        _explained(choice, graph, run, grouping) if choice.operator in wanted else choice
        for choice in graph.choices
    )
    return evolve(graph, run=run, choices=tuple(choices))


def _explained(choice: Choice, graph: PartitionGraph, run: Execution, grouping: Grouping) -> Choice:
    """The choice with the times of runs in which its operator alone is on another instance."""

    def makespan(candidate: Candidate) -> float | None:
        if candidate.instance == choice.instance:
            return run.makespan
        moved = grouping.moved(graph, choice.operator, candidate.instance)
        try:
            return expected_run(_work(moved, grouping)).makespan
        except StepError:
            return None

    return evolve(
        choice,
        candidates=tuple(
            each if each.cost is None else evolve(each, run=makespan(each)) for each in choice.candidates
        ),
    )


def _work(graph: PartitionGraph, grouping: Grouping) -> PartialLowering:
    return PartialLowering(setting=grouping.setting, graph=graph, kernels={})
