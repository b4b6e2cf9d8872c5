"""The user's rules for the placement, and the check that they name existing things."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from target_arch.diagnostics import Diagnostic, listed, name_hint
from target_arch.plan.model import Model, Operator
from target_arch.soc.model import DLDevice, Instance, SoC
from target_arch.stages.errors import PlacementError

EVERY = "*"
_NAMED = 4
"""Operators that a message names beside the first."""


@frozen(kw_only=True, slots=False)
class Rules:
    """Rules for the placement. An operator is named by id, by kind, or as `*`; the id goes before the device
    that its model puts it on, this before the kind, and the kind before `*`.

    A target is a target_arch (any of its instances) or one instance such as `fpga_conv2d[1]`.
    """

    require: Mapping[str, str] = field(factory=dict)
    forbid: tuple[tuple[str, str], ...] = ()
    prefer: Mapping[str, str] = field(factory=dict)
    """Where an operator goes if it can, whatever it costs there."""
    given_up: tuple[tuple[str, str, str], ...] = ()
    """Operator, target and reason of placements that did not fit; lowering adds these, not the user."""

    devices: Mapping[DLDevice, str] = field(factory=dict)
    """The instances by the devices that models put operators on."""
    left_out: frozenset[str] = frozenset()
    """target_archs that get no operator, as they are not among the chosen targets."""
    in_turn: frozenset[str] = frozenset()
    """Cores that compute every operator of a frame in place of another core; planning adds these."""
    general: frozenset[str] = frozenset()
    """Kinds that the model need not have: rules of a SoC file are for many models."""
    sent: Mapping[str, str] = field(factory=dict)
    """The next target of operators (by id) that did not fit; lowering adds these, not the user."""

    def required(self, operator: Operator) -> str | None:
        """The required target of an operator, None if it may go to any."""
        own = self.annotated(operator)
        return _wished(self.require, operator) if own is None else own

    def annotated(self, operator: Operator) -> str | None:
        """The instance that the model puts an operator on; None where a rule has its id, and without one."""
        if operator.device is None or operator.id in self.require:
            return None
        return self.devices.get(operator.device.device)

    def preferred(self, operator: Operator) -> str | None:
        """The preferred target of an operator; None if there is none, or a target is required."""
        if self.required(operator) is not None:
            return None
        return _wished(self.prefer, operator)

    def forbids(self, operator: Operator, instance: Instance) -> bool:
        """True where the operator must not go to the instance."""
        if instance.name in self.in_turn:
            return True
        names = (operator.id, operator.kind, EVERY) if self.forbid else ()
        return any(name in names and targets(target, instance) for name, target in self.forbid)

    def unfit(self, operator: str, instance: Instance) -> str | None:
        """The reason why the operator (by id) did not fit on the instance; None if it was not found so."""
        found = self._given_up.get(operator, ())
        return next((why for target, why in found if targets(target, instance)), None) if found else None

    def sent_to(self, operator: Operator) -> str | None:
        """The next target of an operator that did not fit elsewhere; None if cost or a rule decides."""
        return self.sent.get(operator.id) if self.required(operator) is None else None

    @cached_property
    def _given_up(self) -> dict[str, list[tuple[str, str]]]:
        """Targets and reasons by operator: every operator asks, and any number may not fit."""
        found: dict[str, list[tuple[str, str]]] = {}
        for operator, target, why in self.given_up:
            found.setdefault(operator, []).append((target, why))
        return found

    def sending(self, wishes: Mapping[str, str | None]) -> "Rules":
        """These rules, and each of these operators (by id) goes to its target; with None cost decides."""
        sent = {**self.sent, **wishes}
        return evolve(self, sent={id: target for id, target in sent.items() if target is not None})

    def giving_up(self, found: Iterable[tuple[str, str, str]]) -> "Rules":
        """These rules, and never again an operator on a target, each pair with its reason."""
        return evolve(self, given_up=(*self.given_up, *found))

    def in_turn_on(self, cores: Iterable[str]) -> "Rules":
        """These rules, and no operator of its own on these cores, as frames take turns on them."""
        return evolve(self, in_turn=self.in_turn.union(cores))

    def taking_back(self, pairs: Iterable[tuple[str, str]]) -> "Rules":
        """These rules, in which these operators may go to these targets again."""
        back = frozenset(pairs)
        kept = (each for each in self.given_up if each[:2] not in back)
        return evolve(self, given_up=tuple(kept))


def targets(target: str, instance: Instance) -> bool:
    """True where the name of a target means the instance."""
    return target in (instance.name, instance.arch.name)


def check_rules(rules: Rules, model: Model, soc: SoC, kinds: Iterable[str] = ()) -> None:
    """Raises PlacementError with every rule that names an operator or a target which does not exist.

    `kinds` are kinds of operators that exist without being in the model; general rules may name them.
    """
    operators = {EVERY, *(name for op in model.operators for name in (op.id, op.kind))}
    operators |= rules.general.intersection(kinds)
    known = {name for instance in soc.instances for name in (instance.name, instance.arch.name)}
    found = [
        problem
        for verb, pairs in (
            ("require", rules.require.items()),
            ("prefer", rules.prefer.items()),
            ("forbid", rules.forbid),
        )
        for operator, target in pairs
        for problem in _problems(f"rule `{verb} {operator} = {target}`", operator, target, operators, known)
    ]
    if rules.devices:
        found += [
            problem for operator in model.operators for problem in _device_problems(operator, rules, soc)
        ]
    if found:
        raise PlacementError(found)


def _device_problems(operator: Operator, rules: Rules, soc: SoC) -> Iterable[Diagnostic]:
    """Faults of the device that the model puts an operator on."""
    if operator.device is None or operator.id in rules.require:
        return
    place, device, memory = place_of(operator), operator.device.device, operator.device.memory
    instance = next((each for each in soc.instances if each.device == device), None)
    if instance is None:
        known = ", ".join(f"`{each.device}` (`{each.name}`)" for each in soc.instances)
        message = f"the model puts it on device `{device}`, which `{soc.name}` does not have"
        yield Diagnostic(rule="unknown-device", place=place, message=message, hint=f"devices are {known}")
    elif memory is not None and memory not in instance.memory:
        message = (
            f"the model puts its result into `{memory}` on `{instance.name}`, which keeps no operands there"
        )
        hint = f"memories of its operands are {listed(instance.memory)}; scope `global` leaves the choice"
        yield Diagnostic(rule="unknown-device", place=place, message=message, hint=hint)


def place_of(operator: Operator, *others: Operator) -> str:
    """The place of a message about an operator, and about others that it holds for, too."""
    first = f"operator {operator.id}" + (f" ({operator.location})" if operator.location else "")
    named = ", ".join((first, *(each.id for each in others[:_NAMED])))
    return f"{named} and {len(others) - _NAMED} more" if len(others) > _NAMED else named


def _wished(wishes: Mapping[str, str], operator: Operator) -> str | None:
    for name in (operator.id, operator.kind, EVERY) if wishes else ():
        if name in wishes:
            return wishes[name]
    return None


def _problems(
    place: str, operator: str, target: str, operators: Iterable[str], known: Iterable[str]
) -> Iterable[Diagnostic]:
    if operator not in operators:
        yield Diagnostic(
            rule="unknown-operator",
            place=place,
            message=f"the model has no operator and no kind of operator `{operator}`",
            hint=name_hint(operator, operators, "known here"),
        )
    if target not in known:
        yield Diagnostic(
            rule="unknown-target",
            place=place,
            message=f"this SoC has no target_arch and no instance `{target}`",
            hint=name_hint(target, known, "declared here"),
        )
