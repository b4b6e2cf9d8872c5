"""The table of our own converters of ONNX operators, and how a node is converted by it."""

from collections.abc import Mapping
from typing import Any

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.onnx_operators import dynamic_lstm, forests, recurrent, support_vectors
from target_arch.relax.onnx_operators.arithmetic import (
    elementwise,
    normalization,
    quantized,
    reductions,
    transforms,
)
from target_arch.relax.onnx_operators.images import padding, pooling, regions, resize, sampling
from target_arch.relax.onnx_operators.indexing import bounded, counting, movement, ordering, scans, scatter
from target_arch.relax.onnx_operators.node import Converter, Node
from target_arch.relax.site import NotConverted

CONVERTERS: Mapping[str, Converter] = {
    **bounded.CONVERTERS,
    **counting.CONVERTERS,
    **dynamic_lstm.CONVERTERS,
    **elementwise.CONVERTERS,
    **forests.CONVERTERS,
    **movement.CONVERTERS,
    **normalization.CONVERTERS,
    **ordering.CONVERTERS,
    **padding.CONVERTERS,
    **pooling.CONVERTERS,
    **quantized.CONVERTERS,
    **recurrent.CONVERTERS,
    **reductions.CONVERTERS,
    **regions.CONVERTERS,
    **resize.CONVERTERS,
    **sampling.CONVERTERS,
    **scans.CONVERTERS,
    **scatter.CONVERTERS,
    **support_vectors.CONVERTERS,
    **transforms.CONVERTERS,
}


def takes(node: Node) -> bool:
    """Whether the table has a converter for such an operator."""
    return node.operator in CONVERTERS and CONVERTERS[node.operator].only(node)


def converted(node: Node) -> Any:
    """The Relax expression of an operator that the table takes, or a tuple of one for each output.

    Raises NotConverted where an attribute is not honoured, or as the converter does.
    """
    entry = CONVERTERS[node.operator]
    for dtype in {dtype_of(value): None for value in node.inputs if value is not None}:
        if dtype not in DTYPE_BYTES:
            raise NotConverted(f"its elements are {dtype}")
    for name in node.attributes:
        if name not in entry.attributes:
            raise NotConverted(f"its attribute `{name}` is not supported")
    return entry.convert(node)
