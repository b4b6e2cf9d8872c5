"""Messages that tell a place, a rule, a cause and one hint.

Tests: `tests/diagnostics`.
"""

from target_arch.diagnostics.advice import Advice, Blank, Entries, Hint, Keyword, advice
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
    "Advice",
    "Blank",
    "Diagnostic",
    "DiagnosticError",
    "Entries",
    "Hint",
    "Keyword",
    "Note",
    "Place",
    "Rule",
    "Span",
    "advice",
    "in_order",
    "listed",
    "name_hint",
    "nearest",
    "refusal",
    "render",
    "render_all",
    "rules",
]
