"""The operators that are read, by their names in TFLite."""

from collections.abc import Mapping

from target_arch.relax.readers.tflite_operators import (
    counted,
    functions,
    images,
    movement,
    pairs,
    plain,
    products,
    recurrent,
    reductions,
    rows,
    suppression,
)
from target_arch.relax.readers.tflite_operators.site import Converter

CONVERTERS: Mapping[str, Converter] = {
    **counted.CONVERTERS,
    **functions.CONVERTERS,
    **images.CONVERTERS,
    **movement.CONVERTERS,
    **pairs.CONVERTERS,
    **plain.CONVERTERS,
    **products.CONVERTERS,
    **recurrent.CONVERTERS,
    **reductions.CONVERTERS,
    **rows.CONVERTERS,
    **suppression.CONVERTERS,
}
