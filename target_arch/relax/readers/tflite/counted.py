"""Outputs of TFLite operators of which another one says how much is there."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tflite
from flatbuffers import flexbuffers

from target_arch.relax.readers.source import BoundedOutput
from target_arch.relax.readers.tflite_operators.walk.codes import operator_name


def counted_outputs(model: Any, graph: Any) -> Iterator[BoundedOutput]:
    """The outputs of a model that have a count which is an output, too."""
    outputs = [int(graph.Outputs(index)) for index in range(graph.OutputsLength())]
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        name = operator_name(model.OperatorCodes(operator.OpcodeIndex()))
        if name not in _COUNTED or not _COUNTED[name](operator):
            continue
        *arrays, count = (int(operator.Outputs(index)) for index in range(operator.OutputsLength()))
        axis = 0 if name.startswith("NON_MAX") else 1
        for array in arrays:
            if array in outputs and count in outputs:
                yield BoundedOutput(output=outputs.index(array), axis=axis, count=outputs.index(count))


def _is_row_of_each(operator: tflite.Operator) -> bool:
    """Whether a detection has one row of the results."""
    stored = bytes(operator.CustomOptions(index) for index in range(operator.CustomOptionsLength()))
    options = flexbuffers.Loads(stored)
    return bool(options.get("use_regular_nms")) or options.get("max_classes_per_detection") == 1


_COUNTED: Mapping[str, Callable[[Any], bool]] = {
    "NON_MAX_SUPPRESSION_V4": lambda _: True,
    "NON_MAX_SUPPRESSION_V5": lambda _: True,
    "TFLite_Detection_PostProcess": _is_row_of_each,
}
"""Operators whose last result is the count of the others, if it is."""
