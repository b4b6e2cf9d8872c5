"""Regions with pools, elementwise operators, dense layers and float convolutions against the same operators,
one by one: random chains, bit by bit.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from target_arch.backends.plain_c.regions.convolution import StripedConvolution
from target_arch.backends.plain_c.regions.defined import Defined
from target_arch.backends.plain_c.regions.real_convolution import RealConvolution
from target_arch.plan.model import Model
from target_arch.soc.words import InstructionSet
from tests.backends.c.chains import Chain
from tests.backends.c.striped import Case, assert_computes_the_same, cases_of, compiled

MODELS = 9
MATRICES = ((7, 12), (1, 9, 8), (3, 4, 16), (1, 5, 3, 8), (6, 17), (1, 11, 4))
"""Inputs of chains without convolutions and pools."""


def model_of(number: int) -> Model:
    rng = np.random.default_rng(number)
    rule = ("float", "tflite", "onnx")[number % 3]
    chain = Chain(rng, rule, "uint8" if number % 2 and rule != "float" else "int8")
    chain.tensor("t0", (1, int(rng.integers(6, 15)), int(rng.integers(4, 9)), int(rng.choice([3, 8, 16]))))
    for _ in range(int(rng.integers(2, 6))):
        (chain.pool, chain.convolution, chain.scaled, chain.sum)[int(rng.integers(4))]()
    return chain.model()


def layers_of(number: int) -> Model:
    """A chain of dense layers and elementwise operators."""
    rule = ("float", "tflite", "onnx")[number % 3]
    chain = Chain(np.random.default_rng(number), rule, "uint8" if number % 2 and rule != "float" else "int8")
    chain.tensor("t0", MATRICES[number])
    chain.dense()
    for _ in range(3):
        (chain.dense, chain.scaled, chain.sum)[int(chain.rng.integers(3))]()
    return chain.model()


def drawn() -> Iterator[Case]:
    """Two regions of each model; Cortex-M7 has no kernel for float32."""
    models = [*map(model_of, range(MODELS)), *map(layers_of, range(len(MATRICES)))]
    for number, model in enumerate(models):
        isa = InstructionSet.ARMV7E_M if number % 6 == 0 else InstructionSet.GENERIC
        yield from cases_of(model, isa, 2)


@cache
def cases() -> tuple[Case, ...]:
    return tuple(drawn())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    return compiled(cases(), tmp_path_factory.mktemp("definitions"), needs_tool("gcc"))


def test_there_are_cases_of_every_sort() -> None:
    units = [unit for case in cases() for unit in case.units]
    assert {type(unit) for unit in units} == {StripedConvolution, Defined, RealConvolution}
    assert any(isinstance(unit, Defined) and unit.others for unit in units)
    assert any(operator.kind == "dense" for case in cases() for operator in case.model.operators)
    assert {case.region.over is None for case in cases()} == {True, False}


@pytest.mark.slow
def test_a_region_computes_what_its_operators_do(library: ctypes.CDLL) -> None:
    for case in cases():
        assert_computes_the_same(case, library)
