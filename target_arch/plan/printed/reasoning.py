"""The printed form of a choice: the parts of its costs, and the changes that would lead to another."""

from collections.abc import Sequence

from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint
from target_arch.plan.model import Model
from target_arch.plan.partitions import Candidate, Choice, Cost

_DECIMALS = 3
_BY_RULE = "a rule "
"""How a refusal begins that stems from a rule."""


def duration(seconds: float) -> str:
    """Seconds with the unit that leaves one to three digits before the point: `1.25 ms`, `340 us`."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 0.9995:
            return (
                f"{seconds * factor:.{_DECIMALS}g} {unit}"
                if seconds * factor < 999.5
                else f"{seconds * factor:.0f} {unit}"
            )
    return f"{seconds * 1e9:.{_DECIMALS}g} ns"


def joules(value: float) -> str:
    """Joules with the unit that leaves one to three digits before the point: `31.2 uJ`."""
    for unit, factor in (("J", 1.0), ("mJ", 1e3), ("uJ", 1e6)):
        if value * factor >= 0.9995:
            return f"{value * factor:.{_DECIMALS}g} {unit}"
    return f"{value * 1e9:.{_DECIMALS}g} nJ"


def reasoning(choice: Choice) -> str:
    """Whole lines: the cost in parts of every candidate that did not refuse, then for every one but the
    chosen the change that would make it win.
    """
    parts = [f"  {each.instance}: {_parts(each.cost)}\n" for each in choice.candidates if each.cost]
    changes = [f"  `{instance}`: {change}\n" for instance, change in changes_to(choice).items()]
    text = "parts\n" + "".join(parts) if parts else ""
    return text + ("what would change it\n" + "".join(changes) if changes else "")


def _parts(cost: Cost) -> str:
    how = " (measured)" if cost.measured else " (fitted)" if cost.fitted else ""
    said = [f"compute {duration(cost.compute)}{how}"]
    said += [f"{part.what} {duration(part.seconds)}" for part in cost.parts]
    text = ", ".join(said)
    if cost.load:
        text += f"; once, to load it {duration(cost.load)}"
    return text if cost.energy is None else f"{text}; {cost.energy * 1e6:.{_DECIMALS}g} uJ"


def changes_to(choice: Choice) -> dict[str, str]:
    """The change with which each other instance would be chosen; without instances that cannot run it."""
    mine = next((each for each in choice.candidates if each.instance == choice.instance), None)
    found = {}
    for other in choice.candidates:
        if other.refusal is not None and other.refusal.startswith(_BY_RULE):
            found[other.instance] = f"if the rule that {other.refusal.removeprefix(_BY_RULE)} were dropped"
        elif other.instead and other is not mine:
            found[other.instance] = other.instead
        elif mine is not None and mine.cost and other.cost and other is not mine:
            found[other.instance] = _change(mine, mine.cost, other, other.cost)
    return found


def _change(mine: Candidate, own: Cost, other: Candidate, cost: Cost) -> str:
    """The change with which an instance would be chosen."""
    if cost == own:
        return "as good; it has more to do"
    more = cost.total - own.total
    if more <= 0:
        return _by_itself(mine, other, -more)
    ways = []
    if cost.compute > more:
        ways.append(
            f"its compute fell from {duration(cost.compute)} to below {duration(cost.compute - more)}"
        )
    alone = (part for part in cost.parts if part.seconds > more)
    ways += [f"the {part.what} ({duration(part.seconds)}) vanished" for part in alone]
    if ways:
        return "if " + ", or ".join(ways)
    return f"if computing and copies together fell by {duration(more)}"


def _by_itself(mine: Candidate, other: Candidate, less: float) -> str:
    cheaper = f"{duration(less)} cheaper by itself" if less else "as cheap by itself"
    if mine.run is None or other.run is None:
        return f"{cheaper}, but not together with its neighbours"
    if other.run == mine.run:
        return f"{cheaper}; the run would be as long, {duration(other.run)}"
    if other.run < mine.run:
        return (
            f"{cheaper}; the run would take {duration(other.run)} instead of {duration(mine.run)}, which the "
            "search model does not see"
        )
    return f"{cheaper}, but the run would take {duration(other.run)} instead of {duration(mine.run)}"


def require_operators(wanted: Sequence[str], model: Model, place: str) -> None:
    """DiagnosticError with every one of the ids that no operator of the model has."""
    known = [operator.id for operator in model.operators]
    unknown = [
        Diagnostic(
            rule="unknown-operator",
            place=place,
            message=f"model `{model.name}` has no operator `{operator}`",
            hint=operator_hint(operator, known),
        )
        for operator in wanted
        if operator not in known
    ]
    if unknown:
        raise DiagnosticError(unknown)


def operator_hint(name: str, known: Sequence[str]) -> str:
    """The hint for an operator that a model lacks: the one with that number, which layers keep whatever their
    kind, else one with a name like it.
    """
    number = name.rpartition("_")[2]
    same = [each for each in known if number.isdigit() and each.rpartition("_")[2] == number]
    return f"did you mean `{same[0]}`?" if same else name_hint(name, known, "it has")
