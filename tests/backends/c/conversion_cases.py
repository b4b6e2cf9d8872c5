"""Values that are brought to eight bits and back for `s8_convert.h`, and what numpy says about them."""

from collections.abc import Iterator

import numpy as np

from target_arch.backends.plain_c.kernels import conversions
from tests.backends.c.kernel_cases import stored
from tests.backends.c.kernel_program import Case
from tests.backends.c.one import Array, one_operator, quantized, real

_COUNT = 75
_GRIDS = ((0.0337, -4, "int8"), (0.25, 7, "uint8"))
"""With the second one, half of the values are as near to two steps."""


def conversion_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Both ways, types and roundings; values without end, too, in whole vectors and behind them."""
    for scale, zero, dtype in _GRIDS:
        grid = quantized("stored", (_COUNT,), scale, zero, dtype)
        for rounding in ("onnx", "tflite"):
            drawn = np.rint(rng.uniform(-300, 300, _COUNT)) * np.float32(scale) / 2
            x = np.concatenate([[1e30, -1e30, 0.0, -0.0], drawn[4:-2], [-1e30, 1e30]]).astype(np.float32)
            model = one_operator("quantize", rounding, [real("x", x.shape)], grid)
            yield Case(
                name=f"quantize {dtype} {rounding}",
                made=conversions.made(model.operators[0], model),
                inputs=(x,),
                expected=_quantized(x, scale, zero, dtype, away=rounding == "tflite"),
            )
        values = stored(rng, (_COUNT,), dtype)
        model = one_operator("dequantize", "onnx", [grid], real("out", values.shape))
        assert conversions.refusal(model.operators[0], model) is None
        yield Case(
            name=f"dequantize {dtype}",
            made=conversions.made(model.operators[0], model),
            inputs=(values,),
            expected=(values.astype(np.int32) - zero).astype(np.float32) * np.float32(scale),
        )


def _quantized(x: Array, scale: float, zero: int, dtype: str, *, away: bool) -> Array:
    value = x / np.float32(scale)
    whole = np.trunc(value)
    near = whole + np.trunc((value - whole) * 2) if away else np.rint(value)
    ends = np.iinfo(dtype)
    return np.clip(near + np.float32(zero), ends.min, ends.max).astype(dtype)
