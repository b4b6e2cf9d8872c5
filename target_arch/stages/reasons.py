"""Why each operator is where it is: all candidates with their costs or refusals, and the reason in words.

The cost of a candidate is what changes when only this operator moves: its computing, its inputs from where
they lie, its constants, its result on the way to its consumers.
"""

from collections.abc import Callable, Mapping

from target_arch.plan.model import Operator
from target_arch.plan.partitions import Candidate, Choice, Cost, Part
from target_arch.plan.reasoning import duration
from target_arch.soc.model import Instance
from target_arch.stages.cover import Problem, activations, visit, walk
from target_arch.stages.rules import targets
from target_arch.stages.survey import Survey, Wanted
from target_arch.stages.traffic import PICO

Moved = Callable[[Operator, int], int | None]
"""An operator and a seat to the picoseconds of a run in which it alone goes there; None: not simulated."""


def choices(
    wanted: Wanted,
    survey: Survey,
    problem: Problem,
    seats: Mapping[str, int],
    chosen: Mapping[str, Instance],
    moved: Moved,
) -> tuple[Choice, ...]:
    """One choice per operator, in execution order. `moved` tells what a run takes if one operator moves."""
    reasoner = _Reasoner(wanted, survey, problem, seats, moved)
    return tuple(reasoner.choice(operator, chosen[operator.id]) for operator in problem.order)


