"""The table of converters, and how a node is converted by it."""

from collections.abc import Mapping
from typing import Any

from target_arch.relax.onnx_operators import (
    elementwise,
    movement,
    normalization,
    ordering,
    padding,
    quantized,
    recurrent,
    regions,
    resize,
    scans,
    scatter,
    transforms,
)
from target_arch.relax.onnx_operators.node import Converter, Node, NotConverted

CONVERTERS: Mapping[str, Converter] = {
    **elementwise.CONVERTERS,
    **movement.CONVERTERS,
    **normalization.CONVERTERS,
    **ordering.CONVERTERS,
    **padding.CONVERTERS,
    **quantized.CONVERTERS,
    **recurrent.CONVERTERS,
    **regions.CONVERTERS,
    **resize.CONVERTERS,
    **scans.CONVERTERS,
    **scatter.CONVERTERS,
    **transforms.CONVERTERS,
}


def converted(node: Node) -> Any:
    """The Relax expression of an operator in the table, or a tuple of one for each output.

    Raises NotConverted where an attribute is not honoured, or as the converter does.
    """
    entry = CONVERTERS[node.operator]
    for name in node.attributes:
        if name not in entry.attributes:
            raise NotConverted(f"its attribute `{name}` is not supported")
    return entry.convert(node)
