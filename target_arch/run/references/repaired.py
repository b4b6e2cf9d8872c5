"""TFLite files that other interpreters read and LiteRT does not, repaired for LiteRT."""

import struct
from typing import Any

import numpy as np
import tflite

from target_arch.relax.readers.flatbuffer import TFLITE_IDENTIFIER
from target_arch.relax.readers.tflite_operators.custom.transposed_options import (
    CODE,
    TransposedOptions,
    transposed_options,
)


def repaired(data: bytes) -> bytes:
    """The file as LiteRT takes it. A damaged file stays as it is, for LiteRT to refuse.

    - With axis 0 for scales along the only dimension of a tensor. Some converters left there the axis of the
      weights that the tensor belongs to; TFLite Micro never reads that axis.
    - With `TRANSPOSE_CONV`, which has a bias by now, for MediaPipe's operator that had one first.
    """
    if data[4:8] != TFLITE_IDENTIFIER:
        return data
    try:
        changed = _with_axes(bytearray(data))
        return _with_bias(changed) if CODE.encode() in changed else changed
    except struct.error:
        return data


def _with_axes(changed: bytearray) -> bytes:
    model = tflite.Model.GetRootAsModel(changed, 0)
    for number in range(model.SubgraphsLength()):
        graph = model.Subgraphs(number)
        for index in range(graph.TensorsLength()):
            tensor = graph.Tensors(index)
            grid = tensor.Quantization()
            if grid is None or tensor.ShapeLength() != 1 or grid.QuantizedDimension() == 0:
                continue
            at = grid._tab.Pos + grid._tab.Offset(16)
            changed[at : at + 4] = bytes(4)
    return bytes(changed)


def _with_bias(data: bytes) -> bytes:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(data)
    numbers = [n for n, code in enumerate(model.operatorCodes) if code.customCode == CODE.encode()]
    for graph in model.subgraphs:
        for operator in (each for each in graph.operators if each.opcodeIndex in numbers):
            options = transposed_options(np.asarray(operator.customOptions, np.uint8).tobytes())
            if options is not None and len(operator.inputs) == 3:
                _transpose_conv(schema, model, graph, operator, options)
    builder = flatbuffers.Builder(len(data))
    builder.Finish(model.Pack(builder), TFLITE_IDENTIFIER)
    return bytes(builder.Output())


def _transpose_conv(schema: Any, model: Any, graph: Any, operator: Any, options: TransposedOptions) -> None:
    """The operator as version 3 of TFLite's own; its first input is the shape of the result."""
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.TRANSPOSE_CONV
    code.version = 3
    model.operatorCodes.append(code)
    shape = np.asarray(graph.tensors[operator.outputs[0]].shape, np.int32)
    stored, tensor = schema.BufferT(), schema.TensorT()
    stored.data = np.frombuffer(shape.tobytes(), np.uint8)
    model.buffers.append(stored)
    tensor.name, tensor.shape, tensor.type = f"{CODE} shape", [4], schema.TensorType.INT32
    tensor.buffer = len(model.buffers) - 1
    graph.tensors.append(tensor)
    image, weight, bias = operator.inputs
    operator.opcodeIndex, operator.customOptions = len(model.operatorCodes) - 1, None
    operator.inputs = [len(graph.tensors) - 1, weight, image, bias]
    operator.builtinOptionsType = schema.BuiltinOptions.TransposeConvOptions
    operator.builtinOptions = schema.TransposeConvOptionsT()
    operator.builtinOptions.padding = schema.Padding.SAME if options.same else schema.Padding.VALID
    operator.builtinOptions.strideH, operator.builtinOptions.strideW = options.strides
