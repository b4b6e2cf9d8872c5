"""Where the windows of a convolution are, and the sizes that its code follows from."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from target_arch.plan.model import Model, Operator


@frozen(kw_only=True)
class Windows:
    """Windows of `kernel` (rows, columns) in images NHWC, with `before` rows and columns of padding."""

    batch: int
    image: tuple[int, int]
    channels: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    out: tuple[int, int]

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]

    @property
    def pixels(self) -> int:
        """Of the output."""
        return self.batch * self.out[0] * self.out[1]

    @property
    def plain(self) -> bool:
        """True where output pixels are input pixels."""
        return self.kernel == self.strides == (1, 1) and self.before == (0, 0) and self.image == self.out

    def stays_inside(self, axis: int) -> bool:
        """True where no window leaves the image along the axis."""
        last = (self.out[axis] - 1) * self.strides[axis] - self.before[axis]
        return self.before[axis] == 0 and last + self.reach(axis) < self.image[axis]

    def reach(self, axis: int) -> int:
        """From the first to the last row or column of a window."""
        return (self.kernel[axis] - 1) * self.dilation[axis]


def windows_of(operator: Operator, model: Model, kernel: tuple[int, int]) -> Windows:
    """The windows of a convolution."""
    attributes = operator.attributes
    batch, height, width, channels = model.tensors[operator.inputs[0]].shape
    _, rows, columns, _ = model.tensors[operator.output].shape
    top, left, *_ = _pair(attributes, "padding", (0, 0))
    return Windows(
        batch=batch,
        image=(height, width),
        channels=channels,
        kernel=kernel,
        strides=_pair(attributes, "strides", (1, 1)),
        dilation=_pair(attributes, "dilation", (1, 1)),
        before=(top, left),
        out=(rows, columns),
    )


def rows_of(rows: int, inputs: int) -> Windows:
    """The rows of a dense layer as images of one pixel."""
    return Windows(
        batch=rows,
        image=(1, 1),
        channels=inputs,
        kernel=(1, 1),
        strides=(1, 1),
        dilation=(1, 1),
        before=(0, 0),
        out=(1, 1),
    )


def _pair(attributes: Mapping[str, Any], name: str, default: tuple[int, int]) -> tuple[int, int]:
    found = attributes.get(name, default)
    return int(found[0]), int(found[1])
