"""Bring models onto heterogeneous SoCs.

The names below are for programs; `docs/python.md` has them with examples. They are imported when they are
asked for, since TVM takes a second. Errors are `DiagnosticError`, with the diagnostics as values.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from target_arch.api.bundle import Bundle
    from target_arch.api.compilation import Compilation, compile
    from target_arch.api.soc import load_soc
    from target_arch.diagnostics import DiagnosticError

__version__ = "0.1.0"

__all__ = ["Bundle", "Compilation", "DiagnosticError", "compile", "load_soc"]

_PLACES = {
    "Bundle": "target_arch.api.bundle",
    "Compilation": "target_arch.api.compilation",
    "DiagnosticError": "target_arch.diagnostics",
    "compile": "target_arch.api.compilation",
    "load_soc": "target_arch.api.soc",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module `target_arch` has no attribute `{name}`")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
