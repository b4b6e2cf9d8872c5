"""Precisions of a layer, and the choice of one for each."""

from enum import StrEnum

from attrs import frozen


class Precision(StrEnum):
    """The types in which a layer computes.

    `INT8_TENSOR` has one scale for all weights of a layer, where `INT8` has one for each channel. `INT4` is
    `INT8` with weights of 4 bits. `INT16` has activations of 16 bits and weights of 8, `INT8_WEIGHTS`
    and `INT4_WEIGHTS` activations in float that are quantized as the layer runs; `INT8_STORED` and
    `INT4_STORED` have weights in integers that are widened to floats, and compute in floats.
    """

    FLOAT = "float"
    INT8 = "int8"
    INT8_TENSOR = "int8-tensor"
    INT4 = "int4"
    INT16 = "int16"
    INT8_WEIGHTS = "int8-weights"
    INT4_WEIGHTS = "int4-weights"
    INT8_STORED = "int8-stored"
    INT4_STORED = "int4-stored"


Precisions = tuple[Precision, ...]
"""A precision for each layer of a model, in their order."""


@frozen(kw_only=True)
class QuantizableLayer:
    """An operator with weights, and the operators behind it up to the next one, which have its precision.

    `name` is the operator's in the file, `weights` the number of its elements that are constant. `choices`
    are the precisions that its library has for it.
    """

    name: str
    kind: str
    weights: int
    choices: Precisions
