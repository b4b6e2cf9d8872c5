"""The operators that are read, by their names in TFLite."""

from collections.abc import Mapping

from target_arch.relax.readers.tflite_operators import (
    functions,
    images,
    movement,
    pairs,
    products,
    recurrent,
    reductions,
    rows,
)
from target_arch.relax.readers.tflite_operators.site import Converter

CONVERTERS: Mapping[str, Converter] = {
    **functions.CONVERTERS,
    **images.CONVERTERS,
    **movement.CONVERTERS,
    **pairs.CONVERTERS,
    **products.CONVERTERS,
    **recurrent.CONVERTERS,
    **reductions.CONVERTERS,
    **rows.CONVERTERS,
}

LEFT_TO_TVM = frozenset(
    {
        "ADD_N", "BITWISE_XOR", "BROADCAST_ARGS", "CAST", "CEIL", "COS", "FLOOR", "LOG_SOFTMAX",
        "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "REDUCE_ALL", "REDUCE_ANY", "RIGHT_SHIFT", "ROUND",
        "SIGN", "SIN", "SQUARE",
    }
)  # fmt: skip
"""Operators without a converter here that TVM's frontend computes as LiteRT does, measured by
`conformance/tflite_operators.py`. It converts others, too, some of them to wrong numbers.
"""
