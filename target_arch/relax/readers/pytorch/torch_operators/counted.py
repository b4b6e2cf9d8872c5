"""Results of their largest size with a count: what is there comes first, as the count says.

Imports PyTorch.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.readers.pytorch.torch_operators.counts import MEANS, CountedTensor
from target_arch.relax.site import NotConverted, constant


def counted_values(call: TorchCall, convert: Callable[[], Any]) -> Any:
    """The result of `convert`, while operands that have a count have behind it what the operator wants there.

    Raises NotConverted for an operator that would read what is no result.
    """
    importer, node = call.importer, call.node
    if node in importer.counted.refused:
        raise NotConverted(importer.counted.refused[node])
    if node not in importer.counted.behind:
        return convert()
    env, value = importer.env, importer.counted.behind[node]
    before = {each: env[each] for each in node.all_input_nodes if each in importer.counted.of}
    try:
        env.update({each: filled(call, each, value) for each in before})
        made = convert()
    finally:
        env.update(before)
    (first, *_) = before
    return _of_count(call, made, first) if node.target.__name__ in MEANS else made


def filled(call: TorchCall, node: Any, value: str = "zero") -> Any:
    """The value of a node with zeros, or the lowest or highest value, behind its count."""
    tensor: CountedTensor = call.importer.counted.of[node]
    x = call.importer.env[node]
    if tensor.zeros and value == "zero":
        return x
    if dtype_of(x) == "bool":
        whole = call.by_onnx("Filled", call.cast(x, "int8"), _count(call, tensor), axis=tensor.axis)
        return call.cast(whole, "bool")
    return call.by_onnx("Filled", x, _count(call, tensor), axis=tensor.axis, value=value)


def _count(call: TorchCall, tensor: CountedTensor) -> Any:
    return call.importer.counts[tensor.size]


def _of_count(call: TorchCall, mean: Any, node: Any) -> Any:
    """The mean of what is there, from that of the largest size."""
    tensor: CountedTensor = call.importer.counted.of[node]
    extent = constant(shape_of(call.importer.env[node])[tensor.axis], dtype_of(mean))
    count = call.cast(call.reshaped(_count(call, tensor), ()), dtype_of(mean))
    return call.emit(relax.op.multiply(mean, call.emit(relax.op.divide(extent, count))))


def _begun(call: TorchCall, count: Any) -> None:
    """Keep the count of the size that begins here."""
    call.importer.counts[call.importer.counted.of[call.node].size] = count


def _places(call: TorchCall, x: Any) -> Any:
    """The places of elements that are not zero, a row for each dimension."""
    if not prod(shape_of(x)) or not shape_of(x):
        raise NotConverted("its operand has no elements" if shape_of(x) else "its operand has no dimensions")
    places, count = call.by_onnx("NonZero", x, outputs=2)
    _begun(call, count)
    return places


def _non_zero(call: TorchCall) -> Any:
    return call.emit(relax.op.permute_dims(_places(call, call.argument("self"))))


def _masked(call: TorchCall) -> Any:
    """The elements at which a mask is true, in one row."""
    x, mask = call.tensors("self", "mask")
    shape = np.broadcast_shapes(shape_of(x), shape_of(mask))
    row = (prod(shape),)
    flat, where = (call.reshaped(call.spread(each, shape), row) for each in (x, mask))
    return _read(call, flat, where, 0)


def by_mask(call: TorchCall) -> Any:
    """The parts of a tensor at which a mask over some of its dimensions is true."""
    x, indices = call.argument("self"), call.argument("indices")
    axis = next(number for number, value in enumerate(indices) if value is not None)
    mask, shape = indices[axis], shape_of(x)
    extent = prod(shape_of(mask))
    parts = call.reshaped(x, (*shape[:axis], extent, *shape[axis + len(shape_of(mask)) :]))
    return _read(call, parts, call.reshaped(mask, (extent,)), axis)


def _read(call: TorchCall, x: Any, mask: Any, axis: int) -> Any:
    places = call.reshaped(_places(call, mask), shape_of(mask))
    return call.emit(relax.op.take(x, call.cast(places, "int32"), axis))


def _unique(call: TorchCall) -> list[Any]:
    """The different elements, sorted; the number of each element's; how often each is there."""
    if not call.argument("sorted"):
        raise NotConverted("different elements that are not sorted")
    x = call.argument("self")
    flat = call.reshaped(x, (prod(shape_of(x)),))
    first, numbers, often, count = call.by_onnx("Unique", flat, outputs=4, axis=0, sorted=1)
    _begun(call, count)
    elements = call.emit(relax.op.take(flat, call.cast(first, "int32"), 0))
    return [elements, call.reshaped(numbers, shape_of(x)), often]


CONVERTERS: Mapping[str, Convert] = {
    "_unique2.default": _unique,
    "masked_select.default": _masked,
    "nonzero.default": _non_zero,
}
