"""Messages that tell a place, a rule, a cause and one hint.

Tests: `tests/diagnostics`.
"""

from target_arch.diagnostics.diagnostic import (
    Diagnostic,
    DiagnosticError,
    Note,
    Place,
    in_order,
    refusal,
    render,
    render_all,
)
from target_arch.diagnostics.names import listed, name_hint, nearest
from target_arch.diagnostics.rules import Rule, rules
from target_arch.diagnostics.span import Span

__all__ = [
    "Diagnostic",
    "DiagnosticError",
    "Note",
    "Place",
    "Rule",
    "Span",
    "in_order",
    "listed",
    "name_hint",
    "nearest",
    "refusal",
    "render",
    "render_all",
    "rules",
]
