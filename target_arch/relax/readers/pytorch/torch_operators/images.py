"""Images: pooled, normalized, made larger."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.site import NotConverted, constant


def _group_norm(call: TorchCall) -> Any:
    """Without weights, too."""
    return _in_groups(call, call.argument("group"), *_factors(call, call.argument("C")))


def _factors(call: TorchCall, channels: int) -> tuple[Any, Any]:
    """Weight and bias of each channel."""
    given = ((call.argument("weight"), 1.0), (call.argument("bias"), 0.0))
    gamma, beta = (
        constant(np.full(channels, otherwise), "float32") if each is None else each
        for each, otherwise in given
    )
    return gamma, beta


def _in_groups(call: TorchCall, groups: int, gamma: Any, beta: Any) -> Any:
    x, epsilon = call.argument("input"), call.argument("eps")
    axes = list(range(2, len(shape_of(x))))
    return call.emit(
        relax.op.nn.group_norm(x, gamma, beta, groups, channel_axis=1, axes=axes, epsilon=epsilon)
    )


def _batch_norm(call: TorchCall) -> Any:
    """By the mean and variance of the batch itself; instance normalization is one of a batch of one."""
    emit, x = call.emit, call.argument("input")
    if not call.argument("training"):
        raise NotConverted("it changes statistics that it does not use")
    rank = len(shape_of(x))
    if shape_of(x)[0] == 1 and rank > 2 and dtype_of(x) == "float32":
        factors = _factors(call, shape_of(x)[1])
        if all(isinstance(each, GenericConst) for each in factors):
            return _in_groups(call, shape_of(x)[1], *factors)
    others = [axis for axis in range(rank) if axis != 1]

    def each_channel(value: Any) -> Any:
        return emit(relax.op.reshape(value, [-1 if axis == 1 else 1 for axis in range(rank)]))

    apart = emit(relax.op.subtract(x, emit(relax.op.mean(x, others, keepdims=True))))
    variance = emit(relax.op.mean(emit(relax.op.multiply(apart, apart)), others, keepdims=True))
    root = emit(relax.op.sqrt(emit(relax.op.add(variance, constant(call.argument("eps"), dtype_of(x))))))
    made = emit(relax.op.divide(apart, root))
    for name, combined in (("weight", relax.op.multiply), ("bias", relax.op.add)):
        if call.argument(name) is not None:
            made = emit(combined(made, each_channel(call.argument(name))))
    return made


def _nearest(call: TorchCall) -> Any:
    """The pixel at or before the place in the image, which PyTorch computes in float32."""
    x, factors = call.argument("input"), call.argument("scale_factors")
    for number, (before, after) in enumerate(zip(shape_of(x)[2:], call.result_shape()[2:], strict=True)):
        step = np.float32(before) / np.float32(after) if factors is None else np.float32(1 / factors[number])
        places = np.floor(np.arange(after, dtype=np.float32) * step).astype(np.int64)
        x = call.emit(relax.op.take(x, constant(np.minimum(places, before - 1), "int64"), axis=number + 2))
    return x


def _resized(call: TorchCall, *, method: str) -> Any:
    """By a factor that does not divide the pixels evenly, places follow the factor, not the sizes."""
    x, corners, factors = (call.argument(name) for name in ("input", "align_corners", "scale_factors"))
    after = call.result_shape()[2:]
    _require_floats(x)
    if factors is not None and not corners and _uneven(shape_of(x)[2:], factors, after):
        scales = constant([1, 1, *factors], "float32")
        return call.by_onnx("Resize", x, None, scales, mode=method, cubic_coeff_a=_CUBIC)
    return call.emit(
        relax.op.image.resize2d(
            x,
            after,
            layout="NCHW",
            method=method,
            coordinate_transformation_mode="align_corners" if corners else "half_pixel",
            cubic_alpha=_CUBIC,
        )
    )


_CUBIC = -0.75


def _require_floats(x: Any) -> None:
    """PyTorch weighs whole numbers in steps of its own."""
    if not dtype_of(x).startswith("float"):
        raise NotConverted(f"its elements are {dtype_of(x)}")


def _smoothed(call: TorchCall, *, method: str) -> Any:
    """Made smaller, each pixel from all that it covers."""
    names = [argument.name for argument in call.node.target._schema.arguments]
    x = call.argument(names[0])
    _require_floats(x)
    if call.argument("align_corners"):
        raise NotConverted("the attribute `align_corners`")
    given = (
        call.argument("scale_factors") if "scale_factors" in names else call.tensors("scales_h", "scales_w")
    )
    factors, after = [each for each in given or [] if each is not None], call.result_shape()
    scales, sizes = constant([1, 1, *factors], "float32"), constant(after, "int64")
    operands = (x, None, scales) if factors else (x, None, None, sizes)
    made = call.by_onnx(
        "Resize", *operands, mode=method, antialias=1, exclude_outside=1, cubic_coeff_a=_SMOOTH_CUBIC
    )
    if shape_of(made) != after:
        raise NotConverted("its factors and its shape do not fit together")
    return made


_SMOOTH_CUBIC = -0.5


def _uneven(before: Sequence[int], factors: Sequence[float], after: Sequence[int]) -> bool:
    return any(one * by != other for one, by, other in zip(before, factors, after, strict=True))


def _adaptive_max(call: TorchCall) -> Any:
    """Windows of nearly one size that cover the image, dimension after dimension."""
    x, sizes = call.argument("self"), call.argument("output_size")
    _require_floats(x)
    for number, after in enumerate(sizes):
        x = call.computed(_largest_of_parts(shape_of(x), number - len(sizes), after), x)
    return x


def _largest_of_parts(shape: Sequence[int], axis: int, after: int) -> Callable[[Any], Any]:
    """The largest elements of `after` parts of a dimension, which is counted from the end."""
    before, axis = shape[axis], axis % len(shape)
    widest = max(-(-(part + 1) * before // after) - part * before // after for part in range(after))
    largest = te.comm_reducer(_larger, lambda kind: tirx.const(-np.inf, kind), name="largest")

    def definition(data: Any) -> Any:
        step = te.reduce_axis((0, widest), name="step")

        def element(*at: Any) -> Any:
            start = tirx.floordiv(at[axis] * before, after)
            end = tirx.floordiv((at[axis] + 1) * before + after - 1, after)
            return largest(data(*at[:axis], tirx.min(start + step, end - 1), *at[axis + 1 :]), axis=step)

        return te.compute((*shape[:axis], after, *shape[axis + 1 :]), element)

    return definition


def _larger(one: Any, other: Any) -> Any:
    return tirx.max(one, other)


def _columns_to_image(call: TorchCall) -> Any:
    x, image, kernel = (call.argument(name) for name in ("self", "output_size", "kernel_size"))
    batch = x if len(shape_of(x)) > 2 else call.reshaped(x, (1, *shape_of(x)))
    pads = list(call.argument("padding"))
    made = call.by_onnx(
        "Col2Im",
        batch,
        constant(image, "int64"),
        constant(kernel, "int64"),
        dilations=call.argument("dilation"),
        pads=[*pads, *pads],
        strides=call.argument("stride"),
    )
    return call.reshaped(made, call.result_shape())


CONVERTERS: Mapping[str, Convert] = {
    "_native_batch_norm_legit.default": _batch_norm,
    "_native_batch_norm_legit.no_stats": _batch_norm,
    "_native_batch_norm_legit_functional.default": _batch_norm,
    "_upsample_bicubic2d_aa.default": partial(_smoothed, method="cubic"),
    "_upsample_bicubic2d_aa.vec": partial(_smoothed, method="cubic"),
    "_upsample_bilinear2d_aa.default": partial(_smoothed, method="linear"),
    "_upsample_bilinear2d_aa.vec": partial(_smoothed, method="linear"),
    "adaptive_max_pool2d.default": _adaptive_max,
    "adaptive_max_pool3d.default": _adaptive_max,
    "col2im.default": _columns_to_image,
    "native_group_norm.default": _group_norm,
    "upsample_bicubic2d.vec": partial(_resized, method="cubic"),
    "upsample_bilinear2d.vec": partial(_resized, method="linear"),
    "upsample_nearest2d.vec": _nearest,
}
