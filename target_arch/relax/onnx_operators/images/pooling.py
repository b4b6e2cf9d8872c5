"""Maximum pools beyond those of floats: of whole numbers, with indices, with a last window that sticks out.

Transposed convolutions that state the shape of their result are here, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Never

from attrs import frozen
from tvm import relax, te, tirx

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted


@frozen(kw_only=True)
class _Windows:
    """The place of windows on an image, per dimension."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    result: tuple[int, ...]


def _is_open(node: Node) -> bool:
    """Whether padding was not stated in numbers, since ONNX and onnxruntime do not agree on it."""
    return "auto_pad" in node.attributes


def _refuse(node: Node) -> Never:
    word = node.text("auto_pad", "", ("SAME_LOWER", "SAME_UPPER"))
    raise NotConverted(f"`auto_pad={word}` of its windows means one thing to ONNX, another to onnxruntime")


def _max_pool(node: Node) -> Any:
    if _is_open(node):
        _refuse(node)
    windows = _windows(node)
    indices = _largest(node, windows)
    values = _read(node, indices, windows)
    return values if node.outputs == 1 else (values, _numbered(node, indices, windows))


def _is_special(node: Node) -> bool:
    """Where TVM's own pool is wrong: it also computes windows that begin behind the image."""
    if node.outputs > 1 or not node.dtype(0).startswith("float") or _is_open(node):
        return True
    if not node.integer("ceil_mode", 0):
        return False
    return _drops(node, _windows(node))


