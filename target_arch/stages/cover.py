"""The search for the cheapest placement: dynamic programming along the execution order.

The state after an operator is, for every tensor still needed, the set of memories it lies in. While few
tensors are needed at a time (chains, residuals, short branches) all states are kept and the result is optimal
for the cost model: seconds of computing plus seconds of every copy, a tensor that already lies in a memory
not being copied there again. Wider graphs keep the `BEAM` cheapest states. All-on-host is always compared, so
the result is never worse than that.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen

from target_arch.plan.model import Model, Operator
from target_arch.soc.model import Instance
from target_arch.stages.traffic import PICO, Reach, Traffic

BEAM = 512
WIDE = 64
"""Tensors needed at a time, at most."""


@frozen(kw_only=True)
class Seat:
    """Instances that are alike in every respect that counts; `rank` is their place in the partitioning
    order.
    """

    instances: tuple[Instance, ...]
    reach: Reach
    rank: int
    host: bool = False


@frozen(kw_only=True)
class Problem:
    """What is to be placed. `computes[operator id][seat]` is seconds, None where the seat is refused."""

    model: Model = field(repr=False)
    order: tuple[Operator, ...]
    seats: tuple[Seat, ...]
    computes: Mapping[str, tuple[float | None, ...]]
    traffic: Traffic = field(repr=False)
    inputs: int
    """Memories (bits) in which model inputs arrive."""
    constants: int
    """Memories (bits) that hold constants."""
    outputs: Reach
    """Where model outputs must be in the end."""


@frozen(kw_only=True)
class Visit:
    """What one operator costs at a seat, in picoseconds, and where its tensors lie then."""

    copy: int
    inputs: tuple[int, ...]
    output: int


def cover(problem: Problem, beam: int = BEAM) -> dict[str, int] | None:
    """The seat (by number) of every operator; None where some operator can go nowhere.

    Where more tensors than `WIDE` are needed at a time the search would be no better than its beam, and is
    left out.
    """
    options = [
        (cost, seats) for seats in _candidates(problem, beam) if (cost := total(problem, seats)) is not None
    ]
    if not options:
        return None
    return min(options, key=lambda option: option[0])[1]


def total(problem: Problem, seats: Mapping[str, int]) -> int | None:
    """Picoseconds of a whole placement; None where it is impossible."""
    walked = walk(problem, seats)
    return None if walked is None else walked[0]


def walk(problem: Problem, seats: Mapping[str, int]) -> tuple[int, list[dict[str, int]]] | None:
    """Picoseconds of a placement, and where its inputs lie before each operator. None where it is
    impossible.
    """
    where = dict.fromkeys(problem.model.inputs, problem.inputs)
    spent, before = 0, []
    for operator in problem.order:
        names = activations(problem, operator)
        before.append({name: where[name] for name in names})
        number = seats[operator.id]
        compute = problem.computes[operator.id][number]
        seen = visit(problem, operator, number, [where[name] for name in names])
        if compute is None or seen is None:
            return None
        where |= dict(zip(names, seen.inputs, strict=True))
        where[operator.output] = seen.output
        spent += round(compute * PICO) + seen.copy
    ending = _ending(problem, where)
    return None if ending is None else (spent + ending, before)


def visit(problem: Problem, operator: Operator, number: int, masks: Sequence[int]) -> Visit | None:
    """The copies one operator brings at a seat, its input activations lying in `masks`. None where links are
    missing.
    """
    seat, tensors = problem.seats[number], problem.model.tensors
    names = activations(problem, operator)
    brought = [
        problem.traffic.bring(mask, tensors[name].bytes, seat.reach)
        for name, mask in zip(names, masks, strict=True)
    ]
    fixed = [
        problem.traffic.bring(problem.constants, tensors[name].bytes, seat.reach)
        for name in dict.fromkeys(operator.constants)
    ]
    left = problem.traffic.leave(tensors[operator.output].bytes, seat.reach)
    if left is None or None in brought or None in fixed:
        return None
    arrived = [pair for pair in brought if pair is not None]
    copy = sum(cost for cost, _ in arrived) + sum(pair[0] for pair in fixed if pair is not None) + left[0]
    return Visit(copy=copy, inputs=tuple(after for _, after in arrived), output=left[1])


def activations(problem: Problem, operator: Operator) -> tuple[str, ...]:
    """The inputs of an operator that are no constants, each once."""
    tensors = problem.model.tensors
    return tuple(name for name in dict.fromkeys(operator.inputs) if tensors[name].data is None)


def _candidates(problem: Problem, beam: int) -> Iterable[dict[str, int]]:
    searched = _search(problem, beam)
    if searched is not None:
        yield searched
    host = next(number for number, seat in enumerate(problem.seats) if seat.host)
    yield {operator.id: host for operator in problem.order}


def _ending(problem: Problem, where: Mapping[str, int]) -> int | None:
    """Picoseconds until all model outputs lie where they must."""
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
"""Picoseconds, sum of ranks (for ties), and the seats taken as a linked list (last, earlier)."""


def _search(problem: Problem, beam: int) -> dict[str, int] | None:
    live = list(problem.model.inputs)
    needed_after = _needed_after(problem)
    if needed_after is None:
        return None
    states: dict[_State, _Best] = {tuple(problem.inputs for _ in live): (0, 0, ())}
    for operator, needed in zip(problem.order, needed_after, strict=True):
        after = [name for name in dict.fromkeys((*live, operator.output)) if name in needed]
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
    problem: Problem,
    operator: Operator,
    live: list[str],
    after: list[str],
    states: dict[_State, _Best],
    beam: int,
) -> dict[_State, _Best]:
    """All states after one operator, the cheapest way to each."""
    names = activations(problem, operator)
    computes = problem.computes[operator.id]
    found: dict[_State, _Best] = {}
    for state, (cost, ranks, path) in states.items():
        where = dict(zip(live, state, strict=True))
        for number, compute in enumerate(computes):
            seen = (
                None if compute is None else visit(problem, operator, number, [where[name] for name in names])
            )
            if compute is None or seen is None:
                continue
            then = where | dict(zip(names, seen.inputs, strict=True)) | {operator.output: seen.output}
            key = tuple(then[name] for name in after)
            best = (
                cost + round(compute * PICO) + seen.copy,
                ranks + problem.seats[number].rank,
                (number, path),
            )
            if key not in found or best[:2] < found[key][:2]:
                found[key] = best
    kept = sorted(found.items(), key=lambda item: (item[1][:2], item[0]))[:beam]
    return dict(kept)


def _needed_after(problem: Problem) -> list[frozenset[str]] | None:
    """For every operator of the order the tensors that later operators, or the caller, still need; None where
    these are too many.
    """
    needed = set(problem.model.outputs)
    result = []
    for operator in reversed(problem.order):
        if len(needed) > WIDE:
            return None
        result.append(frozenset(needed))
        needed |= set(activations(problem, operator))
        needed.discard(operator.output)
    return result[::-1]


def _unlinked(problem: Problem, path: tuple[object, ...]) -> dict[str, int]:
    seats: list[int] = []
    while path:
        number, path = path  # type: ignore[assignment]
        seats.append(number)  # type: ignore[arg-type]
    return {operator.id: number for operator, number in zip(problem.order, reversed(seats), strict=True)}
