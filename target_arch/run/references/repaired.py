"""TFLite files that TFLite Micro reads and LiteRT does not, repaired for LiteRT."""

import tflite


def repaired(data: bytes) -> bytes:
    """The file with axis 0 for scales along the only dimension of a tensor.

    Some converters left there the axis of the weights that the tensor belongs to. TFLite Micro never reads
    that axis, LiteRT refuses the file.
    """
    changed = bytearray(data)
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