class _Reasoner:
    def __init__(
        self, wanted: Wanted, survey: Survey, problem: Problem, seats: Mapping[str, int], moved: Moved
    ) -> None:
        self._wanted, self._survey, self._problem, self._seats = wanted, survey, problem, seats
        self._moved, self._instances = moved, wanted.soc.instances
        self._seat_of = {
            instance.name: number for number, seat in enumerate(problem.seats) for instance in seat.instances
        }
        self._arch_of = {instance.name: instance.arch.name for instance in wanted.soc.instances}
        walked = walk(problem, seats)
        before = [] if walked is None else walked[1]
        self._before = {operator.id: where for operator, where in zip(problem.order, before, strict=True)}
        self._users: dict[str, list[Operator]] = {}
        for operator in problem.order:
            for name in dict.fromkeys(operator.inputs):
                self._users.setdefault(name, []).append(operator)

    def choice(self, operator: Operator, instance: Instance) -> Choice:
        candidates = self._candidates(operator)
        return Choice(
            operator=operator.id,
            instance=instance.name,
            reason=self._reason(operator, instance, candidates),
            candidates=candidates,
        )

    def _candidates(self, operator: Operator) -> tuple[Candidate, ...]:
        by_seat = [self._cost(operator, number) for number in range(len(self._problem.seats))]
        costs = {name: by_seat[number] for name, number in self._seat_of.items()}
        found = []
        for instance in self._instances:
            refusal, cost = self._survey.answers[operator.id][instance.name].refusal, costs[instance.name]
            if refusal is None and cost is None:
                refusal = "no copy path leads to where its neighbours are"
            run = None if refusal else self._run(operator, instance)
            found.append(
                Candidate(instance=instance.name, cost=None if refusal else cost, refusal=refusal, run=run)
            )
        return tuple(found)

    def _run(self, operator: Operator, instance: Instance) -> float | None:
        picos = self._moved(operator, self._seat_of[instance.name])
        return None if picos is None else picos / PICO

    def _cost(self, operator: Operator, number: int) -> Cost | None:
        """Cost of one operator at a seat while all others stay where they are; None where that is
        impossible.
        """
        problem, traffic = self._problem, self._problem.traffic
        where = [self._before[operator.id][name] for name in activations(problem, operator)]
        compute, seen = problem.computes[operator.id][number], visit(problem, operator, number, where)
        if compute is None or seen is None:
            return None
        size, lies = problem.model.tensors[operator.output].bytes, seen.output
        parts = self._fetched(operator, number, where)
        back = seen.copy - sum(picos for _, picos in parts)
        goals = [problem.seats[self._seats[user.id]].reach for user in self._users.get(operator.output, ())]
        goals += [problem.outputs] if operator.output in problem.model.outputs else []
        for goal in goals:
            brought = traffic.bring(lies, size, goal)
            near = traffic.bring(traffic.mask(goal.reads), size, goal)
            if brought is None or near is None:
                return None
            back += brought[0] - near[0]
            lies = brought[1]
        parts.append(("copy of its result", back))
        instance = problem.seats[number].instances[0]
        answer = self._survey.answers[operator.id][instance.name]
        return Cost(
            compute=compute,
            copy=sum(picos for _, picos in parts) / PICO,
            parts=tuple(Part(what=what, seconds=picos / PICO) for what, picos in parts if picos),
            load=0.0 if instance.arch.host else instance.arch.load.time,
            measured=answer.measured,
            energy=answer.energy,
        )

    def _fetched(self, operator: Operator, number: int, where: list[int]) -> list[tuple[str, int]]:
        """What is copied to a seat for the operator: each input, all constants; with picoseconds."""
        problem, goal = self._problem, self._problem.seats[number].reach
        tensors, names = problem.model.tensors, activations(self._problem, operator)
        found = [
            (f"copy of `{name}`", pair[0])
            for name, mask in zip(names, where, strict=True)
            if (pair := problem.traffic.bring(mask, tensors[name].bytes, goal)) is not None
        ]
        fixed = [
            problem.traffic.bring(problem.constants, tensors[name].bytes, goal)
            for name in dict.fromkeys(operator.constants)
        ]
        return [*found, ("copy of constants", sum(pair[0] for pair in fixed if pair is not None))]

    def _reason(self, operator: Operator, instance: Instance, candidates: tuple[Candidate, ...]) -> str:
        required = self._wanted.rules.required(operator)
        if required is not None:
            return f"required on `{required}` by a rule"
        sent = self._wanted.rules.sent_to(operator)
        if sent is not None and targets(sent, instance):
            return f"the next that can take it{self._unfit(instance, candidates)}"
        preferred = self._wanted.rules.preferred(operator)
        if preferred is not None and targets(preferred, instance):
            return f"preferred on `{preferred}` by a rule"
        reason = self._by_cost(instance, candidates)
        if preferred is None:
            return reason
        refusals = {c.refusal for c in candidates if preferred in (c.instance, self._arch_of[c.instance])}
        return (
            f"{reason}; preferred on `{preferred}`, which refuses it: {'; '.join(sorted(map(str, refusals)))}"
        )

    def _unfit(self, instance: Instance, candidates: tuple[Candidate, ...]) -> str:
        """The kinds it does not fit on; of the instance's own, the instances."""
        unfit = [c.instance for c in candidates if (c.refusal or "").startswith("does not fit")]
        mine = instance.arch.name
        names = {name if self._arch_of[name] == mine else self._arch_of[name] for name in unfit}
        return "".join(f"; does not fit on `{name}`" for name in sorted(names))

    def _by_cost(self, instance: Instance, candidates: tuple[Candidate, ...]) -> str:
        arch_of = self._arch_of
        priced = [(c.cost, c.instance) for c in candidates if c.cost is not None]
        mine = next(cost for cost, name in priced if name == instance.name)
        alike = [name for cost, name in priced if cost == mine and arch_of[name] == instance.arch.name]
        others = [(cost.total, name) for cost, name in priced if arch_of[name] != instance.arch.name]
        after = f"; the least busy of {len(alike)} alike" if len(alike) > 1 else ""
        after += self._unfit(instance, candidates)
        if not others:
            return f"only `{instance.arch.name}` can take it{after}"
        theirs, rival = min(others, key=lambda other: other[0])
        if mine.total == theirs:
            return f"as cheap as on `{rival}`, first in the partitioning order{after}"
        lead = "cheapest" if mine.total < theirs else "cheapest together with its neighbours"
        return f"{lead}: {duration(mine.total)} vs {duration(theirs)} on `{rival}`{after}"
