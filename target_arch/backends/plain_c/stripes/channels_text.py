"""The C function of a depthwise convolution that computes some channels at a time."""

from target_arch.backends.plain_c.kernels.text import Parameter, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import INSIDE, as_int8
from target_arch.backends.plain_c.stripes.convolution import StripedConvolution
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model
from target_arch.plan.regions.stripes import Channels


def channels_function(plan: Channels, unit: StripedConvolution, model: Model) -> CFunction:
    """The function. Its parameters: the input, the packed constants, the output, the scratch."""
    x, out = model.tensors[plan.tensor], model.tensors[plan.output]
    parameters = (
        parameter("x", x),
        *(Parameter(name=name, dtype=dtype) for name, dtype in INSIDE),
        parameter("out", out, written=True),
        Parameter(name="copy", dtype="int8", written=True),
    )
    call, scale = unit.weighed.call, unit.weighed.values.scale
    given = f"{as_int8(x)}x, w, bias, {as_int8(out, written=True)}out, copy, {plan.size}"
    lines = (
        struct(call.sizes, "sizes", call.numbers),
        struct("ta_s8_scale", "scale", scale.numbers),
        f"const ta_s8_end end = {{{scale.constant}, &scale, multiplier, shift, 0, 0, 0}};",
        f"ta_s8_convolve_channels(&sizes, &end, {given});",
    )
    return function("channels", parameters, lines, unit.headers, ((5, 0),))
