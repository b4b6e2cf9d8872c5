"""The partitions of a divided model: slices where their shares say, everything else where it was."""

from collections.abc import Mapping
from functools import cached_property

from attrs import define, evolve, field

from target_arch.backend.contract import Backend
from target_arch.diagnostics import Diagnostic
from target_arch.plan.division import Cut, Division
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Candidate, Choice, Cost, PartitionGraph
from target_arch.soc.rounding import ceil_div
from target_arch.stages.division.foreign import foreign_bytes
from target_arch.stages.division.rewriting import Divided, divided
from target_arch.stages.division.room import too_large
from target_arch.stages.division.shares import line
from target_arch.stages.errors import PlacementError, StepError
from target_arch.stages.memory.warm import LINE
from target_arch.stages.placement.candidates import CandidateTable, Estimate, PlacementTask
from target_arch.stages.placement.grouping import Grouping
from target_arch.stages.placement.operator_order import execution_order
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.expected import expected_run


@define(kw_only=True, eq=False, slots=False)
class DividedGraphs:
    """Makes graphs of a placed model with some of its operators divided. What a slice costs is asked once."""

    base: PartitionGraph = field(repr=False)
    setting: Setting
    backends: Mapping[str, Backend] = field(repr=False)
    rules: Rules
    _known: dict[tuple[object, ...], Mapping[str, Estimate]] = field(factory=dict, repr=False)

    @property
    def order(self) -> tuple[Operator, ...]:
        """The operators of the model as they are placed, in the order of their run."""
        return tuple(each for partition in self.base.partitions for each in partition.operators)

    @cached_property
    def needed(self) -> frozenset[str]:
        """The operators that have to be divided: their instances have no room for all operands."""
        model, setting = self.base.model, self.setting
        homes = {choice.operator: setting.soc.instance(choice.instance) for choice in self.base.choices}
        return frozenset(
            each.id for each in model.operators if too_large(each, model, homes[each.id], setting)
        )

    def graph(self, division: Division) -> PartitionGraph | None:
        """The graph with these operators divided; None where an instance does not take its share, or an
        operator is whole that has to be divided.
        """
        if self.needed - division.keys():
            return None
        homes = {choice.operator: choice.instance for choice in self.base.choices}
        made = divided(self.base.model, self.order, division, {**homes, "": self.setting.soc.host.name})
        answers = self._answers(made, division)
        choices: dict[str, Choice] = {}
        for operator in made.model.operators:
            choice = self._choice(operator, made, answers, division)
            if choice is None:
                return None
            choices[operator.id] = choice
        choices = self._with_lines(made.model, choices)
        grouping = Grouping(model=made.model, setting=self.setting, backends=self.backends)
        return PartitionGraph(
            model=made.model,
            partitions=grouping.partitions(made.model.operators, choices),
            choices=tuple(choices[operator.id] for operator in made.model.operators),
            facts=self.base.facts,
        )

    def lean(self, graph: PartitionGraph) -> PartitionGraph:
        """The graph with its operators in the order in which fewest bytes are live."""
        order, choices = execution_order(graph.model), {each.operator: each for each in graph.choices}
        grouping = Grouping(model=graph.model, setting=self.setting, backends=self.backends)
        return evolve(
            graph,
            partitions=grouping.partitions(order, choices),
            choices=tuple(choices[operator.id] for operator in order),
        )

    def seconds(self, division: Division) -> float | None:
        """The expected run with these operators divided; None where an instance does not take its share."""
        graph = self.graph(division) if division or self.needed else self.base
        if graph is None:
            return None
        try:
            return expected_run(PartialLowering(setting=self.setting, graph=graph, kernels={})).makespan
        except StepError:
            return None

    def _choice(
        self,
        operator: Operator,
        made: Divided,
        answers: Mapping[str, Mapping[str, Estimate]],
        division: Division,
    ) -> Choice | None:
        part = made.model.slices.get(operator.id)
        if part is None and operator.id not in answers:
            return self.base.choice(operator.id)
        found = answers[operator.id]
        if part is None:
            where, reason = made.helpers[operator.id], "bytes of neighbours that are divided"
            if found[where].refusal is not None:
                where = self.setting.soc.host.name
        else:
            where, cut = made.wanted[operator.id], division[part.operator]
            reason = _reason(cut, part.stop - part.start)
        if found[where].refusal is not None:
            return None
        return Choice(
            operator=operator.id,
            instance=where,
            reason=reason,
            candidates=tuple(_candidate(name, answer) for name, answer in found.items()),
        )

    def _with_lines(self, model: Model, choices: Mapping[str, Choice]) -> dict[str, Choice]:
        """The choices with the time for lines of caches that other cores wrote."""
        where = {id: choice.instance for id, choice in choices.items()}
        foreign = foreign_bytes(model, where) if self.line else {}
        late = {id: self.line * ceil_div(bytes, LINE) for id, bytes in foreign.items()}
        return {id: _later(choice, late[id]) if id in late else choice for id, choice in choices.items()}

    @cached_property
    def line(self) -> float:
        """As `shares.line`."""
        return line(self.setting.soc)

    def _answers(self, made: Divided, division: Division) -> dict[str, Mapping[str, Estimate]]:
        """The estimates of everything that the model of the file does not have, by operator and instance."""
        known = self.base.model.numbers
        fresh = [operator for operator in made.model.operators if operator.id not in known]
        keys = {operator.id: _key(operator, made) for operator in fresh}
        asked = {keys[operator.id]: operator.id for operator in fresh if keys[operator.id] not in self._known}
        if asked:
            table = CandidateTable(
                PlacementTask(
                    model=made.model,
                    asked=frozenset(asked.values()),
                    setting=self.setting,
                    backends=self.backends,
                    rules=Rules(left_out=self.rules.left_out),
                    order=self.setting.soc.partitioning,
                )
            )
            self._known |= {key: table.answers[id] for key, id in asked.items()}
        return {id: self._allowed(id, made, self._known[key]) for id, key in keys.items()}

    def _allowed(self, id: str, made: Divided, answers: Mapping[str, Estimate]) -> Mapping[str, Estimate]:
        """The answers, and the refusals that the whole operator met by a rule. A slice takes at least its
        share of the time of the whole operator.
        """
        part = made.model.slices.get(id)
        if part is None:
            return answers
        whole = {each.instance: each for each in self.base.choice(part.operator).candidates}
        extent = self.base.model.tensors[self.base.operator(part.operator).output].shape[part.axis]
        share = len(part.places) / extent
        return {name: _bounded(answer, whole[name], share) for name, answer in answers.items()}


