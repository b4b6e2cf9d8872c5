"""The custom operators that are read, by their own names."""

from collections.abc import Mapping

from target_arch.relax.readers.tflite_operators.custom import (
    circular,
    decoded,
    detection,
    signal,
    transposed,
    transposed_options,
)
from target_arch.relax.readers.tflite_operators.site import Converter

CUSTOM: Mapping[str, Converter] = {
    transposed_options.CODE: transposed.transposed_convolution,
    circular.CODE: circular.circular_buffer,
    decoded.CODE: decoded.decoded,
    "TFLite_Detection_PostProcess": detection.detections,
    **signal.CONVERTERS,
}
