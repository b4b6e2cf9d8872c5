"""The custom operators that are read, by their own names."""

from collections.abc import Mapping

from target_arch.relax.readers.tflite_operators.custom import detection, transposed, transposed_options
from target_arch.relax.readers.tflite_operators.site import Converter

CUSTOM: Mapping[str, Converter] = {
    transposed_options.CODE: transposed.transposed_convolution,
    "TFLite_Detection_PostProcess": detection.detections,
}

_TFLITE_MICRO = ("CIRCULAR_BUFFER", "Signal", "TFLM_DECODE")
"""What names of TFLite Micro's own operators begin with."""


def unknown(code: str) -> str:
    """Why a custom operator is refused that no library converts."""
    if code.startswith(_TFLITE_MICRO):
        library = "the library in `examples/tflm_operators`, given as a folder of backends"
        return f"a custom operator that is read by {library}"
    return "a custom operator"
