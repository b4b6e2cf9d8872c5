"""Sub-patterns and readings that several composites share."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute, Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import Draft, Match, Matcher, activation_range, single_quantization

INTEGER_ACTIVATIONS = ("int8", "uint8", "int16")
"""Types of stored values that a conversion takes, or a pool that only compares or averages them."""
_NARROW = ("int8", "uint8")
RELU = "relu"
"""The label of a call of `nn.relu` in a match, and the activation it is."""
_QUANTIZE = "quantize"


@frozen(kw_only=True, eq=False)
class Ending:
    """The end of a composite, from the value an operator computes to the composite's root.

    Integer composites end in quantize (TFLite convolutions clip after it), float ones in relu, a clip or
    nothing.
    """

    pattern: Any
    calls: Mapping[str, Any]
    roots: tuple[str, ...]


def dequantized() -> Any:
    """A pattern for `dequantize(anything)`."""
    return is_op("relax.dequantize")(wildcard(), wildcard(), wildcard())


def biased(value: Any) -> tuple[Any, Any]:
    """Patterns for `value + bias` (either way round) or `value`, and for the addition alone."""
    added = is_op("relax.add")(value, wildcard()) | is_op("relax.add")(wildcard(), value)
    return added | value, added


def clipped(value: Any) -> Any:
    """A pattern for `clip(value, low, high)`."""
    return is_op("relax.clip")(value, wildcard(), wildcard())


def integer_ending(value: Any) -> Ending:
    """`value → [relu | clip] → quantize → [clip]`."""
    relu, clip = is_op("relax.nn.relu")(value), clipped(value)
    quantize = is_op("relax.quantize")(relu | clip | value, wildcard(), wildcard())
    clamp = clipped(quantize)
    calls = {RELU: relu, "clip": clip, _QUANTIZE: quantize, "clamp": clamp}
    return Ending(pattern=clamp | quantize, calls=calls, roots=("clip", _QUANTIZE))


def float_ending(value: Any, roots: tuple[str, ...]) -> Ending:
    """`value → [relu | clip]`; `roots` are the operators that `value` may end in."""
    relu, clip = is_op("relax.nn.relu")(value), clipped(value)
    return Ending(
        pattern=relu | clip | value, calls={RELU: relu, "clip": clip}, roots=("nn.relu", "clip", *roots)
    )


def between(value: Any, calls: Mapping[str, Any], build: Callable[[Match], Draft | None]) -> Matcher:
    """A composite that ends in `quantize` of the value and has no activation."""
    call = is_op("relax.quantize")(value, wildcard(), wildcard())
    return Matcher(roots=(_QUANTIZE,), pattern=call, calls={**calls, _QUANTIZE: call}, build=build)


def output_quantization(match: Match) -> Quantization | None:
    """The parameters of an integer ending's `quantize`; None unless they hold for the whole tensor."""
    return single_quantization(match.quantization(match.required(_QUANTIZE)))


def input_quantization(match: Match, name: str) -> Quantization | None:
    """The parameters of the dequantize called `name`; None unless its input is an integer activation that
    `takes_stored` allows.
    """
    call = match.required(name)
    source = call.args[0]
    if not match.is_activation(source) or not takes_stored(match, dtype_of(source), dtype_of(match.root)):
        return None
    return single_quantization(match.quantization(call))


def takes_stored(match: Match, *dtypes: str) -> bool:
    """Whether an operator on values of these types stays one on integers. ONNX's with 16 bits are computed in
    float32, between the conversions of the file: no integer kernel has its rounding.
    """
    allowed = _NARROW if match.graph.arithmetic is Arithmetic.ONNX else INTEGER_ACTIVATIONS
    return all(dtype in allowed for dtype in dtypes)


def integer_activation(match: Match, out: Quantization) -> dict[str, Attribute]:
    """Attributes `activation_min` and `activation_max` of an integer ending."""
    dtype = dtype_of(match.root)
    low, high = _bounds(match)
    least, most = activation_range(out, dtype, low, high, match.graph.arithmetic)
    clamp = match.call("clamp")
    if clamp is not None:
        least = max(least, int(clamp.args[1].value))
        most = min(most, int(clamp.args[2].value))
    return {"activation_min": least, "activation_max": most}


def float_activation(match: Match) -> dict[str, Attribute] | None:
    """Attribute `activation` of a float ending; None for a clip that is neither relu nor relu6."""
    known = {(None, None): "none", (0.0, None): RELU, (0.0, 6.0): "relu6"}
    name = known.get(_bounds(match))
    return None if name is None else {"activation": name}


def bias_of(match: Match, added: Any | None, channels: int, position: int) -> Constant | None:
    """The constant that `added` adds, as `channels` values (or one); zeros for no addition.

    `position` is where the channels of the value are, counted from the right (1 is last). None where the
    summand is an activation or varies along another dimension.
    """
    if added is None:
        return Constant(values=np.zeros(channels, np.float32))
    found = match.constant(added.args[0]) or match.constant(added.args[1])
    if found is None:
        return None
    shape = found.values.shape
    at = len(shape) - position
    if any(extent != 1 for index, extent in enumerate(shape) if index != at):
        return None
    return found.reshaped((found.values.size,)) if found.values.size in (1, channels) else None


def integer_bias(bias: Constant, channels: int, scales: tuple[float, ...]) -> Constant | None:
    """The bias as int32 in units of `scales` (input scale times weight scale, per channel or one).

    Stored int32 values are taken as they are when their own scale is that product, up to float32 rounding;
    anything else is rounded to it. None where it does not fit into 32 bits.
    """
    unit = np.broadcast_to(np.asarray(scales, np.float64), (channels,))
    quantization = Quantization(
        scale=scales, zero_point=(0,) * len(scales), axis=0 if len(scales) > 1 else None
    )
    if _is_stored_in(bias, unit):
        return evolve(bias, values=bias.values.astype(np.int32), quantization=quantization)
    steps = np.rint(np.broadcast_to(bias.real, (channels,)) / unit)
    if np.abs(steps).max(initial=0) >= 2**31:
        return None
    return evolve(bias, values=steps.astype(np.int32), quantization=quantization)


def float_bias(bias: Constant, channels: int) -> Constant:
    """The bias as float32 values, one per channel."""
    return evolve(bias, values=np.broadcast_to(bias.real, (channels,)).astype(np.float32), quantization=None)


def float_constant(constant: Constant) -> Constant:
    """The real values as float32."""
    return evolve(constant, values=constant.real.astype(np.float32), quantization=None)


def _is_stored_in(bias: Constant, unit: np.ndarray[Any, Any]) -> bool:
    if bias.quantization is None or bias.values.dtype != np.int32 or bias.values.shape != unit.shape:
        return False
    if any(bias.quantization.zero_point):
        return False
    return bool(np.allclose(np.asarray(bias.quantization.scale, np.float64), unit, rtol=1e-5, atol=0.0))


def _bounds(match: Match) -> tuple[float | None, float | None]:
    if match.call(RELU) is not None:
        return 0.0, None
    clip = match.call("clip")
    if clip is None:
        return None, None
    low, high = float(clip.args[1].value), float(clip.args[2].value)
    return (None if low <= -3.4e38 else low), (None if high >= 3.4e38 else high)
