"""Bring models onto heterogeneous SoCs.

The names below are for programs; `docs/python.md` has them with examples. They are imported when they are
asked for, since TVM takes a second. Errors are `DiagnosticError`, with the diagnostics as values.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from target_arch.api.bundle import Bundle
    from target_arch.api.calibration import calibrate_costs
    from target_arch.api.chosen import choose_chip, fit_chip
    from target_arch.api.compilation import Compilation, compile, compile_models
    from target_arch.api.explored import explore_chips, point_chip
    from target_arch.api.inventory import operators
    from target_arch.api.placed import partition
    from target_arch.api.quantizing import quantize_model
    from target_arch.api.relax_codegen import register_codegen
    from target_arch.api.soc import load_soc
    from target_arch.api.tuning import tune_kernels
    from target_arch.api.views.report import compare
    from target_arch.diagnostics import DiagnosticError

__version__ = "0.1.0"

__all__ = [
    "Bundle",
    "Compilation",
    "DiagnosticError",
    "calibrate_costs",
    "choose_chip",
    "compare",
    "compile",
    "compile_models",
    "explore_chips",
    "fit_chip",
    "load_soc",
    "operators",
    "partition",
    "point_chip",
    "quantize_model",
    "register_codegen",
    "tune_kernels",
]

_PLACES = {
    "Bundle": "target_arch.api.bundle",
    "Compilation": "target_arch.api.compilation",
    "DiagnosticError": "target_arch.diagnostics",
    "calibrate_costs": "target_arch.api.calibration",
    "choose_chip": "target_arch.api.chosen",
    "compare": "target_arch.api.views.report",
    "compile": "target_arch.api.compilation",
    "compile_models": "target_arch.api.compilation",
    "explore_chips": "target_arch.api.explored",
    "fit_chip": "target_arch.api.chosen",
    "load_soc": "target_arch.api.soc",
    "operators": "target_arch.api.inventory",
    "partition": "target_arch.api.placed",
    "point_chip": "target_arch.api.explored",
    "quantize_model": "target_arch.api.quantizing",
    "register_codegen": "target_arch.api.relax_codegen",
    "tune_kernels": "target_arch.api.tuning",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module `target_arch` has no attribute `{name}`")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
