"""Checks of every operator, before its converter reads it."""

from target_arch.relax.readers.tflite_operators.grids import bounds
from target_arch.relax.readers.tflite_operators.recurrent import CONVERTERS as RECURRENT
from target_arch.relax.readers.tflite_operators.site import TFLiteOperator
from target_arch.relax.site import NotConverted

_NARROW_WEIGHTS = {
    "CONV_2D": ("int8", "float32"),
    "DEPTHWISE_CONV_2D": ("int8",),
    "FULLY_CONNECTED": ("int8", "int16", "float32"),
}
"""Operators whose weights may have 4 bits, and their activations then."""
_WIDENS = "DEQUANTIZE"


def check(site: TFLiteOperator) -> None:
    """Raise NotConverted for a fused activation that LiteRT leaves out (all but clamps), and for constants
    of 4 bits where it takes none.
    """
    if site.operator not in RECURRENT:  # these compute others, and check theirs
        bounds(site.activation)
    for number, operand in enumerate(site.inputs):
        if operand is None or not operand.narrow or site.operator == _WIDENS:
            continue
        known = site.stored or site.x.dtype == "float32"
        if number != 1 or not known or site.x.dtype not in _NARROW_WEIGHTS.get(site.operator, ()):
            raise NotConverted(f"constant `{operand.name}` of 4 bits, with activations of {site.x.dtype}")
