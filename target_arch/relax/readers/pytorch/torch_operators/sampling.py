"""Images read at computed places between their pixels, as PyTorch's operators say it."""

from collections.abc import Mapping
from typing import Any

from target_arch.relax.loops.sampling import Interpolation, Outside
from target_arch.relax.onnx_operators.images.sampling import sampled
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall

_MODES = (Interpolation.LINEAR, Interpolation.NEAREST, Interpolation.CUBIC)
_PADDINGS = (Outside.ZEROS, Outside.BORDER, Outside.REFLECTION)
"""By PyTorch's numbers."""


def _grid_sample(call: TorchCall) -> Any:
    return sampled(
        call,
        *call.tensors("input", "grid"),
        interpolation=_MODES[call.argument("interpolation_mode")],
        outside=_PADDINGS[call.argument("padding_mode")],
        corners=bool(call.argument("align_corners")),
        rounds_first=False,
    )


CONVERTERS: Mapping[str, Convert] = {
    "grid_sampler_2d.default": _grid_sample,
    "grid_sampler_3d.default": _grid_sample,
}
