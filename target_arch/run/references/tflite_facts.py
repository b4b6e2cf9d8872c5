"""Facts of a TFLite file for its reference: which interpreter runs it, and whether every bit has to agree."""

import struct
from collections.abc import Iterator
from typing import Any

import tflite

from target_arch.relax.readers.flatbuffer import TFLITE_IDENTIFIER
from target_arch.relax.readers.tflite_operators.walk.codes import builtin_code

_OWN = (b"Signal", b"TFLM_", b"CIRCULAR_BUFFER")
"""Beginnings of the names of TFLite Micro's own operators."""
_ITS_OWN = {
    tflite.BuiltinOperator.SVDF: (4, tflite.TensorType.INT8),
    tflite.BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM: (0, tflite.TensorType.INT16),
    tflite.BuiltinOperator.DEPTHWISE_CONV_2D: (1, tflite.TensorType.INT4),
}
"""Operators, and the type of one of their inputs that LiteRT does not have."""
_FLOATS = (tflite.TensorType.FLOAT16, tflite.TensorType.FLOAT32)


def needs_tflite_micro(data: bytes) -> bool:
    """True for a model with an SVDF whose state is int8, where LiteRT writes 16-bit values past its end, with
    operators or forms of them that LiteRT does not have, or with variable tensors in subgraphs, which LiteRT
    resets in each run.
    """
    try:
        if data[4:8] != TFLITE_IDENTIFIER:
            return False
        model = tflite.Model.GetRootAsModel(data, 0)
        return _has_its_own_form(model) or _has_its_own_operator(model) or _has_inner_state(model)
    except struct.error:  # a damaged file, for LiteRT to refuse
        return False


def needs_optimized(data: bytes) -> bool:
    """True for a model with a SUM of integers, which LiteRT's reference kernel does not scale."""
    model = tflite.Model.GetRootAsModel(data, 0)
    return any(
        code == tflite.BuiltinOperator.SUM and types[0] not in _FLOATS for code, types in _operators(model)
    )


def is_exact(data: bytes) -> bool:
    """Whether activations are integers on a grid, or none is a float; where weights alone are on a grid, the
    arithmetic around them is of floats.
    """
    model = tflite.Model.GetRootAsModel(data, 0)
    real = False
    for tensor in _tensors(model):
        if model.Buffers(tensor.Buffer()).DataLength():
            continue
        stored = tensor.Quantization()
        if stored is not None and stored.ScaleLength() > 0:
            return True
        real = real or tensor.Type() in _FLOATS
    return not real


def _subgraphs(model: Any, first: int = 0) -> Iterator[Any]:
    return (model.Subgraphs(number) for number in range(first, model.SubgraphsLength()))


def _tensors(model: Any, first: int = 0) -> Iterator[Any]:
    """The tensors of all subgraphs from a number on."""
    for graph in _subgraphs(model, first):
        yield from (graph.Tensors(index) for index in range(graph.TensorsLength()))


def _has_its_own_operator(model: Any) -> bool:
    codes = (model.OperatorCodes(number) for number in range(model.OperatorCodesLength()))
    return any((code.CustomCode() or b"").startswith(_OWN) for code in codes)


def _has_inner_state(model: Any) -> bool:
    return any(tensor.IsVariable() for tensor in _tensors(model, 1))


def _has_its_own_form(model: Any) -> bool:
    """Whether an operator has an input of a type that LiteRT does not have there."""
    for code, types in _operators(model):
        place, dtype = _ITS_OWN.get(code, (len(types), None))
        if place < len(types) and types[place] == dtype:
            return True
    return False


def _operators(model: Any) -> Iterator[tuple[int, list[int | None]]]:
    """The operators of all subgraphs, with the types of their inputs; None for an input that is left out."""
    for graph in _subgraphs(model):
        for operator in (graph.Operators(number) for number in range(graph.OperatorsLength())):
            inputs = (operator.Inputs(number) for number in range(operator.InputsLength()))
            types = [None if index < 0 else graph.Tensors(index).Type() for index in inputs]
            yield builtin_code(model.OperatorCodes(operator.OpcodeIndex())), types
