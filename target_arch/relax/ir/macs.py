"""The multiply-accumulates of a Relax call, where it sums products."""

from math import prod
from typing import Any

from target_arch.relax.ir.graph import operator_name, shape_of

_CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
_TRANSPOSED = tuple(f"{name}_transpose" for name in _CONVOLUTIONS)


def macs_per_output(call: Any) -> int:
    """The products summed for each element of its result, rounded up; 0 for a call that sums none."""
    name = operator_name(call)
    if name == "matmul":
        return shape_of(call.args[0])[-1]
    if name in _CONVOLUTIONS:
        outputs = shape_of(call.args[1])[str(call.attrs.kernel_layout).index("O")]
        return prod(shape_of(call.args[1])) // outputs
    if name in _TRANSPOSED:
        x, weights = (shape_of(operand) for operand in call.args[:2])
        inputs = weights[str(call.attrs.kernel_layout).index("I")]
        return -(-prod(x) * (prod(weights) // inputs) // prod(shape_of(call)))
    return 0
