"""The refusal of a model for its operators: all of them in one message, each with its first place."""

from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from target_arch.diagnostics import Blank, Diagnostic, DiagnosticError, Entries, Keyword, Note, advice
from target_arch.relax.ir.errors import UnsupportedOperatorsError
from target_arch.relax.readers.frontend import HINT, plural


@frozen(kw_only=True)
class Unsupported:
    """One use of an operator that has no form here: where it stands, and why. With constants in place of
    these `inputs` of the model it would have one.
    """

    operator: str
    place: str
    reason: str
    inputs: tuple[str, ...] = ()


def unsupported(path: Path, found: Iterable[Unsupported]) -> DiagnosticError:
    """One message with every operator, to be raised."""
    by_operator: dict[str, list[Unsupported]] = {}
    values: dict[str, Blank] = {}
    for each in found:
        by_operator.setdefault(each.operator, []).append(each)
        values |= dict.fromkeys(each.inputs, Blank("NUMBER"))
    constants = Keyword("input_values", Entries(tuple(values.items())))
    hint = advice(f"{HINT}, or make inputs constant: ", constants) if values else HINT
    notes = tuple(Note(place=str(path), message=_note(uses)) for _, uses in sorted(by_operator.items()))
    message = f"{plural(list(by_operator))} not supported"
    diagnostic = Diagnostic(
        rule="unsupported-operator", place=str(path), message=message, notes=notes, hint=hint
    )
    return UnsupportedOperatorsError(diagnostic, {name: uses[0].reason for name, uses in by_operator.items()})


def _note(uses: list[Unsupported]) -> str:
    first = uses[0]
    times = f"{len(uses)} times, first" if len(uses) > 1 else "once,"
    return f"`{first.operator}` {times} at `{first.place}`: {first.reason}"
