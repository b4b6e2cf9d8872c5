"""Pools with what TVM's have not, and tensors cut into windows."""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

from tvm import relax, te, tirx

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.site import NotConverted, constant, zero


def _largest(call: TorchCall, *, rank: int) -> Any:
    """With the place of the largest element of each window, counted through its image."""
    x = call.argument("self")
    kernel, strides, padding, dilations = (
        _each(call.argument(name), rank) for name in ("kernel_size", "stride", "padding", "dilation")
    )
    image = shape_of(x)[-rank:]
    batched = call.reshaped(x, (1, *shape_of(x))) if len(shape_of(x)) == rank + 1 else x
    found = call.by_onnx(
        "MaxPool",
        batched,
        outputs=2,
        kernel_shape=kernel,
        strides=strides or kernel,
        pads=[*padding, *padding],
        dilations=dilations,
        ceil_mode=int(call.argument("ceil_mode")),
    )
    values, places = (call.emit(each) for each in found)
    inside = call.emit(relax.op.floor_mod(places, constant(prod(image), "int64")))
    return [call.reshaped(values, call.result_shape(0)), call.reshaped(inside, call.result_shape(1))]


def _sum_over_number(call: TorchCall, *, rank: int) -> Any:
    """Sums of windows over a given number, however many elements they have."""
    x, divisor, shape = call.argument("self"), call.argument("divisor_override"), call.result_shape()
    kernel, strides, padding = (
        _each(call.argument(name), rank) for name in ("kernel_size", "stride", "padding")
    )
    if dtype_of(x) != "float32":
        raise NotConverted(f"its elements are {dtype_of(x)}")
    image, steps = shape_of(x)[-rank:], strides or kernel

    def definition(data: Any) -> Any:
        axes = [te.reduce_axis((0, size), name=f"k{number}") for number, size in enumerate(kernel)]

        def element(*at: Any) -> Any:
            windows = zip(at[-rank:], steps, axes, padding, strict=True)
            places = [i * step + k - before for i, step, k, before in windows]
            inside = [tirx.all(p >= 0, p < size) for p, size in zip(places, image, strict=True)]
            value = tirx.if_then_else(tirx.all(*inside), data(*at[:-rank], *places), zero("float32"))
            return te.sum(value, axis=axes)

        total = te.compute(shape, element, name="total")
        return te.compute(shape, lambda *at: total(*at) / tirx.const(divisor, "float32"))

    return call.computed(definition, x)


def _each(given: Any, rank: int) -> list[int]:
    """A number for each dimension of the image."""
    listed = [given] if isinstance(given, int) else list(given)
    return listed * rank if len(listed) == 1 else listed


def _windows(call: TorchCall) -> Any:
    """Windows along a dimension, whose elements are along a new last one."""
    x, step, shape = call.argument("self"), call.argument("step"), call.result_shape()
    if not shape_of(x):
        return call.reshaped(x, shape)
    axis = call.argument("dimension") % len(shape_of(x))

    def definition(data: Any) -> Any:
        return te.compute(shape, lambda *at: data(*at[:axis], at[axis] * step + at[-1], *at[axis + 1 : -1]))

    return call.computed(definition, x)


def _strided(call: TorchCall) -> Any:
    """Elements at steps through memory, where the tensor is stored row by row."""
    x, steps, start = call.argument("self"), call.argument("stride"), call.argument("storage_offset")
    if not call.node.args[0].meta["val"].is_contiguous():
        raise NotConverted("a tensor that is not stored row by row")
    count = prod(shape_of(x))
    last = sum((size - 1) * step for size, step in zip(call.result_shape(), steps, strict=True)) + (
        start or 0
    )
    if last >= count:
        raise NotConverted("it reads beyond the tensor")

    def definition(data: Any) -> Any:
        def element(*at: Any) -> Any:
            return data(sum((i * step for i, step in zip(at, steps, strict=True)), start or 0))

        return te.compute(call.result_shape(), element)

    return call.computed(definition, call.reshaped(x, (count,)))


def _transposed(call: TorchCall) -> Any:
    """A transposed convolution along three dimensions."""
    x, weight, bias = call.tensors("input", "weight", "bias")
    names = ("stride", "padding", "dilation", "output_padding")
    stride, padding, dilation, extra = (_each(call.argument(name), _VOLUME) for name in names)
    made = call.emit(
        relax.op.nn.conv3d_transpose(
            x,
            weight,
            strides=stride,
            padding=[*padding, *padding],
            output_padding=extra,
            dilation=dilation,
            groups=call.argument("groups"),
            data_layout="NCDHW",
            kernel_layout="IODHW",
        )
    )
    return made if bias is None else call.emit(relax.op.add(made, call.reshaped(bias, (1, -1, 1, 1, 1))))


_VOLUME = 3


def _is_transposed_volume(node: Any) -> bool:
    return bool(node.args[_TRANSPOSED]) and node.args[0].meta["val"].dim() == _VOLUME + 2


_TRANSPOSED = 6


def _has_divisor(node: Any) -> bool:
    return len(node.args) > _DIVISOR and node.args[_DIVISOR] is not None


_DIVISOR = 6


def _is_special_pool(node: Any) -> bool:
    """TVM's pools of whole numbers are those of stored values."""
    return uses_places(node) or not node.args[0].meta["val"].is_floating_point()


def uses_places(node: Any) -> bool:
    """Whether a result other than the first is used."""
    return any(user.args[1] != 0 and user.users for user in node.users if len(user.args) > 1)


CONVERTERS: Mapping[str, Convert] = {
    "as_strided.default": _strided,
    "as_strided_copy.default": _strided,
    "unfold.default": _windows,
    "unfold_copy.default": _windows,
}

SPECIAL: Mapping[str, tuple[Callable[[Any], bool], Convert]] = {
    "convolution.default": (_is_transposed_volume, _transposed),
    **{f"avg_pool{n}d.default": (_has_divisor, partial(_sum_over_number, rank=n)) for n in (2, 3)},
    **{f"max_pool{n}d_with_indices.default": (_is_special_pool, partial(_largest, rank=n)) for n in (2, 3)},
}
"""Converters of those calls alone for which a condition holds; the frontend has the others."""
