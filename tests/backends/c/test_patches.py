"""Regions in patches against the same operators, one by one: random chains and diamonds."""

import ctypes
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.plain_c.regions import Regions
from target_arch.backends.plain_c.stripes.convolution import StripedConvolution
from target_arch.backends.plain_c.stripes.defined import Defined
from target_arch.backends.plain_c.stripes.real_convolution import RealConvolution
from target_arch.plan.model import Model
from target_arch.plan.regions.patches import Columns, Patches
from target_arch.soc.words import InstructionSet
from target_arch.stages.regions.replay_patches import faults
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


def cases() -> Iterator[Case]:
    """Cortex-M7 has no kernel for float32."""
    for number in range(MODELS):
        isa = InstructionSet.ARMV7E_M if number % 8 == 1 else InstructionSet.GENERIC
        yield from patches_of(model_of(number), isa)


CASES = tuple(cases())


def plan_of(case: Case) -> Patches:
    assert isinstance(case.plan, Patches)
    return case.plan


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    return compiled(CASES, tmp_path_factory.mktemp("patches"), needs_tool("gcc"))


def test_there_are_cases_of_every_sort() -> None:
    units = [unit for case in CASES for unit in case.units]
    assert {type(unit) for unit in units} == {StripedConvolution, Defined, RealConvolution}
    assert {case.region.patches for case in CASES} == {2, 3, 4}
    assert any(isinstance(unit, StripedConvolution) and unit.after for unit in units)
    assert any(isinstance(unit, StripedConvolution) and unit.depthwise for unit in units)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_region_computes_what_its_operators_do(case: Case, library: ctypes.CDLL) -> None:
    assert_computes_the_same(case, library)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_patches_have_less_scratch_and_replay(case: Case) -> None:
    assert [*faults(plan_of(case))] == []
    whole = plan_of(case).patches[0].stripes
    held = {producer.image.name: producer.held for producer in whole.producers}
    lines = sum(
        rows * case.model.tensors[name].bytes // case.model.tensors[name].shape[1]
        for name, rows in held.items()
    )
    assert plan_of(case).scratch <= lines + 4 * len(held)


def test_columns_that_are_missing_are_found() -> None:
    """Each tensor between, one column fewer at either end, where a patch needs it."""
    found = 0
    for case in CASES:
        plan = plan_of(case)
        for number, patch in enumerate(plan.patches):
            for name, columns in patch.columns.items():
                fewer = evolve(columns, start=columns.start + 1), evolve(columns, end=columns.end - 1)
                assert all([*faults(_with(plan, number, name, some))] for some in fewer)
                found += 1
    assert found > MODELS


def test_patches_that_do_not_make_the_output_are_found() -> None:
    plan = plan_of(CASES[0])
    assert [*faults(evolve(plan, patches=plan.patches[1:]))]
    assert [*faults(evolve(plan, patches=plan.patches[:-1]))]


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


def _with(plan: Patches, number: int, name: str, columns: Columns) -> Patches:
    patches = list(plan.patches)
    patches[number] = evolve(patches[number], columns={**patches[number].columns, name: columns})
    return evolve(plan, patches=tuple(patches))