def _later(choice: Choice, seconds: float) -> Choice:
    """The choice with so many more seconds at its instance."""

    def later(each: Candidate) -> Candidate:
        if each.instance != choice.instance or each.cost is None:
            return each
        worst = each.cost.worst
        cost = evolve(
            each.cost,
            compute=each.cost.compute + seconds,
            worst=None if worst is None else worst + seconds,
        )
        return evolve(each, cost=cost)

    return evolve(choice, candidates=tuple(later(each) for each in choice.candidates))


def _bounded(answer: Estimate, whole: Candidate, share: float) -> Estimate:
    if answer.compute is None:
        return answer
    if whole.cost is None:
        return Estimate(refusal=whole.refusal)
    compute, worst = max(answer.compute, whole.cost.compute * share), answer.worst
    if whole.cost.worst is not None and whole.cost.compute:
        worst = max(worst or 0.0, compute * whole.cost.worst / whole.cost.compute)
    return evolve(answer, compute=compute, worst=None if worst is None else max(worst, compute))


def as_placed(graph: PartitionGraph, rules: Rules, wanted: Rules) -> PartitionGraph:
    """The graph, where rules are those under which it was made. Raises PlacementError for others: a division
    is not placed again.
    """
    if wanted == rules:
        return graph
    message = "a divided model is not placed again"
    raise PlacementError([Diagnostic(rule="does-not-fit", place=graph.model.name, message=message)])


def _key(operator: Operator, made: Divided) -> tuple[object, ...]:
    """The facts that estimates of an operator depend on: its own, and which operators may share its call."""
    tensors, uses = made.model.tensors, made.model.uses
    part = made.model.slices.get(operator.id)
    shapes = tuple(tensors[name].shape for name in (*operator.inputs, *operator.constants, operator.output))
    same = operator.kind if part is None else part.operator
    reader = made.model.readers.get(operator.output)
    makers = (made.model.makers.get(name) for name in operator.inputs)
    near = (reader and reader.kind, *(maker and (maker.kind, uses[maker.output]) for maker in makers))
    own = (same, tensors[operator.output].dtype, shapes, tuple(sorted(operator.attributes.items())))
    return (*own, uses[operator.output], *near)


def _candidate(name: str, answer: Estimate) -> Candidate:
    if answer.compute is None:
        return Candidate(instance=name, refusal=answer.refusal, in_slices=answer.in_slices)
    cost = Cost(compute=answer.compute, measured=answer.measured, energy=answer.energy, worst=answer.worst)
    return Candidate(instance=name, cost=cost)


def _reason(cut: Cut, places: int) -> str:
    return (
        f"{places} {'place' if places == 1 else 'places'} of `{cut.operator}`, which is divided: {cut.words}"
    )
