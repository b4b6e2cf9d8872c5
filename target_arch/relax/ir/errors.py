"""Errors of importers."""

from collections.abc import Mapping
from pathlib import Path

from target_arch.diagnostics import Diagnostic, DiagnosticError


class UnsupportedOperatorsError(DiagnosticError):
    """Operators without a form; `reasons` has the cause by the operator's name in its format."""

    def __init__(self, diagnostic: Diagnostic, reasons: Mapping[str, str]) -> None:
        super().__init__([diagnostic])
        self.reasons = reasons


def model_error(rule: str, path: Path, message: str, hint: str | None = None) -> DiagnosticError:
    """One mistake in a model file, to be raised."""
    return DiagnosticError([Diagnostic(rule=rule, place=str(path), message=message, hint=hint)])
