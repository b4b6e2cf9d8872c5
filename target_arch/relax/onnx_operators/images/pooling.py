"""Maximum pools beyond those of floats: of whole numbers, with indices, with a last window that sticks out.

Transposed convolutions that state the shape of their result are here, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Never

from attrs import evolve
from tvm import relax, te, tirx

from target_arch.plan.operators.window import Window
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted
from target_arch.relax.te.windows import under
from target_arch.soc.rounding import ceil_div

_Windows = tuple[Window, ...]
"""Along each dimension of an image."""


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
    axes = zip(windows, _padded(node), strict=True)
    return any(
        window.out < ceil_div(padded.extent + padded.before + padded.after - padded.reach, padded.stride) + 1
        for window, padded in axes
    )


def _padded(node: Node) -> _Windows:
    """The windows that are within the image and its padding."""
    image = node.shape(0)[2:]
    rank = len(image)
    ones = [1] * rank
    kernel, strides, dilations = (
        [int(size) for size in sizes]
        for sizes in (
            node.attributes["kernel_shape"],
            node.attributes.get("strides", ones),
            node.attributes.get("dilations", ones),
        )
    )
    pads = [int(size) for size in node.attributes.get("pads", [0] * 2 * rank)]
    axes = zip(image, kernel, strides, dilations, pads[:rank], pads[rank:], strict=True)
    return tuple(Window.padded(*axis) for axis in axes)


def _windows(node: Node) -> _Windows:
    padded = _padded(node)
    return tuple(map(_with_last, padded)) if node.integer("ceil_mode", 0) else padded


def _with_last(window: Window) -> Window:
    """With one that sticks out of the padding, which has to begin inside of the image or before it."""
    spare = window.extent + window.before + window.after - window.reach
    out = ceil_div(spare, window.stride) + 1
    begins_behind = (out - 1) * window.stride >= window.extent + window.before
    return evolve(window, out=out - 1 if begins_behind else out)


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
        axes = [te.reduce_axis((0, window.kernel), name=f"k{n}") for n, window in enumerate(windows)]

        def element(*at: Any) -> Any:
            places = under(windows, at[2:], axes)
            inside = tirx.all(
                *(tirx.all(p >= 0, p < extent) for p, extent in zip(places, image, strict=True))
            )
            index: Any = tirx.const(0, "int32")
            for place, extent in zip(places, image, strict=True):
                index = index * extent + place.astype("int32")
            value = tirx.if_then_else(inside, x(*at[:2], *places), least)
            return reducer((tirx.if_then_else(inside, index, -1), value), axis=axes)

        index, _ = te.compute(_result(shape, windows), element, name="found")
        return te.compute(_result(shape, windows), lambda *at: tirx.max(index(*at), 0), name="indices")

    return node.computed(definition, node.operand(0))


def _result(shape: Sequence[int], windows: _Windows) -> tuple[int, ...]:
    return (*shape[:2], *(window.out for window in windows))


def _read(node: Node, indices: Any, windows: _Windows) -> Any:
    shape = node.shape(0)

    def definition(x: Any, index: Any) -> Any:
        def element(*at: Any) -> Any:
            return x(*at[:2], *_unravelled(index(*at), shape[2:]))

        return te.compute(_result(shape, windows), element)

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

        return te.compute(_result(shape, windows), element)

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
