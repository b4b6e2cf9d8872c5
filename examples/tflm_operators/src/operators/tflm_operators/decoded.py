"""TFLM_DECODE: TFLite Micro's compressed constants become the constants that they stand for."""

from typing import Any

from target_arch.relax.readers.tflite_operators.site import TFLiteOperand, TFLiteOperator
from target_arch.relax.site import NotConverted, constant

from .compressed import Compressed, TableChannels


def decoded(site: TFLiteOperator) -> list[Any]:
    """Its outputs, each of two inputs."""
    if len(site.inputs) != 2 * len(site.outputs):
        raise NotConverted("its inputs are not two for each output")
    try:
        return [
            constant(
                Compressed.of(
                    site.tensor(2 * number).constant,
                    site.tensor(2 * number + 1).constant,
                    out.shape,
                    out.dtype,
                    _channels(out),
                ).value()
            )
            for number, out in enumerate(site.outputs)
        ]
    except ValueError as error:
        raise NotConverted(str(error)) from None


def _channels(out: TFLiteOperand) -> TableChannels:
    grid = out.quantization
    if grid is None or len(grid.scale) == 1:
        return TableChannels(zero_points=(0,) if grid is None else grid.zero_point, last=False)
    if grid.axis not in (0, len(out.shape) - 1) or out.shape[grid.axis] != len(grid.scale):
        raise NotConverted(f"scales along dimension {grid.axis}")
    return TableChannels(zero_points=grid.zero_point, last=grid.axis == len(out.shape) - 1)