def _drops(node: Node, windows: _Windows) -> bool:
    """Whether a window that reaches the padding behind the image is left out."""
    rank = len(windows.kernel)
    after = [int(each) for each in node.attributes.get("pads", [0] * 2 * rank)][rank:]
    rows = zip(
        windows.result,
        windows.strides,
        windows.before,
        after,
        windows.kernel,
        windows.dilations,
        node.shape(0)[2:],
        strict=True,
    )
    return any(
        n < -(-(extent + front + back - (k - 1) * dilation - 1) // stride) + 1
        for n, stride, front, back, k, dilation, extent in rows
    )


def _windows(node: Node) -> _Windows:
    image = node.shape(0)[2:]
    rank = len(image)
    kernel = [int(each) for each in node.attributes["kernel_shape"]]
    strides = [int(each) for each in node.attributes.get("strides", [1] * rank)]
    dilations = [int(each) for each in node.attributes.get("dilations", [1] * rank)]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    given = [int(each) for each in node.attributes.get("pads", [0] * 2 * rank)]
    before, after = given[:rank], given[rank:]
    spare = [e + a + b - r for e, a, b, r in zip(image, before, after, reach, strict=True)]
    result = [each // stride + 1 for each, stride in zip(spare, strides, strict=True)]
    if node.integer("ceil_mode", 0):
        result = [-(-each // stride) + 1 for each, stride in zip(spare, strides, strict=True)]
        # The last window has to begin inside of the image or of the padding before it.
        ends = zip(result, strides, image, before, strict=True)
        result = [n - 1 if (n - 1) * stride >= extent + front else n for n, stride, extent, front in ends]
    return _Windows(
        kernel=tuple(kernel),
        strides=tuple(strides),
        dilations=tuple(dilations),
        before=tuple(before),
        result=tuple(result),
    )


def _largest(node: Node, windows: _Windows) -> Any:
    """For each window the place of its largest element, counted row by row inside of the image."""
    shape = node.shape(0)
    image = shape[2:]
    dtype = node.dtype(0)
    least = tirx.min_value(dtype)

    def better(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
        first = tirx.any(one[1] > other[1], tirx.all(one[1] == other[1], one[0] >= 0))
        kept = tirx.any(other[0] < 0, tirx.all(one[0] >= 0, first))
        return tirx.Select(kept, one[0], other[0]), tirx.Select(kept, one[1], other[1])

    def nothing(*_types: str) -> tuple[Any, Any]:
        return tirx.const(-1, "int32"), least

    reducer = te.comm_reducer(better, nothing, name="largest")

    def definition(x: Any) -> Any:
        axes = [te.reduce_axis((0, size), name=f"k{n}") for n, size in enumerate(windows.kernel)]

        def element(*at: Any) -> Any:
            rows = zip(at[2:], axes, windows.strides, windows.dilations, windows.before, strict=True)
            places = [i * stride + k * dilation - front for i, k, stride, dilation, front in rows]
            inside = tirx.all(
                *(tirx.all(p >= 0, p < extent) for p, extent in zip(places, image, strict=True))
            )
            index: Any = tirx.const(0, "int32")
            for place, extent in zip(places, image, strict=True):
                index = index * extent + place.astype("int32")
            value = tirx.if_then_else(inside, x(*at[:2], *places), least)
            return reducer((tirx.if_then_else(inside, index, -1), value), axis=axes)

        index, _ = te.compute((*shape[:2], *windows.result), element, name="found")
        return te.compute((*shape[:2], *windows.result), lambda *at: tirx.max(index(*at), 0), name="indices")

    return node.computed(definition, node.operand(0))


def _read(node: Node, indices: Any, windows: _Windows) -> Any:
    shape = node.shape(0)

    def definition(x: Any, index: Any) -> Any:
        def element(*at: Any) -> Any:
            return x(*at[:2], *_unravelled(index(*at), shape[2:]))

        return te.compute((*shape[:2], *windows.result), element)

    return node.computed(definition, node.operand(0), indices)


def _unravelled(index: Any, shape: Sequence[int]) -> list[Any]:
    places: list[Any] = []
    for extent in reversed(shape):
        places.insert(0, tirx.floormod(index, extent) if len(places) < len(shape) - 1 else index)
        index = tirx.floordiv(index, extent)
    return places


def _numbered(node: Node, indices: Any, windows: _Windows) -> Any:
    """Places counted through all channels, along rows or (`storage_order` 1) along columns."""
    shape = node.shape(0)
    count = 1
    for extent in shape[2:]:
        count *= extent
    columns = bool(node.integer("storage_order", 0))

    def definition(index: Any) -> Any:
        def element(n: Any, c: Any, *at: Any) -> Any:
            found = index(n, c, *at)
            if columns:
                places = _unravelled(found, shape[2:])
                found = tirx.const(0, "int32")
                for place, extent in zip(reversed(places), reversed(shape[2:]), strict=True):
                    found = found * extent + place
            return (found + (n * shape[1] + c).astype("int32") * count).astype("int64")

        return te.compute((*shape[:2], *windows.result), element)

    return node.computed(definition, indices)


def _shaped_transpose(node: Node) -> Any:
    """A transposed convolution whose pads follow from the shape that it states."""
    if _is_open(node) and "output_shape" not in node.attributes:
        _refuse(node)
    image, kernel = node.shape(0)[2:], node.shape(1)[2:]
    rank = len(image)
    strides = [int(each) for each in node.attributes.get("strides", [1] * rank)]
    dilations = [int(each) for each in node.attributes.get("dilations", [1] * rank)]
    extra = [int(each) for each in node.attributes.get("output_padding", [0] * rank)]
    wanted = [int(each) for each in node.attributes["output_shape"]][-rank:]
    upper = node.text("auto_pad", "NOTSET", ("NOTSET", "SAME_UPPER", "SAME_LOWER")) == "SAME_UPPER"
    before, after = [], []
    for d in range(rank):
        reach = (kernel[d] - 1) * dilations[d] + 1
        total = strides[d] * (image[d] - 1) + extra[d] + reach - wanted[d]
        if total < 0:
            extra[d], total = extra[d] - total, 0
        if extra[d] >= max(strides[d], dilations[d]):
            raise NotConverted(f"its attribute `output_shape` pads more than a stride in dimension {d + 2}")
        small, large = total // 2, total - total // 2
        before.append(small if upper else large)
        after.append(large if upper else small)
    names = {1: ("NCW", "IOW"), 2: ("NCHW", "IOHW")}
    if rank not in names:
        raise NotConverted(f"a stated shape along {rank} dimensions")
    function = {1: relax.op.nn.conv1d_transpose, 2: relax.op.nn.conv2d_transpose}[rank]
    made = node.emit(
        function(
            node.operand(0),
            node.operand(1),
            strides=strides,
            padding=[*before, *after],
            output_padding=extra,
            dilation=dilations,
            groups=node.integer("group", 1),
            data_layout=names[rank][0],
            kernel_layout=names[rank][1],
        )
    )
    if node.given(2) is None:
        return made
    bias = node.reshaped(node.operand(2), (1, -1, *([1] * rank)))
    return relax.op.add(made, bias)


_POOL = "auto_pad ceil_mode dilations kernel_shape pads strides"
CONVERTERS: Mapping[str, Converter] = {
    "AveragePool": converter(_refuse, f"{_POOL} count_include_pad", only=_is_open),
    "LpPool": converter(_refuse, f"{_POOL} p", only=_is_open),
    "ConvTranspose": converter(
        _shaped_transpose,
        "auto_pad dilations group kernel_shape output_padding output_shape strides",
        only=lambda node: "output_shape" in node.attributes or _is_open(node),
    ),
    "MaxPool": converter(
        _max_pool,
        f"{_POOL} storage_order",
        only=_is_special,
    ),
}
