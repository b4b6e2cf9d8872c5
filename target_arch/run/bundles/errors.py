"""Errors about a folder."""

from pathlib import Path

from target_arch.diagnostics import Diagnostic, DiagnosticError


def refusal(rule: str, place: Path, message: str, hint: str) -> DiagnosticError:
    """One diagnostic as an error to raise."""
    return DiagnosticError([Diagnostic(rule=rule, place=str(place), message=message, hint=hint)])


def unwritable(path: Path, error: OSError) -> DiagnosticError:
    """The error for a file or folder that the system does not let us write."""
    hint = "name a folder that you may write to"
    return refusal("output-unwritable", path, f"cannot be written: {error.strerror}", hint)
