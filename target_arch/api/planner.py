"""The planner of a compilation as text, `search,nodes=100000,seed=3`, as a value."""

from typing import Any

from attrs import evolve

from target_arch.backend.planner import Effort
from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint
from target_arch.stages.memory.planner import Planner

_KEYS = {"nodes": int, "seconds": float, "seed": int}


def planner(text: str) -> Planner:
    """The planner that was asked for. DiagnosticError for a malformed limit; names are checked later."""
    name, *limits = text.split(",")
    effort = Effort()
    keys = [limit.partition("=")[0] for limit in limits]
    for key in keys:
        if keys.count(key) > 1:
            raise _refused(f"`{key}` is given twice", None)
    for limit in limits:
        effort = _limited(effort, *limit.partition("=")[::2])
    return Planner(algorithm=name, effort=effort if limits else None)


def _limited(effort: Effort, key: str, value: str) -> Effort:
    if key not in _KEYS:
        raise _refused(f"a planner has no `{key}`", name_hint(key, _KEYS, "known"))
    changes: dict[str, Any] = {}
    try:
        changes[key] = _KEYS[key](value)
        return evolve(effort, **changes)
    except ValueError:
        kind = "a whole number" if _KEYS[key] is int else "a number"
        raise _refused(f"`{key}` of a planner is {kind}, not `{value}`", None) from None


def _refused(message: str, hint: str | None) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule="bad-planner", place="planner", message=message, hint=hint)])
