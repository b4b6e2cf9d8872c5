"""ONNX models whose integer products onnxruntime computes exactly.

On x86 without VNNI, onnxruntime adds products of uint8 and int8 in pairs that saturate at 16 bits, and its
answer may be any number of steps from what ONNX defines. The same weights as uint8, with a zero point that is
128 higher, take a path that is exact: onnxruntime's own option `session.x64quantprecision` does the same, but
not where graph optimizations are off. Tests: `tests/run/references/test_saturation.py`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

_SHIFT = 128


@frozen(kw_only=True)
class _Places:
    """The numbers of an operator's inputs: zero point of the activation, weights, their zero point."""

    zero_point: int
    weights: int
    weights_zero_point: int


_PRODUCTS: Mapping[str, _Places] = {
    "ConvInteger": _Places(zero_point=2, weights=1, weights_zero_point=3),
    "MatMulInteger": _Places(zero_point=2, weights=1, weights_zero_point=3),
    "QLinearConv": _Places(zero_point=2, weights=3, weights_zero_point=5),
    "QLinearMatMul": _Places(zero_point=2, weights=3, weights_zero_point=5),
}


def without_saturation(model: Any) -> bool:
    """Rewrite every product of a uint8 activation by constant int8 weights; False where there is none."""
    from onnx import numpy_helper

    constants = {value.name: value for value in model.graph.initializer}
    makers = {name: node.op_type for node in model.graph.node for name in node.output}
    found = False
    for node in model.graph.node:
        places = _PRODUCTS.get(node.op_type)
        if places is None or not _saturates(node, places, constants, makers):
            continue
        found = True
        zero = _input(node, places.weights_zero_point)
        values = numpy_helper.to_array(constants[zero]) if zero else np.int8(0)
        weights = numpy_helper.to_array(constants[node.input[places.weights]])
        for place, given in ((places.weights, weights), (places.weights_zero_point, values)):
            name = f"{node.output[0]}/unsigned{place}"
            raised = np.asarray(given.astype(np.int16) + _SHIFT, np.uint8)
            model.graph.initializer.append(numpy_helper.from_array(raised, name))
            node.input.extend([""] * (place + 1 - len(node.input)))
            node.input[place] = name
    return found


def _saturates(node: Any, places: _Places, constants: Mapping[str, Any], makers: Mapping[str, str]) -> bool:
    from onnx import TensorProto

    weights, zero = constants.get(node.input[places.weights]), _input(node, places.weights_zero_point)
    if weights is None or weights.data_type != TensorProto.INT8 or (zero and zero not in constants):
        return False
    point = _input(node, places.zero_point)
    unsigned = point in constants and constants[point].data_type == TensorProto.UINT8
    return unsigned or makers.get(point) == "DynamicQuantizeLinear"


def _input(node: Any, place: int) -> str:
    return str(node.input[place]) if place < len(node.input) else ""
