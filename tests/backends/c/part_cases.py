"""Random convolutions of groups and transposed ones for `parts.py`, and plain integers beside them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels import parts, products, reals
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.plan.arithmetic import any_requantization
from target_arch.plan.model import Model
from tests.backends.c.kernel_cases import Shape, scales, stored, weights_of, windows_of
from tests.backends.c.kernel_program import Case
from tests.backends.c.one import Array, constant, finished, one_operator, quantized, real


@frozen(kw_only=True, eq=False)
class Drawn:
    """A layer with its input and the sums of its products, without the bias."""

    name: str
    kind: str
    attributes: dict[str, Any]
    x: Array
    w: Array
    zero: int
    sums: Array


def grouped(rng: np.random.Generator, shape: Shape, groups: int, wide: bool) -> Drawn:
    """A conv2d of so many groups; a shape's channels are those of each of them."""
    inputs, outputs = shape.channels
    zero = int(rng.integers(-128, 128)) if wide else 0
    x = _values(rng, (shape.batch, *shape.image, inputs * groups), wide)
    w = _weights(rng, (outputs * groups, *shape.kernel, inputs), wide)
    views = windows_of(x.astype(np.int64) - zero, evolve(shape, channels=(1, 1)), 0)
    split = views.reshape(*views.shape[:-1], groups, inputs)
    own = w.astype(np.int64).reshape(groups, outputs, *shape.kernel, inputs)
    sums = np.einsum("bhwrsgc,gorsc->bhwgo", split, own).reshape(*views.shape[:3], -1)
    attributes = {
        "padding": shape.padding,
        "strides": shape.strides,
        "dilation": shape.dilation,
        "groups": groups,
    }
    return Drawn(
        name=f"{groups} groups {shape}", kind="conv2d", attributes=attributes, x=x, w=w, zero=zero, sums=sums
    )


def transposed(rng: np.random.Generator, shape: Shape, wide: bool) -> Drawn:
    """A conv2d_transpose; a shape's padding is cut off its output."""
    inputs, outputs = shape.channels
    zero = int(rng.integers(-128, 128)) if wide else 0
    x = _values(rng, (shape.batch, *shape.image, inputs), wide)
    w = _weights(rng, (outputs, *shape.kernel, inputs), wide)
    (height, width), (down, across), (rows, columns) = shape.image, shape.strides, shape.kernel
    whole = np.zeros(
        (shape.batch, (height - 1) * down + rows, (width - 1) * across + columns, outputs), np.int64
    )
    for y in range(height):
        for column in range(width):
            each = np.einsum("bc,orsc->brso", x[:, y, column].astype(np.int64) - zero, w.astype(np.int64))
            whole[:, y * down :, column * across :][:, :rows, :columns] += each
    top, left, bottom, right = shape.padding
    sums = whole[:, top : whole.shape[1] - bottom, left : whole.shape[2] - right]
    attributes = {"padding": shape.padding, "strides": shape.strides, "dilation": (1, 1)}
    return Drawn(
        name=f"transposed {shape}",
        kind="conv2d_transpose",
        attributes=attributes,
        x=x,
        w=w,
        zero=zero,
        sums=sums,
    )


def _values(rng: np.random.Generator, shape: tuple[int, ...], wide: bool) -> Array:
    return stored(rng, shape, "int8") if wide else rng.integers(-9, 10, shape).astype(np.float32)


def _weights(rng: np.random.Generator, shape: tuple[int, ...], wide: bool) -> Array:
    return weights_of(rng, shape) if wide else rng.integers(-9, 10, shape).astype(np.float32)


