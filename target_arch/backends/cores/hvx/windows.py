"""Where the windows of a convolution are, and the sizes that its code follows from."""

from attrs import frozen

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.window import Window
from target_arch.plan.windows import required_windows


@frozen(kw_only=True)
class ImageWindows:
    """Windows in a `batch` of images NHWC: along the rows and along the columns."""

    batch: int
    channels: int
    axes: tuple[Window, Window]

    @property
    def image(self) -> tuple[int, int]:
        return self.axes[0].extent, self.axes[1].extent

    @property
    def out(self) -> tuple[int, int]:
        return self.axes[0].out, self.axes[1].out

    @property
    def kernel(self) -> tuple[int, int]:
        return self.axes[0].kernel, self.axes[1].kernel

    @property
    def strides(self) -> tuple[int, int]:
        return self.axes[0].stride, self.axes[1].stride

    @property
    def dilation(self) -> tuple[int, int]:
        return self.axes[0].dilation, self.axes[1].dilation

    @property
    def before(self) -> tuple[int, int]:
        return self.axes[0].before, self.axes[1].before

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]

    @property
    def depth(self) -> int:
        """Products of an output of all channels."""
        return self.taps * self.channels

    @property
    def pixels(self) -> int:
        """Of the output."""
        return self.batch * self.out[0] * self.out[1]

    @property
    def plain(self) -> bool:
        """True where output pixels are input pixels."""
        return all(axis.plain for axis in self.axes)


def image_windows(operator: Operator, model: Model) -> ImageWindows:
    """The windows of a convolution."""
    batch, *_, channels = model.tensors[operator.inputs[0]].shape
    return ImageWindows(batch=batch, channels=channels, axes=required_windows(operator, model))


def rows_of(rows: int, inputs: int) -> ImageWindows:
    """The rows of a dense layer as images of one pixel."""
    pixel = Window.equal(1)
    return ImageWindows(batch=rows, channels=inputs, axes=(pixel, pixel))
