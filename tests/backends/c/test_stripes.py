"""Regions against the same operators one by one: random chains and diamonds, in rows and in channels, with
the output beside its input and in the place of it.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.plain_c.regions.convolution import StripedConvolution
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import constant, quantized
from tests.backends.c.striped import Case, assert_computes_the_same, cases_of, compiled

CHAINS = 4
WIDE = (19, 40)
"""Channels of single depthwise convolutions."""


def model_of(rng: np.random.Generator, number: int) -> Model:
    """A chain of convolutions; every third one is of 3 that keep the shape, and a sum with the first's."""
    dtype = ("int8", "uint8")[number % 2]
    height, width, channels = int(rng.integers(5, 17)), int(rng.integers(3, 9)), int(rng.choice([3, 8, 16]))
    wide = number >= CHAINS
    channels = WIDE[number - CHAINS] if wide else channels
    tensors = {"t0": quantized("t0", (1, height, width, channels), 0.04, 3, dtype)}
    operators: list[Operator] = []
    block = number % 3 == 0
    for index in range(1 if wide else 3 if block else int(rng.integers(2, 5))):
        operators.append(_convolution(rng, tensors[f"t{index}"], index, tensors, block or wide, wide))
    if block and not wide:
        operators.append(_sum(2, "t1", tensors))
    return Model(
        name="chain",
        source="made",
        inputs=("t0",),
        outputs=(operators[-1].output,),
        tensors=tensors,
        operators=tuple(operators),
    )


def _convolution(
    rng: np.random.Generator, x: Tensor, index: int, tensors: dict[str, Tensor], block: bool, wide: bool
) -> Operator:
    _, height, width, channels = x.shape
    dtype, deep = x.dtype, wide or bool(rng.integers(2))
    taps, stride, step = int(rng.choice([1, 2, 3])), int(rng.choice([1, 1, 2])), int(rng.choice([1, 1, 2]))
    stride = 1 if block else stride
    reach = (taps - 1) * step
    before = int(rng.integers(reach // 2 + 1))
    after = reach - before
    outputs = channels if deep or block else int(rng.choice([4, 8, 12]))
    out = (1, (height + before + after - reach - 1) // stride + 1, (width - 1) // stride + 1, outputs)
    shape = (taps, taps, outputs) if deep else (outputs, taps, taps, channels)
    weights = rng.integers(-128, 128, shape).astype(np.int8)
    bias = rng.integers(-9000, 9000, outputs).astype(np.int32)
    names = (f"w{index}", f"b{index}")
    tensors[names[0]] = constant(quantized(names[0], shape, 0.004, 0), weights)
    tensors[names[1]] = constant(quantized(names[1], (outputs,), 0.001, 0, "int32"), bias)
    name = f"t{index + 1}"
    tensors[name] = quantized(name, out, 0.04 if deep else 0.3, -5 if dtype == "int8" else 120, dtype)
    return Operator(
        id=f"op{index}",
        kind="depthwise_conv2d" if deep else "conv2d",
        arithmetic="tflite",
        inputs=(x.name,),
        constants=names,
        output=name,
        attributes={
            "strides": (stride, stride),
            "dilation": (step, step),
            "padding": (before, before, after, after),
            "depth_multiplier": 1,
            "activation_min": 0 if dtype == "uint8" else -128,
            "activation_max": 255 if dtype == "uint8" else 127,
        },
    )


def _sum(index: int, other: str, tensors: dict[str, Tensor]) -> Operator:
    made = tensors[f"t{index + 1}"]
    tensors[f"s{index}"] = evolve(made, name=f"s{index}")
    low = 0 if made.dtype == "uint8" else -128
    return Operator(
        id=f"add{index}",
        kind="add",
        arithmetic="tflite",
        inputs=(other, made.name),
        constants=(),
        output=f"s{index}",
        attributes={"activation_min": low, "activation_max": low + 255},
    )


def drawn() -> Iterator[Case]:
    """Regions of random models, a few of each."""
    rng = np.random.default_rng(14)
    for number in range(CHAINS + len(WIDE)):
        yield from cases_of(model_of(rng, number), InstructionSet.GENERIC, 4)


@cache
def cases() -> tuple[Case, ...]:
    return tuple(drawn())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    return compiled(cases(), tmp_path_factory.mktemp("stripes"), needs_tool("gcc"))


def test_there_are_cases_of_every_sort() -> None:
    sums = any(isinstance(unit, StripedConvolution) and unit.after for case in cases() for unit in case.units)
    assert sums
    assert {case.region.axis for case in cases()} == {"rows", "channels"}
    rows = [case for case in cases() if case.region.axis == "rows"]
    assert (
        {len(case.alone) > 2 for case in cases()}
        == {case.region.over is None for case in rows}
        == {True, False}
    )


def test_a_region_computes_what_its_operators_do(library: ctypes.CDLL) -> None:
    for case in cases():
        assert_computes_the_same(case, library)
