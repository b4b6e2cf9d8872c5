"""The library for a model file, by its ending."""

from collections.abc import Callable, Mapping
from pathlib import Path

from target_arch.diagnostics import listed, refusal
from target_arch.quantize.data import LabelledFrames
from target_arch.quantize.library import QuantizedModel
from target_arch.quantize.onnx_file import one_frame_onnx, onnx_quantizer, require_float_onnx
from target_arch.quantize.pt2_file import pt2_quantizer, require_float_pt2
from target_arch.quantize.tflite_file import as_it_is, require_float_tflite, tflite_quantizer
from target_arch.relax.importer import SWAPPED
from target_arch.soc import shipped_socs

_CALIBRATED: Mapping[str, Callable[[Path, LabelledFrames, Path], QuantizedModel]] = {
    ".onnx": onnx_quantizer,
    ".pt2": pt2_quantizer,
    ".tflite": tflite_quantizer,
}
_ONE_FRAME: Mapping[str, Callable[[Path, Path], Path]] = {
    ".onnx": one_frame_onnx,
    ".pt2": as_it_is,
    ".tflite": as_it_is,
}
_REQUIRED: Mapping[str, Callable[[Path], None]] = {
    ".onnx": require_float_onnx,
    ".pt2": require_float_pt2,
    ".tflite": require_float_tflite,
}

FORMATS = tuple(_REQUIRED)
"""How files end that are quantized here."""


def require_float(model: Path) -> None:
    """DiagnosticError for a file of another format, one that is not there, and one that is quantized."""
    if not model.is_file():
        hint = SWAPPED if str(model) in shipped_socs() else None
        raise refusal("model-not-found", model, "there is no such file", hint)
    suffix = model.suffix.lower()
    if suffix not in FORMATS:
        hint = SWAPPED if suffix == ".toml" else f"models that are quantized here end with {listed(FORMATS)}"
        raise refusal("model-type", model, f"no library quantizes files that end with `{model.suffix}`", hint)
    _REQUIRED[suffix](model)


def one_frame(model: Path, folder: Path) -> Path:
    """The model for one frame a run, where it leaves their number open; a new file is in the folder."""
    return _ONE_FRAME[model.suffix.lower()](model, folder)


def calibrated(model: Path, data: LabelledFrames, folder: Path) -> QuantizedModel:
    """The model, calibrated by the library of its format; files that it needs are in the folder."""
    return _CALIBRATED[model.suffix.lower()](model, data, folder)
