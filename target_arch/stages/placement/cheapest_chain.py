"""The search for the cheapest placement: dynamic programming along the execution order.

The state after an operator is, for every tensor still needed, the set of memories that hold it. While few
tensors are needed at a time (chains, residuals, short branches) all states are kept and the result is optimal
for the cost model: seconds of computing plus seconds of every copy, where no tensor is copied twice to one
memory. Wider graphs keep the `BEAM` cheapest states. All-on-host is always compared, so the result is never
worse than that.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate

from attrs import field, frozen

from target_arch.plan.model import Model, Operator
from target_arch.soc.model import Instance
from target_arch.stages.paths.reach import MemoryAccess
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.operator_copies import CopyCosts
from target_arch.stages.placement.transfer_costs import Traffic

BEAM = 512
WIDE = 64
"""Tensors needed at a time, at most."""


@frozen(kw_only=True)
class InstanceGroup:
    """Interchangeable instances; `rank` is their place in the partitioning order, `order` the host's seconds
    for each operator there.
    """

    instances: tuple[Instance, ...]
    reach: MemoryAccess
    rank: int
    host: bool = False
    order: float = 0.0


@frozen(kw_only=True, slots=False)
class ChainProblem:
    """A placement problem. `computes[operator id][group]` is seconds, None where the group is refused."""

    model: Model = field(repr=False)
    order: tuple[Operator, ...]
    groups: tuple[InstanceGroup, ...]
    computes: Mapping[str, tuple[float | None, ...]]
    traffic: Traffic = field(repr=False)
    inputs: int
    """Memories (bits) in which model inputs arrive."""
    constants: int
    """Memories (bits) that hold constants."""
    outputs: MemoryAccess
    """Memories (bits) in which model outputs must be at the end."""
    staying: frozenset[tuple[str, int]] = frozenset()
    """Operators (by id) with groups on which no run copies their constants."""

    @cached_property
    def copy_costs(self) -> CopyCosts:
        """The tensors that operators touch, and the copies that these need on each group."""
        reaches = [group.reach for group in self.groups]
        return CopyCosts(self.model, self.traffic, reaches, self.constants, self.staying)


def cheapest_chain(problem: ChainProblem, beam: int = BEAM) -> dict[str, int] | None:
    """The group (by number) of every operator; None if an operator has no group.

    Not searched where more tensors than `WIDE` are needed at a time: the beam alone would decide.
    """
    options = [
        (cost, groups)
        for groups in _candidates(problem, beam)
        if (cost := total(problem, groups)) is not None
    ]
    if not options:
        return None
    return min(options, key=lambda option: option[0])[1]


def total(problem: ChainProblem, groups: Mapping[str, int]) -> int | None:
    """Picoseconds of a whole placement; None where it is impossible."""
    walked = walk(problem, groups)
    return None if walked is None else walked[0]


def walk(problem: ChainProblem, groups: Mapping[str, int]) -> tuple[int, list[tuple[int, ...]]] | None:
    """Picoseconds of a placement, and the memories of its activations before each operator, as masks. None
    where it is impossible.
    """
    where = dict.fromkeys(problem.model.given, problem.inputs)
    copy_costs, spent, before = problem.copy_costs, 0, list[tuple[int, ...]]()
    for operator in problem.order:
        names, number = copy_costs.operands[operator.id].names, groups[operator.id]
        masks = tuple([where[name] for name in names])
        before.append(masks)
        compute = problem.computes[operator.id][number]
        order = problem.groups[number].order
        seen = copy_costs.of(operator.id, number, masks)
        if compute is None or seen is None:
            return None
        where.update(zip(names, seen.inputs, strict=True))
        where[operator.output] = seen.output
        spent += round((compute + order) * PICO) + seen.copy
    ending = _ending(problem, where)
    return None if ending is None else (spent + ending, before)


def _candidates(problem: ChainProblem, beam: int) -> Iterable[dict[str, int]]:
    searched = _search(problem, beam)
    if searched is not None:
        yield searched
    host = next(number for number, group in enumerate(problem.groups) if group.host)
    yield {operator.id: host for operator in problem.order}


def _ending(problem: ChainProblem, where: Mapping[str, int]) -> int | None:
    """Picoseconds until all model outputs are in their memories."""
    cost = 0
    for name in problem.model.outputs:
        tensor = problem.model.tensors[name]
        brought = problem.traffic.bring(where.get(name, problem.constants), tensor.bytes, problem.outputs)
        if brought is None:
            return None
        cost += brought[0]
    return cost


_State = tuple[int, ...]
_Best = tuple[int, int, tuple[object, ...]]
"""Picoseconds, sum of ranks (for ties), and the groups taken as a linked list (last, earlier)."""


def _search(problem: ChainProblem, beam: int) -> dict[str, int] | None:
    live = list(problem.model.given)
    last = _last_needed(problem)
    if _width(problem, last) > WIDE:
        return None
    states: dict[_State, _Best] = {tuple(problem.inputs for _ in live): (0, 0, ())}
    for turn, operator in enumerate(problem.order):
        after = [name for name in dict.fromkeys((*live, operator.output)) if last.get(name, -1) > turn]
        states = _step(problem, operator, live, after, states, beam)
        live = after
    ended = [
        (best[0] + ending, best[1], best[2])
        for state, best in states.items()
        if (ending := _ending(problem, dict(zip(live, state, strict=True)))) is not None
    ]
    if not ended:
        return None
    return _unlinked(problem, min(ended, key=lambda best: best[:2])[2])


def _step(
    problem: ChainProblem,
    operator: Operator,
    live: list[str],
    after: list[str],
    states: dict[_State, _Best],
    beam: int,
) -> dict[_State, _Best]:
    """All states after one operator, the cheapest way to each."""
    places = {name: place for place, name in enumerate((*live, operator.output))}
    inputs = [places[name] for name in problem.copy_costs.operands[operator.id].names]
    kept = [places[name] for name in after]
    options = [
        (number, round((compute + group.order) * PICO), group.rank)
        for number, (compute, group) in enumerate(
            zip(problem.computes[operator.id], problem.groups, strict=True)
        )
        if compute is not None
    ]
    found: dict[_State, _Best] = {}
    for state, (cost, ranks, path) in states.items():
        masks = tuple([state[place] for place in inputs])
        for number, time, rank in options:
            seen = problem.copy_costs.of(operator.id, number, masks)
            if seen is None:
                continue
            then = [*state, seen.output]
            for place, mask in zip(inputs, seen.inputs, strict=True):
                then[place] = mask
            key = tuple([then[place] for place in kept])
            total, order = cost + time + seen.copy, ranks + rank
            if key not in found or (total, order) < found[key][:2]:
                found[key] = (total, order, (number, path))
    return dict(sorted(found.items(), key=lambda item: (item[1][:2], item[0]))[:beam])


def _last_needed(problem: ChainProblem) -> dict[str, int]:
    """By tensor, the number of the last operator that reads it; one number after all operators if the caller
    reads it.
    """
    last = {
        name: turn
        for turn, operator in enumerate(problem.order)
        for name in problem.copy_costs.operands[operator.id].names
    }
    return last | dict.fromkeys(problem.model.outputs, len(problem.order))


def _width(problem: ChainProblem, last: Mapping[str, int]) -> int:
    """The most tensors needed at a time."""
    made = {operator.output: turn for turn, operator in enumerate(problem.order)}
    change = [0] * (len(problem.order) + 1)
    for name, turn in last.items():
        change[made.get(name, 0)] += 1
        change[turn] -= 1
    return max(accumulate(change[:-1]), default=0)


def _unlinked(problem: ChainProblem, path: tuple[object, ...]) -> dict[str, int]:
    groups: list[int] = []
    while path:
        number, path = path  # type: ignore[assignment]
        groups.append(number)  # type: ignore[arg-type]
    return {operator.id: number for operator, number in zip(problem.order, reversed(groups), strict=True)}
