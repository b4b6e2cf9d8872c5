"""Rows of a table, by bags of indices: their sum, mean or largest elements."""

from collections.abc import Mapping
from typing import Any

from tvm import te, tirx

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.readers.pytorch.torch_operators.windows import uses_places
from target_arch.relax.site import NotConverted, within, zero

_SUM, _MEAN, _MAX = range(3)


def _bag(call: TorchCall) -> Any:
    """A bag goes from its offset to that of the next one."""
    if uses_places(call.node):
        raise NotConverted("a result other than the first is used")
    table, indices, offsets, weights = call.tensors("weight", "indices", "offsets", "per_sample_weights")
    mode, shape = call.argument("mode"), call.result_shape()
    if mode == _MAX:
        raise NotConverted("the mode `max`")
    count, bags = shape_of(indices)[0], shape_of(offsets)[0]
    padding, dtype = call.argument("padding_idx"), dtype_of(table)

    def definition(rows: Any, index: Any, offset: Any, *given: Any) -> Any:
        def inside(bag: Any, step: Any) -> Any:
            last = tirx.if_then_else(bag + 1 < bags, offset(tirx.min(bag + 1, bags - 1)), count)
            return tirx.all(step >= offset(bag), step < last, index(step) != padding)

        def member(bag: Any, channel: Any) -> Any:
            step = te.reduce_axis((0, count), name="step")
            row = rows(within(index(step), shape_of(table)[0]), channel)
            value = row * given[0](step) if given else row
            return te.sum(tirx.if_then_else(inside(bag, step), value, zero(dtype)), axis=step)

        def size(bag: Any) -> Any:
            step = te.reduce_axis((0, count), name="each")
            return te.sum(tirx.if_then_else(inside(bag, step), tirx.const(1, dtype), zero(dtype)), axis=step)

        total = te.compute(shape, member, name="total")
        if mode == _SUM:
            return total
        sizes = te.compute((shape[0],), size, name="sizes")
        one = tirx.const(1, dtype)
        return te.compute(shape, lambda bag, channel: total(bag, channel) / tirx.max(sizes(bag), one))

    extra = [] if weights is None else [weights]
    return [call.computed(definition, table, indices, offsets, *extra)]


CONVERTERS: Mapping[str, Convert] = {
    "_embedding_bag.default": _bag,
    "_embedding_bag_forward_only.default": _bag,
}
