"""Regions in patches against the same operators, one by one: random chains and diamonds."""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.plain_c.regions.convolution import StripedConvolution
from target_arch.backends.plain_c.regions.defined import Defined
from target_arch.backends.plain_c.regions.real_convolution import RealConvolution
from target_arch.backends.plain_c.regions.ways import Regions
from target_arch.plan.model import Model
from target_arch.plan.regions.cut import AxisPart
from target_arch.plan.regions.lines import Pass, RegionPlan, TensorLines
from target_arch.soc.words import InstructionSet
from target_arch.stages.regions.replay import faults
from tests.backends.c.chains import Chain
from tests.backends.c.striped import Case, assert_computes_the_same, compiled, patches_of

MODELS = 24
RULES = ("tflite", "float", "onnx", "tflite")


def model_of(number: int) -> Model:
    """Images wide enough for patches, some of them wider than high."""
    rng = np.random.default_rng(1000 + number)
    rule = RULES[number % 4]
    chain = Chain(rng, rule, "uint8" if number % 3 == 0 and rule != "float" else "int8")
    chain.tensor("t0", (1, int(rng.integers(5, 12)), int(rng.integers(8, 24)), int(rng.choice([3, 8, 16]))))
    if rule == "float":
        _, height, width, channels = chain.last.shape
        chain.convolved("conv2d", (8, 1, 1, channels), 8, (height, width))
    chain.convolution()
    if number % 2:
        residual(chain)
    for _ in range(int(rng.integers(1, 5))):
        (chain.pool, chain.convolution, chain.convolution, chain.scaled, chain.sum)[int(rng.integers(5))]()
    return chain.model()


def residual(chain: Chain) -> None:
    """A convolution that keeps the shape, and the sum with its input."""
    x = chain.last
    channels = x.shape[3]
    chain.convolved("conv2d", (channels, 3, 3, channels), channels, x.shape[1:3], 1, (1, 1, 1, 1))
    chain.add("add", x.shape, x.name)


def drawn() -> Iterator[Case]:
    """Cortex-M7 has no kernel for float32."""
    for number in range(MODELS):
        isa = InstructionSet.ARMV7E_M if number % 8 == 1 else InstructionSet.GENERIC
        yield from patches_of(model_of(number), isa)


@cache
def cases() -> tuple[Case, ...]:
    return tuple(drawn())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    return compiled(cases(), tmp_path_factory.mktemp("patches"), needs_tool("gcc"))


def test_there_are_cases_of_every_sort() -> None:
    units = [unit for case in cases() for unit in case.units]
    assert {type(unit) for unit in units} == {StripedConvolution, Defined, RealConvolution}
    assert {case.region.patches for case in cases()} == {2, 3, 4}
    assert any(isinstance(unit, StripedConvolution) and unit.after for unit in units)
    assert any(isinstance(unit, StripedConvolution) and unit.depthwise for unit in units)


@pytest.mark.slow
def test_a_region_computes_what_its_operators_do(library: ctypes.CDLL) -> None:
    for case in cases():
        assert_computes_the_same(case, library)


def test_patches_have_less_scratch_and_replay() -> None:
    for case in cases():
        assert [*faults(case.plan)] == []
        held = {producer.image.name: producer.held for producer in case.plan.passes[0].producers}
        tensors = case.model.tensors
        lines = sum(rows * tensors[name].bytes // tensors[name].shape[1] for name, rows in held.items())
        assert case.plan.scratch <= lines + 4 * len(held), case


def test_columns_that_are_missing_are_found() -> None:
    """Each tensor, one column fewer at either end, where a patch needs it."""
    found = 0
    for case in cases():
        for number, one in enumerate(case.plan.passes):
            for image in (*one.given, *(producer.image for producer in one.producers)):
                part = image.part
                assert part is not None
                fewer = evolve(part, start=part.start + 1), evolve(part, end=part.end - 1)
                assert all([*faults(_with(case.plan, number, image.name, some))] for some in fewer)
                found += 1
    assert found > MODELS


def test_what_is_said_of_columns() -> None:
    plan = cases()[0].plan
    (name,) = (image.name for image in plan.given)
    said = [*faults(_with(plan, 0, name, AxisPart(start=1, end=9, of=9)))]
    assert said[0] == f"only 1 to 9 of 9 of `{name}` are known"
    out, (first, *_) = plan.output.name, plan.passes
    assert first.output.part is not None
    gone = evolve(plan, passes=plan.passes[1:])
    assert [*faults(gone)] == [f"columns {gone.passes[0].output.part} of `{out}` follow column 0"]
    end = plan.passes[-2].output.part
    assert end is not None
    assert [*faults(evolve(plan, passes=plan.passes[:-1]))] == [f"{end.end} columns of `{out}` are made"]
    twice = [*faults(_everywhere(plan, lambda image: evolve(image.whole)))]
    assert twice[-1] == f"`{out}` is made {len(plan.passes)} times"


@pytest.mark.parametrize(
    ("kind", "weight", "channels"),
    [("conv2d", (8, 3, 3, 8), 8), ("depthwise_conv2d", (3, 3, 32), 32)],
)
def test_no_region_has_more_operands_than_the_runtime_passes_on(
    kind: str, weight: tuple[int, ...], channels: int
) -> None:
    """Eight convolutions have four constants each; depthwise ones also run some channels at a time."""
    chain = Chain(np.random.default_rng(0), "tflite", "int8")
    chain.tensor("t0", (1, 12, 12, channels))
    for _ in range(8):
        chain.convolved(kind, weight, channels, (12, 12), 1, (1, 1, 1, 1))
    model = chain.model()
    regions = Regions(model=model, isa=InstructionSet.GENERIC)
    assert [*regions(model.operators[:7], 0, True)]
    assert not [*regions(model.operators, 0, True)]


def _with(plan: RegionPlan, number: int, name: str, part: AxisPart) -> RegionPlan:
    """The plan with another part of a tensor in one of its passes."""
    passes = list(plan.passes)
    passes[number] = _changed(
        passes[number], lambda image: evolve(image, part=part) if image.name == name else image
    )
    return evolve(plan, passes=tuple(passes))


def _everywhere(plan: RegionPlan, change: Callable[[TensorLines], TensorLines]) -> RegionPlan:
    return evolve(plan, passes=tuple(_changed(one, change) for one in plan.passes))


def _changed(one: Pass, change: Callable[[TensorLines], TensorLines]) -> Pass:
    """A pass with other tensors."""
    producers = (
        evolve(
            producer,
            image=change(producer.image),
            reads=tuple(evolve(window, tensor=change(window.tensor)) for window in producer.reads),
        )
        for producer in one.producers
    )
    return evolve(one, given=tuple(map(change, one.given)), producers=tuple(producers))