GROUPED = (
    (Shape(image=(5, 7), channels=(16, 16), kernel=(3, 3), padding=(1, 1, 1, 1)), 4),
    (Shape(image=(9, 9), channels=(3, 5), kernel=(3, 3), padding=(0, 0, 1, 1), strides=(2, 2)), 3),
    (Shape(image=(6, 6), channels=(4, 4), kernel=(3, 2), padding=(2, 1, 1, 2), dilation=(1, 2), batch=2), 8),
    (Shape(image=(4, 9), channels=(20, 33), strides=(1, 2)), 2),
    (Shape(image=(20, 3), channels=(40, 17), kernel=(5, 1), padding=(2, 0, 2, 0)), 2),
    (Shape(image=(3, 3), channels=(300, 20), kernel=(3, 3), padding=(1, 1, 1, 1)), 2),
)
TRANSPOSED = (
    Shape(image=(5, 7), channels=(16, 16), kernel=(2, 2), strides=(2, 2)),
    Shape(image=(5, 4), channels=(5, 9), kernel=(3, 3), strides=(2, 2), padding=(1, 1, 0, 1)),
    Shape(image=(4, 5), channels=(3, 20), kernel=(4, 5), strides=(2, 3), padding=(1, 2, 1, 0), batch=2),
    Shape(image=(6, 5), channels=(8, 33), kernel=(3, 3), padding=(1, 1, 1, 1)),
    Shape(image=(1, 9), channels=(12, 7), kernel=(1, 4), strides=(1, 2), padding=(0, 3, 0, 2)),
    Shape(image=(3, 2), channels=(300, 4), kernel=(3, 3), strides=(3, 1)),
    Shape(image=(2, 3), channels=(4, 3), kernel=(5, 4), strides=(3, 4), padding=(4, 3, 2, 2)),
)


def layers(rng: np.random.Generator, wide: bool) -> Iterator[Drawn]:
    """Layers of both kinds, in 8 bits where `wide` sums need integers, else in float32."""
    for shape, groups in GROUPED:
        yield grouped(rng, shape, groups, wide)
    for shape in TRANSPOSED:
        yield transposed(rng, shape, wide)


def part_cases(rng: np.random.Generator, layout: WeightLayout) -> Iterator[Case]:
    """Layers of 8-bit values in both arithmetics."""
    for number, drawn in enumerate(layers(rng, True)):
        outputs, rule = len(drawn.w), ("tflite", "onnx")[number % 3 == 2]
        bias = rng.integers(-(2**12), 2**12, outputs).astype(np.int32)
        weights = quantized("w", drawn.w.shape, scales(rng, outputs, drawn.w[0].size), 0)
        model = one_operator(
            drawn.kind,
            rule,
            [quantized("x", drawn.x.shape, 1.0, drawn.zero)],
            quantized("out", drawn.sums.shape, 1.0, int(rng.integers(-128, 128))),
            (constant(weights, drawn.w), constant(quantized("b", bias.shape, 1.0, 0, "int32"), bias)),
            **drawn.attributes,
        )
        operator = model.operators[0]
        assert parts.refusal(operator, model, layout, bounded=False) is None
        assert products.proven(operator, model)
        yield Case(
            name=f"{drawn.name} {rule}",
            made=parts.made(operator, model, layout),
            inputs=(drawn.x,),
            expected=finished(any_requantization(operator, model), drawn.sums + bias, "int8"),
        )


def real_part_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Layers of whole numbers as float32; every second with an addition."""
    for number, drawn in enumerate(layers(rng, False)):
        bias = rng.integers(-99, 100, len(drawn.w)).astype(np.float32)
        out = real("out", drawn.sums.shape)
        weights = (constant(real("w", drawn.w.shape), drawn.w), constant(real("b", bias.shape), bias))
        model = one_operator(
            drawn.kind, "float", [real("x", drawn.x.shape)], out, weights, **drawn.attributes
        )
        assert parts.real_refusal(model.operators[0], model, bounded=False) is None
        expected, after, others = (drawn.sums + bias).astype(np.float32), None, ()
        if number % 2:
            others = (rng.integers(-99, 100, out.shape).astype(np.float32),)
            after, expected = _added(model, out.shape), np.maximum(expected + others[0], np.float32(0))
        yield Case(
            name=f"float {drawn.name}",
            made=parts.real_made(model.operators[0], model, 0, after),
            inputs=(drawn.x,),
            others=others,
            expected=expected + np.float32(0),
        )


def _added(model: Model, shape: tuple[int, ...]) -> reals.RealSum | None:
    operands = [real("o", shape), model.tensors["out"]]
    added = one_operator("add", "float", operands, real("s", shape), activation="relu")
    return reals.sum_after(added.operators[0], "out", added)
