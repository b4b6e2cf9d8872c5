"""Custom operators of TFLite Micro: its signal library, circular buffers, and compressed constants.

They are what a front end before a network is made of, and no part of the compiler. Converters are imported
where a model has one of their operators. `docs/operators.md` says what each takes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from target_arch.backend.operators import Convert, OperatorLibrary

if TYPE_CHECKING:
    from target_arch.relax.readers.tflite_operators.site import TFLiteOperator


def _imported(module: str, function: str) -> Convert:
    """Return the converter of a module of this package, which is imported where it is asked for."""

    def convert(site: "TFLiteOperator") -> tuple[Any, ...]:
        results = getattr(import_module(f".{module}", __package__), function)(site)
        return _as_stated(site, results if isinstance(results, list) else [results])

    return convert


def _as_stated(site: "TFLiteOperator", results: list[Any]) -> tuple[Any, ...]:
    """Return the results in the shapes that the file states."""
    values = map(site.builder.normalize, results)
    return tuple(site.reshaped(value, out.shape) for value, out in zip(values, site.outputs, strict=True))


_SIGNAL = {
    "Delay": "delay",
    "Energy": "energy",
    "FftAutoScale": "auto_scale",
    "FilterBank": "filter_bank",
    "FilterBankLog": "logarithm",
    "FilterBankSpectralSubtraction": "spectral_subtraction",
    "FilterBankSquareRoot": "square_root",
    "Framer": "framer",
    "Irfft": "transform",
    "OverlapAdd": "overlap_add",
    "PCAN": "gain_control",
    "Rfft": "transform",
    "Stacker": "stacker",
    "Window": "window",
}

operators = OperatorLibrary(
    name="tflm_operators",
    description="TFLite Micro's signal operators, circular buffers and compressed constants",
    converters={
        ("tflite", "CIRCULAR_BUFFER"): _imported("circular", "circular_buffer"),
        ("tflite", "TFLM_DECODE"): _imported("decoded", "decoded"),
        **{("tflite", f"Signal{name}"): _imported("signal", function) for name, function in _SIGNAL.items()},
    },
)
