"""Why each operator is where it is: all candidates with their costs or refusals, and the reason in words.

The cost of a candidate is the difference when only this operator moves: its computing, and the copies of its
inputs, its constants, and its result to its consumers.
"""

from collections.abc import Mapping

from target_arch.plan.model import Operator
from target_arch.plan.partitions import Candidate, Choice, Cost, CostItem
from target_arch.plan.printed.reasoning import duration
from target_arch.soc.model import Instance
from target_arch.stages.garbage_collector import gc_paused
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.aims import Judge
from target_arch.stages.placement.candidates import CandidateTable, PlacementTask
from target_arch.stages.placement.cheapest_chain import ChainProblem, walk
from target_arch.stages.placement.rules import targets


def choices(
    wanted: PlacementTask,
    candidates: CandidateTable,
    problem: ChainProblem,
    groups: Mapping[str, int],
    chosen: Mapping[str, Instance],
    judge: Judge | None = None,
) -> tuple[Choice, ...]:
    """One choice per operator, in execution order. `judge` says what candidates come to by an objective that
    is not a short run.
    """
    ways = [_way(wanted, operator, chosen[operator.id]) for operator in problem.order]
    with gc_paused():
        reasoner = _Reasoner(wanted, candidates, problem, groups, judge)
        return tuple(
            reasoner.choice(operator, chosen[operator.id], way)
            for operator, way in zip(problem.order, ways, strict=True)
        )


def _way(wanted: PlacementTask, operator: Operator, instance: Instance) -> str:
    """How an operator is computed at an instance, in its backend's words."""
    way = wanted.backends[instance.arch.name].way
    return "" if way is None else way(wanted.question(operator, instance))


