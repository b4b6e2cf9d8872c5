"""The converters by the operators' names in TFLite."""

from collections.abc import Mapping

from target_arch.relax.readers.tflite_operators import movement, recurrent
from target_arch.relax.readers.tflite_operators.site import Converter

CONVERTERS: Mapping[str, Converter] = {
    **movement.CONVERTERS,
    **recurrent.CONVERTERS,
}
