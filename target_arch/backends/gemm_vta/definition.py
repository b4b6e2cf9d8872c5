"""`legalize`: conv2d and dense as TE, in the engine's blocks and with the integer arithmetic of the model.

inp[c, y, x, k]    the image in blocks of channels, padded with the zero point
acc[o, y, x, l]    sum of products, int32
biased, scaled, shifted, low, high    the stages of the ALU
out[y, x, o]       int8, channels last again
"""

from typing import Any

from attrs import frozen
from tvm import te, tirx

from target_arch.backend.hooks import Composite, TirFunction
from target_arch.backends.gemm_vta.description import LANES
from target_arch.backends.gemm_vta.intrinsics import lane
from target_arch.backends.gemm_vta.layer import LayerSizes, layer_of, packed
from target_arch.plan.arithmetic import Requantization, requantization


@frozen
class AluStage:
    """One stage on accumulators: its operation, its operands by name, the accumulator first, and an
    immediate."""

    name: str
    operation: str
    operands: tuple[str, ...]
    immediate: int | None = None


def alu_stages(scaling: Requantization) -> tuple[AluStage, ...]:
    """The stages from an accumulator to a result, in order."""
    return (
        AluStage("biased", "ADD", ("acc", "bias")),
        AluStage("scaled", f"SCALE_{scaling.rounding.upper()}", ("biased", "multiplier", "shift")),
        AluStage("shifted", "ADD", ("scaled",), scaling.output_offset),
        AluStage("low", "MAX", ("shifted",), scaling.activation_min),
        AluStage("high", "MIN", ("low",), scaling.activation_max),
    )


def legalize(composite: Composite) -> TirFunction:
    """A conv2d or dense composite in S-TIR. Parameters: input, weights, bias, multiplier, shift, output."""
    operator, model = composite.operator, composite.request.model
    layer, scaling = layer_of(operator, model), requantization(operator, model)
    constants = packed(operator, model, layer)
    return TirFunction(
        operator=operator.id,
        kind=composite.name,
        function=te.create_prim_func(_stages(layer, scaling)),
        operands=(*composite.inputs, *(each.name for each in constants), composite.output),
        writes=(composite.output,),
        constants=constants,
    )


def _stages(layer: LayerSizes, scaling: Requantization) -> list[Any]:
    arguments = _arguments(layer)
    x, weights, *parameters = arguments
    known = dict(zip(("bias", "multiplier", "shift"), parameters, strict=True))
    known["acc"] = _sums(layer, _padded(layer, x, -scaling.input_offset), weights)
    for stage in alu_stages(scaling):
        known[stage.name] = _alu(layer, stage, known)
    result = known["high"]

    def element(y: Any, j: Any, o: Any) -> Any:
        return result[tirx.floordiv(o, LANES), y, j, tirx.floormod(o, LANES)].astype("int8")

    return [*arguments, te.compute(layer.result, element, name="out")]


def _arguments(layer: LayerSizes) -> list[Any]:
    x = te.placeholder(layer.image, "int8", name="x")
    blocks = (layer.outputs, layer.inputs, *layer.kernel, LANES, LANES)
    weights = te.placeholder(blocks, "int8", name="weights")
    lanes = (layer.outputs, LANES)
    return [
        x,
        weights,
        *(te.placeholder(lanes, "int32", name=each) for each in ("bias", "multiplier", "shift")),
    ]


def _padded(layer: LayerSizes, x: Any, zero_point: int) -> Any:
    (height, width, channels), (top, left, bottom, right) = layer.image, layer.padding
    tail = channels % LANES != 0

    def element(c: Any, y: Any, j: Any, k: Any) -> Any:
        inside = [y >= top] * bool(top) + [y < top + height] * bool(bottom)
        inside += [j >= left] * bool(left) + [j < left + width] * bool(right)
        inside += [c * LANES + k < channels] * tail
        value = x[y - top, j - left, c * LANES + k]
        if not inside:
            return value
        return tirx.if_then_else(tirx.all(*inside), value, tirx.const(zero_point, "int8"))

    shape = (layer.inputs, height + top + bottom, width + left + right, LANES)
    return te.compute(shape, element, name="inp")


def _sums(layer: LayerSizes, inp: Any, weights: Any) -> Any:
    (sy, sx), (kh, kw) = layer.strides, layer.kernel
    c = te.reduce_axis((0, layer.inputs), "c")
    i, j, k = te.reduce_axis((0, kh), "i"), te.reduce_axis((0, kw), "j"), te.reduce_axis((0, LANES), "k")

    def element(o: Any, y: Any, x: Any, out: Any) -> Any:
        value = inp[c, y * sy + i, x * sx + j, k].astype("int32")
        return te.sum(value * weights[o, c, i, j, out, k].astype("int32"), axis=[c, i, j, k])

    return te.compute((layer.outputs, *layer.result[:2], LANES), element, name="acc")


def _alu(layer: LayerSizes, stage: AluStage, known: dict[str, Any]) -> Any:
    accumulator, *others = (known[name] for name in stage.operands)
    compute = lane(stage.operation, stage.immediate)

    def element(o: Any, y: Any, x: Any, k: Any) -> Any:
        return compute(accumulator[o, y, x, k], *(each[o, k] for each in others))

    return te.compute((layer.outputs, *layer.result[:2], LANES), element, name=stage.name)
