"""Errors of importers."""

from collections.abc import Mapping
from pathlib import Path
from traceback import walk_tb

from target_arch.diagnostics import Diagnostic, DiagnosticError


class UnsupportedOperatorsError(DiagnosticError):
    """Operators without a form; `reasons` has the cause by the operator's name in its format."""

    def __init__(self, diagnostic: Diagnostic, reasons: Mapping[str, str]) -> None:
        super().__init__([diagnostic])
        self.reasons = reasons


def model_error(rule: str, path: Path, message: str, hint: str | None = None) -> DiagnosticError:
    """One mistake in a model file, to be raised."""
    return DiagnosticError([Diagnostic(rule=rule, place=str(path), message=message, hint=hint)])


_TVM = ("tvm", "tvm_ffi")


def reason_of(error: Exception) -> str:
    """Why an operator has no function: the words of the error, unless TVM raised it."""
    modules = (frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__))
    *_, raised_by = (name for name in modules if name is not None)  # frames of C++ have none
    return "its definition fails" if raised_by.partition(".")[0] in _TVM else str(error)
