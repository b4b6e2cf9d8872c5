"""Operators on the rows of a tensor."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from target_arch.plan.arithmetic import quantize_multiplier
from target_arch.relax.readers.tflite_operators.functions import interpolation
from target_arch.relax.readers.tflite_operators.site import Converter, Site


def softmax(site: Site) -> Any:
    """SOFTMAX of int16 values; 8-bit values and floats have a kind."""
    if not site.stored or site.x.dtype != "int16":
        return None
    steps = np.float32(2.0 / 65535)
    exponentials = interpolation(np.exp, np.float32(10.0 / 65535), steps, 32767)
    reciprocals = interpolation(_reciprocal, np.float32(1.0 / 65535), steps, -32768)
    beta = float(site.options("SoftmaxOptions").Beta())
    multiplier, shift = quantize_multiplier(site.x.scale * beta / (10.0 / 65535.0))
    return site.defined("softmax", site.x.expr, exponentials, reciprocals, multiplier=multiplier, shift=shift)


def _reciprocal(x: np.float32) -> np.float32:
    return np.float32(np.float32(1) / (np.float32(1) + x))


CONVERTERS: Mapping[str, Converter] = {"SOFTMAX": softmax}
