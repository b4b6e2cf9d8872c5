"""Errors of importers."""

from pathlib import Path

from target_arch.diagnostics import Diagnostic, DiagnosticError


def model_error(rule: str, path: Path, message: str, hint: str | None = None) -> DiagnosticError:
    """One mistake in a model file, to be raised."""
    return DiagnosticError([Diagnostic(rule=rule, place=str(path), message=message, hint=hint)])
