"""Random int8 layers on HVX under QEMU and their C, against the object code without HVX, bit for bit."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.cores.hvx.averages import division
from target_arch.backends.cores.hvx.depthwise import Depthwise
from target_arch.backends.cores.hvx.forms import HvxForm, hvx_form
from target_arch.backends.cores.hvx.rows import RowProducts
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Tensor
from target_arch.relax.lower.objects import LlvmTarget
from target_arch.relax.lower.operators import lower_operator, lower_operator_object
from target_arch.resources import runtime_c
from target_arch.soc.cores import CORES
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import constant, one_operator, quantized

CORE = CORES["hexagon"]
PLAIN = LlvmTarget(triple=CORE.triple, cpu=CORE.cpu, features=CORE.features)
HVX = LlvmTarget(triple=CORE.triple, cpu=CORE.cpu, features=CORE.vectors[InstructionSet.HVXV67])
LAYERS = 40
MAIN = """\
#include "firmware/system.h"
void begin(const uintptr_t *stack);
TA_ENTRY(_start, begin);
"""
Call = tuple[str, list[bytes], int, int]


def program(
    folder: Path, calls: list[Call], objects: list[bytes], replaced: Mapping[int, int] | None = None
) -> bytes:
    """What a program under QEMU writes that calls functions with these inputs: their outputs. The output of a
    call in `replaced` is written over that input of it.
    """
    data, body, over = [], [], replaced or {}
    for n, (name, inputs, size, room) in enumerate(calls):
        arrays = [*inputs, bytes(size), bytes(room)] if room else [*inputs, bytes(size)]
        names = [f"a{n}_{i}" for i in range(len(arrays))]
        data += [
            f"static unsigned char {each}[] __attribute__((aligned(128))) = {{{','.join(map(str, array))}}};"
            for each, array in zip(names, arrays, strict=True)
        ]
        data.append(f"void {name}({', '.join(['void *'] * len(names))});")
        out = names[over.get(n, len(inputs))]
        body.append(f"{name}({', '.join([*names[: len(inputs)], out, *names[len(inputs) + 1 :]])});")
        body.append(f"ta_call(TA_CALL_WRITE, 1, (uintptr_t){out}, {size}, 0, 0, 0);")
    text = "\n".join(
        [MAIN, *data, "void begin(const uintptr_t *stack) { (void)stack;", *body, "ta_exit(0); }"]
    )
    (folder / "main.c").write_text(text)
    paths = [folder / f"{n}.o" for n in range(len(objects))]
    for path, content in zip(paths, objects, strict=True):
        path.write_bytes(content)
    sources = [folder / "main.c", runtime_c() / "firmware" / "library.c", *paths]
    flags = ["-O1", "-ffreestanding", "-fuse-ld=lld", "-nostdlib", "-static", f"-I{runtime_c()}"]
    flags += [f"-I{runtime_c() / 'include'}", f"--target={CORE.triple}", *CORE.flags]
    subprocess.run(["clang", *flags, *map(str, sources), "-o", str(folder / "main")], check=True)
    return subprocess.run([CORE.emulator, str(folder / "main")], check=True, capture_output=True).stdout


NATIVE = """\
#include <stdint.h>
#include <stdio.h>
{text}
static unsigned char {arrays};
int main(void)
{{
    {name}({given});
    return fwrite(out, 1, {size}, stdout) != {size};
}}
"""


def native(folder: Path, function: CFunction, call: Call) -> bytes:
    """What the C of a function writes on this computer."""
    _, inputs, size, room = call
    arrays = {f"in{n}": each for n, each in enumerate(inputs)} | {"out": bytes(size)}
    arrays |= {"room": bytes(room)} if room else {}
    held = ", ".join(
        f"{name}[] __attribute__((aligned(16))) = {{{','.join(map(str, array))}}}"
        for name, array in arrays.items()
    )
    given = ", ".join(f"(void *){name}" for name in arrays)
    text = NATIVE.format(text=function.text, arrays=held, name=function.name, given=given, size=size)
    (folder / "native.c").write_text(text)
    command = ("gcc", "-std=c99", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    target = str(folder / "native")
    subprocess.run([*command, str(folder / "native.c"), "-o", target], check=True)
    return subprocess.run([target], check=True, capture_output=True).stdout


def layer(rng: Any) -> Model:
    """A random layer: shape, windows, padding, scales and activation."""
    kind = str(rng.choice(["conv2d", "depthwise_conv2d", "dense"]))
    channels = int(rng.choice([1, 3, 4, 7, 8, 16, 24, 40, 64, 96, 128, 136]))
    outputs = (
        channels
        if kind == "depthwise_conv2d"
        else int(rng.choice([1, 5, 8, 12, 16, 32, 48, 64, 96, 128, 130]))
    )
    kh, kw, sy, sx = (int(rng.integers(1, 4)) for _ in range(4))
    dy, dx = (int(rng.integers(1, 3)) for _ in range(2))
    top, left = int(rng.integers(0, kh)), int(rng.integers(0, kw))
    height, width = (int(rng.integers(6, 12)) for _ in range(2))
    rows = (height + 2 * top - (kh - 1) * dy - 1) // sy + 1
    columns = (width + 2 * left - (kw - 1) * dx - 1) // sx + 1
    shapes = {
        "conv2d": ((2, height, width, channels), (outputs, kh, kw, channels), (2, rows, columns, outputs)),
        "depthwise_conv2d": ((1, height, width, channels), (kh, kw, outputs), (1, rows, columns, outputs)),
        "dense": ((rows * columns, channels), (outputs, channels), (rows * columns, outputs)),
    }
    about: dict[str, Any] = {}
    if kind != "dense":
        about = {"strides": (sy, sx), "dilation": (dy, dx), "padding": (top, left, top, left)}
    return weighted(rng, kind, *shapes[kind], range(-127, 128), **about)


def weighted(
    rng: Any,
    kind: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    y: tuple[int, ...],
    values: Sequence[int] = (-128, -77, -1, 0, 3, 127),
    **about: Any,
) -> Model:
    """A layer with random weights of these values, scales, zero points and activation."""
    scales = [float(each) for each in 10 ** rng.uniform(-3, -1.5, y[-1])]
    weights = Tensor(name="w", shape=w, dtype="int8", quantization=quantized("w", w, scales, 0).quantization)
    return one_operator(
        kind,
        "tflite",
        [quantized("x", x, 0.05, int(rng.integers(-128, 128)))],
        quantized("y", y, float(10 ** rng.uniform(-2, 0)), int(rng.integers(-128, 128))),
        (
            constant(weights, rng.choice(values, w)),
            constant(Tensor(name="b", shape=y[-1:], dtype="int32"), rng.integers(-5000, 5000, y[-1])),
        ),
        activation=str(rng.choice(["none", "relu", "relu6"])),
        **about,
    )


def pair(rng: Any, kind: str, size: int) -> Model:
    """A random sum or difference of two tensors with so many elements."""
    x, y, out = (float(each) for each in 10 ** rng.uniform(-2, -1, 3))
    about = {"activation": str(rng.choice(["none", "relu", "relu6"]))}
    given = [
        quantized(name, (1, size), scale, int(rng.integers(-128, 128)))
        for name, scale in (("x", x), ("y", y))
    ]
    return one_operator(
        kind, "tflite", given, quantized("z", (1, size), out, int(rng.integers(-128, 128))), (), **about
    )


def average(rng: Any, shape: tuple[int, int, int, int], activation: str = "none") -> Model:
    """An average of whole images."""
    batch, rows, columns, channels = shape
    x = quantized("x", shape, 0.05, int(rng.integers(-128, 128)))
    y = evolve(x, name="y", shape=(batch, 1, 1, channels))
    about = {"kernel": (rows, columns), "strides": (1, 1), "padding": (0, 0, 0, 0), "activation": activation}
    return one_operator("avg_pool2d", "tflite", [x], y, (), **about)


def calls_of(model: Model, form: HvxForm, vectors: CFunction, *x: bytes) -> tuple[list[Call], list[bytes]]:
    (operator,) = model.operators
    plain = lower_operator(operator, model)
    held = [model.tensors[name].data or b"" for name in operator.constants]
    held += [packed.tensor(operator).data or b"" for packed in plain.packed]
    size = model.tensors[operator.output].bytes
    packed = [each.data or b"" for each in form.constants]
    calls = [
        (plain.function.name, [*x, *held], size, sum(plain.scratch)),
        (vectors.name, [*x, *packed], size, form.room),
    ]
    code = lower_operator_object(operator, model, plain.function.name, PLAIN)
    return calls, [code, vectors.object]


@pytest.mark.long
def test_random_layers(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    for tool in ("gcc", "clang", "ld.lld", CORE.emulator):
        needs_tool(tool)
    rng, compared = np.random.default_rng(7), 0
    for number in range(LAYERS):
        model = layer(rng)
        form = hvx_form(model.operators[0], model)
        if form is None:
            continue
        x = rng.integers(-128, 128, form.sizes[0], dtype=np.int8).tobytes()
        vectors = form.function(HVX)
        calls, objects = calls_of(model, form, vectors, x)
        found = program(tmp_path, calls, objects)
        assert found[: len(found) // 2] == found[len(found) // 2 :], (number, model.operators[0])
        assert native(tmp_path, vectors, calls[1]) == found[: len(found) // 2], (number, "as C")
        compared += 1
    assert compared > LAYERS // 2


ROWS = ((35, 64, 64), (40, 8, 128))
"""Pixels, channels and outputs."""
SHORT = (
    ((1, 5, 5, 64), (3, 3), (1, 1, 1, 1)),
    ((2, 4, 3, 128), (2, 1), (0, 0, 1, 0)),
    ((1, 1, 4, 32), (1, 3), (0, 1, 0, 1)),
)
"""Images, kernels and padding of depthwise convolutions with short rows."""


def _short(rng: Any, shape: tuple[int, ...], kernel: tuple[int, int], padding: tuple[int, ...]) -> Model:
    batch, rows, columns, channels = shape
    top, left, bottom, right = padding
    out = (batch, rows + top + bottom - kernel[0] + 1, columns + left + right - kernel[1] + 1, channels)
    about = {"strides": (1, 1), "dilation": (1, 1), "padding": padding}
    return weighted(rng, "depthwise_conv2d", shape, (*kernel, channels), out, **about)


@pytest.mark.slow
def test_rows_of_whole_vectors(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Layers whose loops are written out; inputs are at both ends, where sums are the greatest."""
    for tool in ("gcc", "clang", "ld.lld", CORE.emulator):
        needs_tool(tool)
    rng = np.random.default_rng(17)
    models = [weighted(rng, "dense", (p, c), (o, c), (p, o)) for p, c, o in ROWS]
    models += [_short(rng, *each) for each in SHORT]
    for number, model in enumerate(models):
        form = hvx_form(model.operators[0], model)
        assert form is not None
        assert isinstance(form.form, RowProducts) or (
            isinstance(form.form, Depthwise) and form.form.units.fit
        ), number
        vectors = form.function(HVX)
        x = rng.choice(np.array([-128, 1, 127], np.int8), form.sizes[0]).tobytes()
        calls, objects = calls_of(model, form, vectors, x)
        found = program(tmp_path, calls, objects)
        assert found[: len(found) // 2] == found[len(found) // 2 :], number
        assert native(tmp_path, vectors, calls[1]) == found[: len(found) // 2], (number, "as C")


@pytest.mark.slow
def test_random_sums(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """The result may replace an operand, also where the last vector is not whole."""
    for tool in ("gcc", "clang", "ld.lld", CORE.emulator):
        needs_tool(tool)
    rng = np.random.default_rng(11)
    for size, kind in ((128, "add"), (131, "sub"), (500, "add"), (1024, "sub")):
        model = pair(rng, kind, size)
        form = hvx_form(model.operators[0], model)
        assert form is not None
        given = [rng.integers(-128, 128, size, dtype=np.int8).tobytes() for _ in range(2)]
        vectors = form.function(HVX)
        assert vectors.in_place == ((2, 0), (2, 1))
        calls, objects = calls_of(model, form, vectors, *given)
        found = program(tmp_path, [*calls, calls[1], calls[1]], objects, replaced={2: 0, 3: 1})
        assert found == found[:size] * 4, (size, kind)
        assert native(tmp_path, vectors, calls[1]) == found[:size], (size, kind, "as C")


@pytest.mark.slow
def test_averages(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Of values at both ends too, where sums are the greatest."""
    for tool in ("gcc", "clang", "ld.lld", CORE.emulator):
        needs_tool(tool)
    rng = np.random.default_rng(13)
    for shape in ((1, 25, 5, 64), (2, 3, 3, 256), (3, 5, 5, 8), (1, 15, 17, 128), (1, 16, 4, 2)):
        model = average(rng, shape, str(rng.choice(["none", "relu"])))
        form = hvx_form(model.operators[0], model)
        assert form is not None
        vectors = form.function(HVX)
        for low, high in ((-128, 128), (-128, -127), (127, 128)):
            x = rng.integers(low, high, form.sizes[0], dtype=np.int8).tobytes()
            calls, objects = calls_of(model, form, vectors, x)
            found = program(tmp_path, calls, objects)
            assert found[: len(found) // 2] == found[len(found) // 2 :], (shape, low)
        assert native(tmp_path, vectors, calls[1]) == found[: len(found) // 2], (shape, "as C")


def test_every_number_of_pixels_has_a_divisor() -> None:
    assert [count for count in range(300) if division(count) is None] == [0, 1, *range(256, 300)]
    assert division(125) == (8389, 20)


@pytest.mark.parametrize(
    ("shape", "kernel"),
    [((1, 4, 4, 48), (4, 4)), ((1, 8, 8, 64), (4, 4)), ((1, 16, 16, 64), (16, 16)), ((1, 2, 2, 8), (2, 2))],
    ids=["channels that fill no vector", "parts of an image", "too many pixels", "less than a vector"],
)
def test_averages_without_a_form(shape: tuple[int, int, int, int], kernel: tuple[int, int]) -> None:
    model = average(np.random.default_rng(3), shape)
    out = (1, shape[1] - kernel[0] + 1, shape[2] - kernel[1] + 1, shape[3])
    (operator,) = model.operators
    tensors = {**model.tensors, "y": evolve(model.tensors["y"], shape=out)}
    changed = evolve(operator, attributes={**operator.attributes, "kernel": kernel})
    assert hvx_form(changed, evolve(model, tensors=tensors)) is None


@pytest.mark.parametrize(
    ("size", "constant_side"), [(127, False), (256, True)], ids=["less than a vector", "a constant operand"]
)
def test_sums_without_a_form(size: int, constant_side: bool) -> None:
    model = pair(np.random.default_rng(2), "add", size)
    (operator,) = model.operators
    if constant_side:
        first, second = operator.inputs
        operator = evolve(operator, inputs=(first,), constants=(second,))
    assert hvx_form(operator, model) is None


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_other_types_have_none(dtype: str) -> None:
    model = layer(np.random.default_rng(1))
    (operator,) = model.operators
    x = model.tensors["x"]
    other = Tensor(name="x", shape=x.shape, dtype=dtype, quantization=x.quantization)
    tensors = {**model.tensors, "x": other}
    assert hvx_form(operator, evolve(model, tensors=tensors)) is None
