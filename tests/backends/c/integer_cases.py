"""Random products of rows and images that stay integers for `s8_integers.h`, and what numpy says."""

from collections.abc import Iterator

import numpy as np

from target_arch.backends.plain_c.kernels import integers
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.plan.model import Model, Tensor
from tests.backends.c.kernel_cases import stored, weights_of
from tests.backends.c.kernel_program import Case
from tests.backends.c.one import Array, constant, one_operator


def integer_model(x: Array, w: Array, zero: int | None) -> Model:
    """A product of `x` with weights [N,K]; with a zero point that is a number, or without one an input."""
    outputs, inputs = w.shape
    tensors = [Tensor(name="x", shape=x.shape, dtype=str(x.dtype))]
    stated = {"in_features": inputs, "operator": "integer_product"}
    if zero is None:
        tensors.append(Tensor(name="zero", shape=(), dtype=str(x.dtype)))
    else:
        stated["zero"] = zero
    out = Tensor(name="out", shape=(*x.shape[:-1], outputs), dtype="int32")
    weights = constant(Tensor(name="w", shape=w.shape, dtype="int8"), w)
    return one_operator("products", "onnx", tensors, out, (weights,), **stated)


def convolution_model(x: Array, w: Array, zero: int | None, steps: tuple[int, int], pad: int) -> Model:
    """A convolution of an image `x` NHWC by weights OHWI; the zero point is as in `integer_model`. `steps`
    are how far windows are apart and how far their elements are.
    """
    outputs, *kernel, _ = w.shape
    stride, dilation = steps
    tensors = [Tensor(name="x", shape=x.shape, dtype=str(x.dtype))]
    stated = {"operator": "integer_convolution", "padding": (pad,) * 4}
    stated |= {"strides": (stride, stride), "dilation": (dilation, dilation)}
    if zero is None:
        tensors.append(Tensor(name="zero", shape=(), dtype=str(x.dtype)))
    else:
        stated["zero"] = zero
    sizes = [
        (extent + 2 * pad - dilation * (taps - 1) - 1) // stride + 1
        for extent, taps in zip(x.shape[1:3], kernel, strict=True)
    ]
    out = Tensor(name="out", shape=(x.shape[0], *sizes, outputs), dtype="int32")
    weights = constant(Tensor(name="w", shape=w.shape, dtype="int8"), w)
    return one_operator("products", "onnx", tensors, out, (weights,), **stated)


def convolved(x: Array, w: Array, zero: int, steps: tuple[int, int], pad: int) -> Array:
    """The sums of `convolution_model` by numpy."""
    stride, dilation = steps
    wide = np.pad(x.astype(np.int64) - zero, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    reach = [dilation * (taps - 1) + 1 for taps in w.shape[1:3]]
    windows = np.lib.stride_tricks.sliding_window_view(wide, reach, (1, 2))[:, ::stride, ::stride]
    taken = windows[..., ::dilation, ::dilation]
    return np.einsum("nyxchw,ohwc->nyxo", taken, w.astype(np.int64)).astype(np.int32)


def convolution_cases(rng: np.random.Generator, layout: WeightLayout) -> Iterator[Case]:
    """Convolutions of images of both types: with strides, dilation, some images, and more than a panel."""
    sizes = (
        ((1, 7, 6, 5), (9, 3, 3), (1, 1), 1),
        ((2, 6, 5, 16), (16, 2, 3), (2, 1), 1),
        ((1, 8, 8, 3), (17, 3, 3), (1, 2), 2),
        ((1, 3, 3, 270), (5, 3, 3), (1, 1), 1),
    )
    for number, (image, (outputs, *kernel), steps, pad) in enumerate(sizes):
        dtype = ("uint8", "int8")[number % 2]
        x, w = stored(rng, image, dtype), weights_of(rng, (outputs, *kernel, image[3]))
        zero = stored(rng, (1,), dtype)
        known = int(zero[0]) if number == 1 else None
        model = convolution_model(x, w, known, steps, pad)
        assert integers.refusal(model.operators[0], model, layout, bounded=False) is None
        yield Case(
            name=f"integers of an image {image} {kernel} {dtype}",
            made=integers.made(model.operators[0], model, layout),
            inputs=(x,) if known is not None else (x, zero),
            expected=convolved(x, w, int(zero[0]), steps, pad),
        )


def integer_cases(rng: np.random.Generator, layout: WeightLayout) -> Iterator[Case]:
    """Products of few and many rows, some longer than a panel, of both types."""
    sizes = ((1, 64, 12), (7, 33, 35), (19, 16, 16), (1, 7, 9), (3, 2500, 17), (4, 130, 1))
    for number, (rows, inputs, outputs) in enumerate(sizes):
        dtype = ("int8", "uint8")[number % 2]
        x, w = stored(rng, (rows, inputs), dtype), weights_of(rng, (outputs, inputs))
        zero = stored(rng, (1,), dtype)
        known = int(zero[0]) if number % 3 == 0 else None
        model = integer_model(x, w, known)
        assert integers.refusal(model.operators[0], model, layout, bounded=False) is None
        yield Case(
            name=f"integers {rows}x{inputs}x{outputs} {dtype}",
            made=integers.made(model.operators[0], model, layout),
            inputs=(x,) if known is not None else (x, zero),
            expected=((x.astype(np.int64) - int(zero[0])) @ w.astype(np.int64).T).astype(np.int32),
        )
    yield from convolution_cases(rng, layout)
