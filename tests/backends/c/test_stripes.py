"""Regions against the same operators one by one: random chains and diamonds, in rows and in channels, with
the output beside its input and in the place of it.
"""

import ctypes
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels import depthwise, products
from target_arch.backends.plain_c.kernels.layout import PAIRS
from target_arch.backends.plain_c.kernels.made import Made
from target_arch.backends.plain_c.stripes.channels_text import channels_function
from target_arch.backends.plain_c.stripes.regions import Regions
from target_arch.backends.plain_c.stripes.rows_text import RowsText
from target_arch.backends.plain_c.stripes.units import Rowwise
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.regions.region import Region
from target_arch.plan.regions.stripes import Stripes
from target_arch.resources import runtime_c
from tests.backends.c.one import Array, array_of, call, constant, quantized

CHAINS = 4
WIDE = (19, 40)
"""Channels of single depthwise convolutions."""
FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared")
SANITIZE = ("-fsanitize=undefined", "-fno-sanitize-recover=all")


@frozen(kw_only=True)
class Case:
    """A region of a model, and the calls that do the same."""

    model: Model
    region: Region
    units: tuple[Rowwise, ...]
    plan: Any
    function: CFunction
    alone: tuple[tuple[Rowwise, Made], ...]


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


def cases() -> Iterator[Case]:
    """Regions of random models, a few of each."""
    rng = np.random.default_rng(14)
    for number in range(CHAINS + len(WIDE)):
        model = model_of(rng, number)
        regions = Regions(model=model, layout=PAIRS)
        units = regions.units(model.operators)
        if units is None:
            continue
        alone = tuple((unit, made(unit, model)) for unit in units)
        for region in list(regions(model.operators, 10**6))[:4]:
            if region.usual:
                continue
            plan = regions.plan(region, units)
            function = (
                RowsText(plan=plan, units=units, model=model).function()
                if isinstance(plan, Stripes)
                else channels_function(plan, units[0], model)
            )
            yield Case(
                model=model, region=region, units=tuple(units), plan=plan, function=function, alone=alone
            )


def made(unit: Rowwise, model: Model) -> Made:
    if unit.depthwise:
        return depthwise.made(unit.operator, model, 0, unit.after)
    return products.made(unit.operator, model, PAIRS, 0, unit.after)


CASES = tuple(cases())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    """All functions of all cases, with UBSan."""
    folder = tmp_path_factory.mktemp("stripes")
    functions = {each.name: each for case in CASES for each in (case.function, *_alone(case))}
    headers = dict.fromkeys(header for each in functions.values() for header in each.headers)
    text = ["#include <math.h>", *(f'#include "{header}"' for header in headers)]
    text += [each.text.replace("static void", "void", 1) for each in functions.values()]
    source = folder / "stripes.c"
    source.write_text("\n".join(text))
    flags = (*FLAGS, "-Wno-missing-prototypes", *SANITIZE, f"-I{runtime_c()}")
    subprocess.run(
        [needs_tool("gcc"), *flags, str(source), "-o", str(source.with_suffix(".so")), "-lm"], check=True
    )
    return ctypes.CDLL(str(source.with_suffix(".so")))


def _alone(case: Case) -> tuple[CFunction, ...]:
    return tuple(each.function for _, each in case.alone)


def one_by_one(case: Case, library: ctypes.CDLL, x: Array) -> Mapping[str, Array]:
    values = {case.model.inputs[0]: x}
    for unit, each in case.alone:
        out = array_for(case.model, unit.unit.image.name)
        given = [values[unit.operator.inputs[0]], *map(array_of, each.packed)]
        given += [] if unit.after is None else [values[unit.after.other.name]]
        call(library, each.function.name, *given, out)
        values[unit.unit.image.name] = out
    return values


def array_for(model: Model, name: str) -> Array:
    tensor = model.tensors[name]
    return np.zeros(tensor.shape, tensor.dtype)


def test_there_are_cases_of_every_sort() -> None:
    sums = any(unit.after is not None for case in CASES for unit in case.units)
    assert sums
    assert {case.region.axis for case in CASES} == {"rows", "channels"}
    assert (
        {len(case.units) > 2 for case in CASES}
        == {case.plan.over is None for case in _rows()}
        == {True, False}
    )


def _rows() -> list[Case]:
    return [case for case in CASES if isinstance(case.plan, Stripes)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case.units)}: {case.region}"[:70])
def test_a_region_computes_what_its_operators_do(case: Case, library: ctypes.CDLL) -> None:
    tensor = case.model.tensors[case.model.inputs[0]]
    x = np.random.default_rng(3).integers(0, 256, tensor.shape).astype(np.uint8).view(tensor.dtype)
    expected = one_by_one(case, library, x)[case.model.outputs[0]]
    place = np.zeros(max(x.nbytes, expected.nbytes), np.uint8)
    place[: x.nbytes] = x.view(np.uint8).ravel()
    out = place if case.region.over is not None else array_for(case.model, case.model.outputs[0])
    packed = [array_of(each) for unit in case.units for each in unit.weighed.packed]
    lines = [np.zeros(case.plan.scratch, np.uint8)] if case.plan.scratch else []
    call(library, case.function.name, place, *packed, out, *lines)
    found = out.view(np.uint8).ravel()[: expected.nbytes]
    np.testing.assert_array_equal(found, expected.view(np.uint8).ravel())
