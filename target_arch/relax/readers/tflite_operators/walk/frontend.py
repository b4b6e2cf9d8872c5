"""TVM's converters of TFLite's operators."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.frontend.tflite.tflite_frontend import ExprTable, OperatorConverter, TensorWrapper

from target_arch.plan.model import Quantization
from target_arch.relax.readers.tflite_constants.four_bits import widened
from target_arch.relax.readers.tflite_operators.walk.graphs import NamedGraph, file_shape, quantization_of
from target_arch.relax.site import NotConverted


def opened(model: Any, number: int, builder: Any) -> tuple[NamedGraph, "Frontend"]:
    """A subgraph and its converters, which find constants of 4 bits as int8."""
    graph = NamedGraph(model, number)
    frontend = Frontend(model, graph, ExprTable(), builder)
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        if tensor.narrow:
            stored = model.Buffers(tensor.Buffer()).DataAsNumpy()
            frontend.set_prefetched_node(index, widened(stored, file_shape(tensor)))
    return graph, frontend


class Frontend(OperatorConverter):  # type: ignore[misc]  # TVM has no types
    """TVM's converters, with quantizations as they are read here."""

    def get_tensors(self, tensors_idx_list: Any) -> list[Any]:
        found = []
        for index in self._indices_or_empty(tensors_idx_list):
            if index < 0:
                found.append(TensorWrapper(index, 0, 0))
                continue
            tensor = self.subgraph.Tensors(index)
            wrapped = TensorWrapper(index, tensor, self.model.Buffers(tensor.Buffer()))
            quantization = quantization_of(tensor)
            if quantization is not None:
                wrapped.qnn_params = _parameters(quantization)
            found.append(wrapped)
        return found


def _parameters(quantization: Quantization) -> dict[str, Any]:
    single = len(quantization.scale) == 1
    scale: Any = quantization.scale[0] if single else np.asarray(quantization.scale, np.float32)
    if any(zero != quantization.zero_point[0] for zero in quantization.zero_point):
        raise NotConverted("channels have different zero points")
    return {
        "scale": relax.const(scale, "float32"),
        "zero_point": relax.const(quantization.zero_point[0], "int32"),
        "axis": quantization.axis or 0,
    }
