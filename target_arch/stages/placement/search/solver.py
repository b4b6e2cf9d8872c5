"""OR-tools CP-SAT, an extra."""

from typing import Any

from target_arch.diagnostics import Diagnostic
from target_arch.stages.errors import SolverMissingError


def cp_sat() -> Any:
    """The module `cp_model` of OR-tools. Raises SolverMissingError where it is not installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        said = "the exact method needs OR-tools, which is not installed"
        hint = "pip install 'target-arch[exact]'"
        raise SolverMissingError(
            [Diagnostic(rule="solver-missing", place="exact", message=said, hint=hint)]
        ) from None
    return cp_model
