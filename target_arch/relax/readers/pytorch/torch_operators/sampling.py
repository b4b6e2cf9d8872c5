"""Images read at computed places between their pixels, as warps and spatial transformers do.

What is beside the image is zero, its nearest pixel, or its mirror image.
Places are computed as PyTorch does: padded before the pixels are chosen, but for bicubic sampling, which pads
the place of every pixel.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import te, tirx

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.site import NotConverted

_FLOAT = "float32"
_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_SHARPNESS = -0.75
"""The parameter of the cubic kernel."""

_Tap = tuple[Any, Any]
"""The place of a pixel along a dimension, a whole number in float32, and its weight."""


def _grid_sample(call: TorchCall) -> Any:
    image, grid = call.tensors("input", "grid")
    if dtype_of(image) != _FLOAT:
        raise NotConverted(f"its elements are {dtype_of(image)}")
    mode, padding = call.argument("interpolation_mode"), call.argument("padding_mode")
    corners, sizes = bool(call.argument("align_corners")), shape_of(image)[2:]

    def definition(x: Any, given: Any) -> Any:
        def place(*at: Any) -> Any:
            """Rows first, where the grid has columns first."""
            row, column = (
                _padded(_pixels(given(*at[:3], 1 - axis), size, corners=corners), padding, size, corners)
                if mode != _CUBIC
                else _pixels(given(*at[:3], 1 - axis), size, corners=corners)
                for axis, size in enumerate(sizes)
            )
            return tirx.Select(at[3] == 0, row, column)

        places = te.compute((*shape_of(grid)[:3], 2), place, name="places")

        def element(n: Any, c: Any, i: Any, j: Any) -> Any:
            rows, columns = (
                _taps(places(n, i, j, axis), mode, padding, size, corners) for axis, size in enumerate(sizes)
            )
            return _total(x, (n, c), rows, columns, sizes)

        return te.compute(call.result_shape(), element)

    return call.computed(definition, image, grid)


def _pixels(place: Any, size: int, *, corners: bool) -> Any:
    """From -1 to 1, to pixels."""
    if corners:
        return (place + _number(1)) * _number((size - 1) / 2)
    return (place + _number(1)) * _number(size / 2) - _number(0.5)


def _padded(place: Any, padding: int, size: int, corners: bool) -> Any:
    """A place inside of the image in place of one beside it."""
    if padding == _ZEROS:
        return place
    inside = place if padding == _BORDER else _reflected(place, size, corners=corners)
    return tirx.min(tirx.max(inside, _number(0)), _number(size - 1))


def _reflected(place: Any, size: int, *, corners: bool) -> Any:
    """Mirrored at the middle of the outermost pixels, or at their outer edge."""
    low = 0.0 if corners else -0.5
    span = float(size - 1 if corners else size)
    if span == 0:
        return _number(0)
    far = tirx.abs(place - _number(low))
    turns = tirx.floor(far / _number(span))
    rest = far - turns * _number(span)
    even = tirx.floor(turns / _number(2)) * _number(2) == turns
    return tirx.Select(even, rest, _number(span) - rest) + _number(low)


def _taps(place: Any, mode: int, padding: int, size: int, corners: bool) -> list[_Tap]:
    """The pixels that count along a dimension."""
    if mode == _NEAREST:
        return [(tirx.nearbyint(place), _number(1))]
    first = tirx.floor(place)
    part = place - first
    if mode == _LINEAR:
        return [(first, _number(1) - part), (first + _number(1), part)]
    beside = [part + _number(1), part, _number(1) - part, _number(2) - part]
    weights = [_far(beside[0]), _near(beside[1]), _near(beside[2]), _far(beside[3])]
    return [
        (_padded(first + _number(step - 1), padding, size, corners), weight)
        for step, weight in enumerate(weights)
    ]


def _near(x: Any) -> Any:
    """The cubic kernel up to a distance of one pixel."""
    return ((_number(_SHARPNESS + 2) * x - _number(_SHARPNESS + 3)) * x) * x + _number(1)


def _far(x: Any) -> Any:
    """The cubic kernel from a distance of one pixel on."""
    slope = (_number(_SHARPNESS) * x - _number(5 * _SHARPNESS)) * x + _number(8 * _SHARPNESS)
    return slope * x - _number(4 * _SHARPNESS)


def _total(x: Any, plane: Sequence[Any], rows: list[_Tap], columns: list[_Tap], sizes: Sequence[int]) -> Any:
    """The pixels of a plane times their weights. What is beside the image counts nothing."""
    total = None
    for row, vertical in rows:
        for column, horizontal in columns:
            inside, at = [], []
            for place, size in ((row, sizes[0]), (column, sizes[1])):
                inside += [place >= _number(0), place <= _number(size - 1)]
                at.append(tirx.min(tirx.max(place, _number(0)), _number(size - 1)).astype("int32"))
            pixel = tirx.if_then_else(tirx.all(*inside), x(*plane, *at), _number(0))
            value = pixel * (vertical * horizontal)
            total = value if total is None else total + value
    return total


def _number(value: float) -> Any:
    return tirx.const(value, _FLOAT)


CONVERTERS: Mapping[str, Convert] = {"grid_sampler_2d.default": _grid_sample}
