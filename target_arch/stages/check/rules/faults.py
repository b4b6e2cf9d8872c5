"""Faults as the rules of the checker state them, and their places."""

from collections.abc import Iterable, Iterator

from target_arch.diagnostics import Diagnostic
from target_arch.plan.steps import Copy, Dispatch, Fill, Step, Wait

Fault = tuple[str, str]
"""The name of the violated rule, and the message. The caller adds the place: a step, or the plan."""


def at(place: str, faults: Iterable[Fault]) -> Iterator[Diagnostic]:
    """The faults as diagnostics of that place."""
    return (Diagnostic(rule=rule, place=place, message=message) for rule, message in faults)


def described(number: int, step: Step) -> str:
    """A step as the place of a fault."""
    if isinstance(step, Dispatch):
        return f"step {number} (dispatch {step.operator} on {step.instance})"
    if isinstance(step, Copy):
        return f"step {number} (copy {step.source.of} to {step.target.of})"
    if isinstance(step, Wait):
        return f"step {number} (wait {step.event})"
    if isinstance(step, Fill):
        return f"step {number} (fill {step.copy.target.of} from {step.copy.source.of})"
    return f"step {number} (load {step.instance})"
