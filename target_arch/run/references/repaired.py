"""TFLite files that TFLite Micro reads and LiteRT does not, repaired for LiteRT."""

import struct

import tflite

from target_arch.relax.readers.flatbuffer import TFLITE_IDENTIFIER


def repaired(data: bytes) -> bytes:
    """The file with axis 0 for scales along the only dimension of a tensor.

    Some converters left there the axis of the weights that the tensor belongs to. TFLite Micro never reads
    that axis, LiteRT refuses the file. A damaged file stays as it is, for LiteRT to refuse.
    """
    if data[4:8] != TFLITE_IDENTIFIER:
        return data
    try:
        return _with_axes(bytearray(data))
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
