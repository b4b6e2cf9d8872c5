"""Elements written to computed places: the operators that scatter, and columns put back into an image.

Updates are applied in their order; one whose index leaves the tensor changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, zero

_REDUCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "none": lambda _old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": tirx.max,
    "min": tirx.min,
}


def _copied(out: Any, data: Any, shape: Sequence[int]) -> None:
    with ib.grid(*shape) as at:
        place = list(at) if len(shape) > 1 else [at]
        ib.buffer_store(out, data[place], place)


def _from_start(index: Any, extent: int) -> Any:
    narrow = index.astype("int32")
    return tirx.Select(narrow < 0, narrow + extent, narrow)


def _update(
    out: Any, place: Sequence[Any], checked: Sequence[tuple[Any, int]], new: Callable[[Any], Any]
) -> None:
    """Change one element where all checked indices are in their extents."""
    inside = [tirx.all(index >= 0, index < extent) for index, extent in checked]
    with ib.If(tirx.all(*inside)), ib.Then():
        ib.buffer_store(out, new(out[list(place)]), list(place))


def _reduction(node: Node) -> Callable[[Any, Any], Any]:
    return _REDUCTIONS[node.text("reduction", "none", tuple(_REDUCTIONS))]


def _scatter_elements(node: Node) -> Any:
    shape, indices = node.shape(0), node.shape(1)
    axis, combine = node.axis(0, rank=len(shape)), _reduction(node)

    def body(out: Any, data: Any, index: Any, updates: Any) -> None:
        _copied(out, data, shape)
        with ib.grid(*indices) as at:
            given = list(at) if len(indices) > 1 else [at]
            target = _from_start(index[given], shape[axis])
            place = [*given[:axis], target, *given[axis + 1 :]]
            _update(out, place, [(target, shape[axis])], lambda old: combine(old, updates[given]))

    return node.written(shape, node.dtype(0), body, *(node.operand(each) for each in range(3)))


def _scatter_nd(node: Node) -> Any:
    shape, indices = node.shape(0), node.shape(1)
    depth, combine = indices[-1], _reduction(node)
    outer, inner = indices[:-1], shape[depth:]

    def body(out: Any, data: Any, index: Any, updates: Any) -> None:
        _copied(out, data, shape)
        with ib.grid(*(*outer, *inner, 1)) as at:
            row, rest = list(at[: len(outer)]), list(at[len(outer) : -1])
            target = [_from_start(index[[*row, each]], shape[each]) for each in range(depth)]
            checked = list(zip(target, shape, strict=False))
            _update(out, [*target, *rest], checked, lambda old: combine(old, updates[[*row, *rest]]))

    return node.written(shape, node.dtype(0), body, *(node.operand(each) for each in range(3)))


def _tensor_scatter(node: Node) -> Any:
    shape, update = node.shape(0), node.shape(1)
    axis = node.axis(-2, rank=len(shape))
    circular = node.text("mode", "linear", ("linear", "circular")) == "circular"
    first = node.given(2)

    def body(out: Any, data: Any, updates: Any, *starts: Any) -> None:
        _copied(out, data, shape)
        with ib.grid(*update) as at:
            start = starts[0][at[0]].astype("int32") if starts else zero("int32")
            target = start + at[axis].astype("int32")
            if circular:
                target = tirx.floormod(target, shape[axis])
            place = [*at[:axis], target, *at[axis + 1 :]]
            _update(out, place, [(target, shape[axis])], lambda _old: updates[list(at)])

    operands = [node.operand(0), node.operand(1), *([] if first is None else [first])]
    return node.written(shape, node.dtype(0), body, *operands)


def _max_unpool(node: Node) -> Any:
    """Indices are places in one channel after the other of the shape that the pool had before."""
    shape = node.shape(0)
    spatial = len(shape) - 2
    kernel = [int(each) for each in node.attributes["kernel_shape"]]
    strides = [int(each) for each in node.attributes.get("strides", [1] * spatial)]
    pads = [int(each) for each in node.attributes.get("pads", [0] * 2 * spatial)]
    pooled = tuple(
        (shape[each + 2] - 1) * strides[each] - pads[each] - pads[spatial + each] + kernel[each]
        for each in range(spatial)
    )
    full = (*shape[:2], *pooled)
    wanted = node.integers(2, "output_shape") or full
    if any(small > large for small, large in zip(full, wanted, strict=True)):
        raise NotConverted(f"its operand `output_shape` is smaller than {list(full)}")
    count = prod(full)

    def body(out: Any, x: Any, index: Any) -> None:
        with ib.grid(*wanted) as at:
            ib.buffer_store(out, zero(str(x.dtype)), list(at))
        with ib.grid(*shape) as at:
            target = index[list(at)].astype("int32")
            place: list[Any] = []
            rest = target
            for extent in reversed(full):
                place.insert(0, tirx.floormod(rest, extent))
                rest = tirx.floordiv(rest, extent)
            _update(out, place, [(target, count)], lambda _old: x[list(at)])

    return node.written(wanted, node.dtype(0), body, node.operand(0), node.operand(1))


def _col2im(node: Node) -> Any:
    image, block = node.integers(1, "image_shape"), node.integers(2, "block_shape")
    if image is None or block is None:
        raise NotConverted("it lacks a shape")
    rank = len(image)
    strides = [int(each) for each in node.attributes.get("strides", [1] * rank)]
    dilations = [int(each) for each in node.attributes.get("dilations", [1] * rank)]
    pads = [int(each) for each in node.attributes.get("pads", [0] * 2 * rank)]
    n, columns, _ = node.shape(0)
    channels = columns // prod(block)
    steps = [
        (image[d] + pads[d] + pads[rank + d] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1
        for d in range(rank)
    ]
    split = (n, channels, *block, *steps)

    def body(out: Any, x: Any) -> None:
        with ib.grid(n, channels, *image) as at:
            ib.buffer_store(out, zero(str(x.dtype)), list(at))
        with ib.grid(*split) as at:
            target = [at[2 + rank + d] * strides[d] - pads[d] + at[2 + d] * dilations[d] for d in range(rank)]
            place = [at[0], at[1], *target]
            checked = list(zip(target, image, strict=True))
            _update(out, place, checked, lambda old: old + x[list(at)])

    columns_apart = node.emit(relax.op.reshape(node.operand(0), split))
    return node.written((n, channels, *image), node.dtype(0), body, columns_apart)


CONVERTERS: Mapping[str, Converter] = {
    "Col2Im": converter(_col2im, "dilations pads strides"),
    "MaxUnpool": converter(_max_unpool, "kernel_shape pads strides"),
    "Scatter": converter(_scatter_elements, "axis"),
    "ScatterElements": converter(_scatter_elements, "axis reduction"),
    "ScatterND": converter(_scatter_nd, "reduction"),
    "TensorScatter": converter(_tensor_scatter, "axis mode"),
}