class _Reasoner:
    def __init__(
        self,
        wanted: PlacementTask,
        candidates: CandidateTable,
        problem: ChainProblem,
        groups: Mapping[str, int],
        judge: Judge | None,
    ) -> None:
        self._wanted, self._table, self._problem = wanted, candidates, problem
        self._judge = judge
        group_of = {i.name: number for number, group in enumerate(problem.groups) for i in group.instances}
        self._grouped = [(instance.name, group_of[instance.name]) for instance in wanted.soc.instances]
        self._arch_of = {instance.name: instance.arch.name for instance in wanted.soc.instances}
        walked = walk(problem, groups)
        before = [] if walked is None else walked[1]
        self._before = {operator.id: masks for operator, masks in zip(problem.order, before, strict=True)}
        self._goals = [*(group.reach for group in problem.groups), problem.outputs]
        self._near = [problem.traffic.mask(goal.reads) for goal in self._goals]
        self._users = _users(problem, groups)
        self._onward: dict[tuple[int, int, int], tuple[int, int] | None] = {}
        self._refused: dict[tuple[str, str, float | None], Candidate] = {}

    def choice(self, operator: Operator, instance: Instance, way: str) -> Choice:
        candidates = self._candidates(operator)
        return Choice(
            operator=operator.id,
            instance=instance.name,
            reason=self._reason(operator, instance, candidates),
            candidates=candidates,
            way=way,
        )

    def _candidates(self, operator: Operator) -> tuple[Candidate, ...]:
        answers = self._table.answers[operator.id]
        costs = [self._cost(operator, number) for number in range(len(self._problem.groups))]
        found = []
        for name, number in self._grouped:
            refusal, cost = answers[name].refusal, costs[number]
            if refusal is None and cost is None:
                refusal = "no copy path leads to where its neighbours are"
            if refusal is not None:
                found.append(self._refusal(name, refusal, answers[name].in_slices))
            else:
                found.append(Candidate(instance=name, cost=cost, instead=self._instead(operator, number)))
        return tuple(found)

    def _instead(self, operator: Operator, number: int) -> str:
        """The value of the objective with the operator on a group, in words; empty for a short run."""
        judge = self._judge
        return "" if judge is None else judge.words(judge.value(operator.id, number))

    def _refusal(self, instance: str, refusal: str, in_slices: float | None) -> Candidate:
        """One candidate for all operators that an instance refuses for the same reason."""
        key = (instance, refusal, in_slices)
        if key not in self._refused:
            self._refused[key] = Candidate(instance=instance, refusal=refusal, in_slices=in_slices)
        return self._refused[key]

    def _cost(self, operator: Operator, number: int) -> Cost | None:
        """Cost of one operator on a group while all others stay at theirs; None if it cannot be there."""
        compute = self._problem.computes[operator.id][number]
        if compute is None:
            return None
        copy_costs = self._problem.copy_costs
        seen, touched = (
            copy_costs.of(operator.id, number, self._before[operator.id]),
            copy_costs.operands[operator.id],
        )
        onward = None if seen is None else self._result(operator, touched.result, seen.output)
        if seen is None or onward is None:
            return None
        parts = [
            CostItem(what=f"copy of `{name}`", seconds=picos / PICO)
            for name, picos in zip(touched.names, seen.brought, strict=True)
            if picos
        ]
        back = seen.left + onward
        named = (("copy of constants", seen.fixed), ("copy of its result", back))
        parts += [CostItem(what=what, seconds=picos / PICO) for what, picos in named if picos]
        group = self._problem.groups[number]
        instance = group.instances[0]
        if group.order:
            parts.append(CostItem(what="order of the host", seconds=group.order))
        answer = self._table.answers[operator.id][instance.name]
        return Cost(
            compute=compute,
            copy=(seen.copy + onward) / PICO,
            order=group.order,
            parts=tuple(parts),
            load=0.0 if instance.arch.host else instance.arch.load.time,
            measured=answer.measured,
            fitted=answer.fitted,
            energy=answer.energy,
            worst=answer.worst,
        )

    def _result(self, operator: Operator, size: int, held_in: int) -> int | None:
        """Picoseconds to bring a result to all its consumers, one after the other."""
        spent = 0
        for goal in self._users.get(operator.output, ()):
            key = (size, held_in, goal)
            if key not in self._onward:
                self._onward[key] = self._brought(size, held_in, goal)
            brought = self._onward[key]
            if brought is None:
                return None
            spent += brought[0]
            held_in = brought[1]
        return spent

    def _brought(self, size: int, held_in: int, number: int) -> tuple[int, int] | None:
        """Picoseconds of copying a tensor beyond those for a tensor nearby, and the memories that then hold
        it.
        """
        goal, traffic = self._goals[number], self._problem.traffic
        brought = traffic.bring(held_in, size, goal)
        near = traffic.bring(self._near[number], size, goal)
        return None if brought is None or near is None else (brought[0] - near[0], brought[1])

    def _reason(self, operator: Operator, instance: Instance, candidates: tuple[Candidate, ...]) -> str:
        required = self._wanted.rules.required(operator)
        if required is not None:
            own = self._wanted.rules.annotated(operator) is not None
            return f"required on `{required}` by {'its model' if own else 'a rule'}"
        sent = self._wanted.rules.sent_to(operator)
        if sent is not None and targets(sent, instance):
            return f"the next that can take it{self._unfit(instance, candidates)}"
        preferred = self._wanted.rules.preferred(operator)
        if preferred is not None and targets(preferred, instance):
            return f"preferred on `{preferred}` by a rule"
        reason = self._by_cost(instance, candidates)
        if self._judge is not None:
            reason = self._by_judge(self._judge, operator, instance, candidates)
        if preferred is None:
            return reason
        refusals = {c.refusal for c in candidates if preferred in (c.instance, self._arch_of[c.instance])}
        return (
            f"{reason}; preferred on `{preferred}`, which refuses it: {'; '.join(sorted(map(str, refusals)))}"
        )

    def _by_judge(
        self, judge: Judge, operator: Operator, instance: Instance, candidates: tuple[Candidate, ...]
    ) -> str:
        """The value of the objective, and the one with the best of the other target_archs."""
        numbers, after = dict(self._grouped), self._unfit(instance, candidates)
        priced = [each.instance for each in candidates if each.cost is not None]
        others = [name for name in priced if self._arch_of[name] != instance.arch.name]
        if not others:
            return f"only `{instance.arch.name}` can take it{after}"
        objective = self._wanted.setting.objective
        mine = judge.words(judge.value(operator.id, numbers[instance.name]))
        rival = min(others, key=lambda name: (judge.value(operator.id, numbers[name]), name))
        theirs = judge.words(judge.value(operator.id, numbers[rival]))
        if mine == theirs:
            return f"{objective}: {mine}, as on `{rival}`{after}"
        return f"{objective}: {mine} vs {theirs} on `{rival}`{after}"

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
        alike = [name for cost, name in priced if arch_of[name] == instance.arch.name and cost == mine]
        others = [(cost.total, name) for cost, name in priced if arch_of[name] != instance.arch.name]
        after = f"; the least busy of {len(alike)} alike" if len(alike) > 1 else ""
        after += self._unfit(instance, candidates)
        if not others:
            return f"only `{instance.arch.name}` can take it{after}"
        theirs, rival = min(others, key=lambda other: other[0])
        if mine.total == theirs:
            return f"as cheap as on `{rival}`, first in the partitioning order{after}"
        if mine.total < theirs:
            return f"cheapest: {duration(mine.total)} vs {duration(theirs)} on `{rival}`{after}"
        alone = f"alone {duration(mine.total)}, and {duration(theirs)} on `{rival}`"
        return f"cheapest together with its neighbours; {alone}{after}"


def _users(problem: ChainProblem, groups: Mapping[str, int]) -> dict[str, list[int]]:
    """By tensor, the groups of all its consumers; the number after the last group is the caller."""
    found: dict[str, list[int]] = {}
    for operator in problem.order:
        for name in dict.fromkeys(operator.inputs):
            found.setdefault(name, []).append(groups[operator.id])
    for name in dict.fromkeys(problem.model.outputs):
        found.setdefault(name, []).append(len(problem.groups))
    return found
