"""The estimate of every operator at every instance: seconds of computing, or the reason of a refusal.

Refusals come from rules, from the backend, from memories that are too small for whole operands, and from
links that the description lacks.
"""

from collections.abc import Collection, Mapping, MutableMapping
from functools import partial
from typing import Any

from attrs import field, frozen

from target_arch.backend.contract import Backend, Question
from target_arch.diagnostics import Diagnostic, listed
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.stages.errors import PlacementError
from target_arch.stages.paths import reach as access
from target_arch.stages.placement.held import held_bytes, holds_operands, room
from target_arch.stages.placement.measured_costs import known_cost, worst_seconds
from target_arch.stages.placement.rules import Rules, place_of, targets
from target_arch.stages.placement.transfer_costs import Traffic
from target_arch.stages.setting import Setting


@frozen(kw_only=True)
class PlacementTask:
    """A placement task: model, setting, backends and the user's rules. `order` are target_arch names; ties go
    to the first.
    """

    model: Model = field(repr=False)
    setting: Setting
    backends: Mapping[str, Backend] = field(repr=False)
    rules: Rules
    order: tuple[str, ...]
    shared: MutableMapping[object, Any] = field(factory=dict, eq=False, repr=False)
    """What backends keep for the model whatever the chip (`Question.shared`)."""
    in_slices: Collection[tuple[str, str]] = ()
    """The operators and instances where only slices need room for their operands."""
    asked: Collection[str] | None = None
    """The operators that answers are wanted for; None for all."""

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators that answers are wanted for."""
        every = self.model.operators
        return every if self.asked is None else tuple(each for each in every if each.id in self.asked)

    @property
    def soc(self) -> SoC:
        """The chip with measured times."""
        return self.setting.timed

    @property
    def mode(self) -> MemoryMode:
        """How the memories are used."""
        return self.setting.mode

    def question(self, operator: Operator, instance: Instance) -> Question:
        """The query to a backend about an operator at an instance."""
        return Question(
            operator=operator,
            model=self.model,
            instance=instance,
            soc=self.soc,
            goal=self.setting.goal,
            shared=self.shared,
        )


@frozen(kw_only=True)
class Estimate:
    """One instance's estimate for one operator: seconds of computing, and joules, where they were measured
    or the power of the chip is known; or a refusal. `fitted` where a model of costs that was fitted to
    measurements says it. `in_slices` are the seconds of computing where only slices have room: the whole is
    refused. `worst` are the most seconds that it takes, where costs state these.
    """

    compute: float | None = None
    refusal: str | None = None
    in_slices: float | None = None
    measured: bool = False
    fitted: bool = False
    energy: float | None = None
    worst: float | None = None


class CandidateTable:
    """All estimates, by operator id and instance name, and the copy paths they use."""

    def __init__(self, wanted: PlacementTask) -> None:
        self._wanted = wanted
        self.routes = wanted.setting.ordered_routes
        self.traffic = Traffic(wanted.soc, self.routes)
        self._instances = wanted.soc.instances
        near, fixed = access.resting(wanted.mode), wanted.mode.constants
        self._near, self._fixed = (near, self.traffic.mask(near)), (fixed, self.traffic.mask(fixed))
        self._home = access.MemoryAccess(reads=near, writes=())
        self._refusals: dict[str, Estimate] = {}
        costs, holds = wanted.setting.costs, partial(holds_operands, setting=wanted.setting)
        self._active = {arch.name: costs.power(wanted.soc, arch.name).active for arch in wanted.soc.archs}
        self._rooms = {each.name: room(wanted.soc, each) for each in filter(holds, self._instances)}
        self.reaches = {instance.name: self._reach(instance) for instance in self._instances}
        self.answers = {operator.id: self._ask(operator) for operator in wanted.operators}
        self._require_honoured()

    def _reach(self, instance: Instance) -> access.MemoryAccess:
        wanted = self._wanted
        whole = wanted.setting.touches_whole(instance.name)
        return access.memory_access(wanted.soc, wanted.mode, instance, whole=whole)

    def _ask(self, operator: Operator) -> dict[str, Estimate]:
        required = self._wanted.rules.required(operator)
        answers = {i.name: self._answer(operator, i, required) for i in self._instances}
        sent = self._wanted.rules.sent_to(operator)
        preferred = sent or self._wanted.rules.preferred(operator)
        if preferred is None:
            return answers
        meant = {i.name for i in self._instances if targets(preferred, i)}
        if all(answers[name].refusal is not None for name in meant):
            return answers
        why = f"it goes to `{sent}` first" if sent else f"a rule prefers it on `{preferred}`"
        elsewhere = Estimate(refusal=why)
        return {
            name: answer if name in meant or answer.refusal is not None else elsewhere
            for name, answer in answers.items()
        }

    def _answer(self, operator: Operator, instance: Instance, required: str | None) -> Estimate:
        wanted = self._wanted
        backend = wanted.backends.get(instance.arch.name)
        if backend is None:
            return self._refusal(f"no backend `{instance.arch.backend}` is installed")
        question = wanted.question(operator, instance)
        large = self._too_large(operator, instance)
        refusal = self._ruled_out(operator, instance, required) or backend.supports(question)
        missing = None if refusal else self._unreachable(operator, instance)
        refusal = refusal or large or missing
        if refusal is not None and (refusal is not large or missing is not None):
            return self._refusal(refusal)
        estimate = self._estimate(operator, instance, backend, question)
        return estimate if large is None else Estimate(refusal=large, in_slices=estimate.compute)

    def _estimate(
        self, operator: Operator, instance: Instance, backend: Backend, question: Question
    ) -> Estimate:
        wanted = self._wanted
        costs = wanted.setting.costs
        known = known_cost(costs, question, backend)
        seconds = (backend.cost(question) if known is None else known.seconds) + instance.arch.wake
        if known is not None and known.energy is not None:
            energy: float | None = known.energy
        else:
            active = self._active[instance.arch.name]
            energy = None if active is None else active * seconds
        worst = worst_seconds(costs, question)
        return Estimate(
            compute=seconds,
            worst=None if worst is None else max(seconds, worst + instance.arch.wake),
            measured=known is not None and not known.fitted and not known.scaled,
            fitted=known is not None and known.fitted,
            energy=energy,
        )

    def _refusal(self, why: str) -> Estimate:
        """One answer for all operators that are refused for the same reason."""
        if why not in self._refusals:
            self._refusals[why] = Estimate(refusal=why)
        return self._refusals[why]

    def _ruled_out(self, operator: Operator, instance: Instance, required: str | None) -> str | None:
        rules = self._wanted.rules
        if required is not None and not targets(required, instance):
            said = "a rule requires it" if rules.annotated(operator) is None else "its model puts it"
            return f"{said} on `{required}`"
        if instance.arch.name in rules.left_out:
            return "it is not among the chosen targets"
        if operator.kind is OperatorKind.STORE and not instance.arch.host:
            return "the host stores states"
        if rules.forbids(operator, instance):
            in_turn = instance.name in rules.in_turn
            return "frames in flight take turns on it" if in_turn else "a rule forbids it"
        unfit = rules.unfit(operator.id, instance)
        return None if unfit is None else f"does not fit: {unfit}"

    def _too_large(self, operator: Operator, instance: Instance) -> str | None:
        """Whole-tensor kernels away from the host need all their operands in their own memories at once."""
        wanted, available = self._wanted, self._rooms.get(instance.name)
        if available is None or (operator.id, instance.name) in wanted.in_slices:
            return None
        needed = held_bytes(operator, wanted.model, instance, wanted.setting)
        if needed <= available:
            return None
        return f"its operands need {needed:,} B, {listed(instance.memory)} has {available:,} B"

    def _unreachable(self, operator: Operator, instance: Instance) -> str | None:
        """The missing link on the way of the operands to the instance, or of the result back to the host."""
        there, tensors, bring = self.reaches[instance.name], self._wanted.model.tensors, self.traffic.bring
        for names, (homes, mask) in ((operator.inputs, self._near), (operator.constants, self._fixed)):
            for name in names:
                if bring(mask, tensors[name].bytes, there) is None:
                    return self.routes.missing(homes, there.local or there.reads)
        size = tensors[operator.output].bytes
        left = self.traffic.leave(size, there)
        if left is None or bring(left[1], size, self._home) is None:
            return self.routes.missing(there.local or there.writes, self._home.reads)
        return None

    def _require_honoured(self) -> None:
        """PlacementError for rules that require operators on targets of which every instance refuses them;
        operators of one kind with one reason are one mistake.
        """
        found: dict[tuple[str, str], list[Operator]] = {}
        for operator in self._wanted.operators:
            said = self._dishonoured(operator)
            if said is not None:
                found.setdefault(said, []).append(operator)
        if found:
            raise PlacementError(
                Diagnostic(
                    rule="placement-not-honoured", place=place_of(*refused), message=message, hint=hint
                )
                for (message, hint), refused in found.items()
            )

    def _dishonoured(self, operator: Operator) -> tuple[str, str] | None:
        """The message and the hint where every instance that is required refuses the operator."""
        required, answers = self._wanted.rules.required(operator), self.answers[operator.id]
        if required is None:
            return None
        meant = [i.name for i in self._instances if targets(required, i)]
        if not meant or any(answers[name].refusal is None for name in meant):
            return None
        why = "; ".join(f"`{name}`: {answers[name].refusal}" for name in meant)
        if self._wanted.rules.annotated(operator) is not None:
            said = f"its model puts `{operator.kind}` on `{required}`, which refuses it: {why}"
            return said, "put it on another VDevice, or require a target for its id"
        said = f"a rule requires `{operator.kind}` on `{required}`, which refuses it: {why}"
        return said, "drop the rule, or require a target that supports the operator"
