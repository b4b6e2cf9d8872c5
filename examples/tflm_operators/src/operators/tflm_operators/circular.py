"""CIRCULAR_BUFFER of TFLite Micro: the last inputs one after the other, for convolutions over time."""

import math
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.readers.tflite_operators.site import TFLiteOperator
from target_arch.relax.site import NotConverted

_EVERY_RUN = (5, 13, 25)
"""The inputs that a buffer holds whose options do not say how often it is complete, if that is every run."""
_MOST = 1 << 30


def circular_buffer(site: TFLiteOperator) -> list[Any]:
    """The inputs, and, as a second output, whether the buffer is complete in this run; without that output,
    runs in which it is not end here.
    """
    cycles, slots = _cycles(site), site.out.shape[1] if len(site.out.shape) > 1 else 0
    if (site.x.dtype, site.out.dtype) != ("int8", "int8") or site.x.quantization != site.out.quantization:
        raise NotConverted(f"its elements are {site.x.dtype}, {site.out.dtype}, or their scales differ")
    if not slots or site.x.shape != (1, 1, *site.out.shape[2:]) or site.out.shape[0] != 1:
        raise NotConverted("its shapes do not fit")
    if not site.out.kept:
        raise NotConverted(
            "its output is no variable, so that other tensors may take its memory between runs"
        )
    depth = math.prod(site.x.shape)
    whole = site.builder.emit(relax.op.reshape(site.x.expr, (1, depth)))
    if slots > 1:
        zero = site.out.zero_point % 256 if site.out.quantization else 0
        held = site.state("held", (slots - 1, depth), "int8", bytes([zero]) * (slots - 1) * depth)
        whole = site.builder.emit(relax.op.concat([held, whole], axis=0))
        site.leave("held", relax.op.strided_slice(whole, [0], [1], [slots]))
    if cycles > 1 and len(site.outputs) == 1:
        site.end_unless(_complete(site, cycles))
    return [whole, *(_complete(site, cycles) for _ in site.outputs[1:])]


def _cycles(site: TFLiteOperator) -> int:
    """After how many runs the buffer is complete."""
    cycles = site.custom.get("cycles_max", 0) if site.custom_bytes else 0
    if not isinstance(cycles, int) or cycles >= _MOST:
        raise NotConverted("its options are out of range")
    if cycles > 0:
        return cycles
    if site.out.shape[1:2] and site.out.shape[1] in _EVERY_RUN:
        return 1
    raise NotConverted("its options do not say how often it is complete")


def _complete(site: TFLiteOperator, cycles: int) -> Any:
    """True in one of so many runs; a state counts them."""

    def last(out: Any, count: Any) -> None:
        ib.buffer_store(out, tirx.EQ(count[0], cycles - 1), [0])

    def following(out: Any, count: Any) -> None:
        ib.buffer_store(out, tirx.Select(tirx.EQ(count[0], cycles - 1), 0, count[0] + 1), [0])

    runs = site.state("runs", (1,), "int32")
    site.leave("runs", site.written((1,), "int32", following, runs, name="runs"))
    return site.written((1,), "bool", last, runs, name="complete")
