"""Regions that run some channels at a time against the same operators one by one: random chains, bit by bit,
in the forms that run here and with the weights of every layout.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.plan.model import Model
from target_arch.soc.words import InstructionSet
from target_arch.stages.regions.replay import faults
from tests.backends.c.chains import Chain
from tests.backends.c.striped import SANITIZE, Case, assert_computes_the_same, cases_of, compiled
from tests.slow import slow_except

IMAGES, VECTORS = 12, 6
WIDE = (24, 40, 72, 100, 160, 300)
"""Channels between operators."""
FORMS: Mapping[str, tuple[InstructionSet, tuple[str, ...]]] = {
    "of the processor": (InstructionSet.GENERIC, SANITIZE),
    "SSE2": (InstructionSet.GENERIC, ("-DTA_KERNELS_SSE2",)),
    "portable": (InstructionSet.GENERIC, (*SANITIZE, "-DTA_KERNELS_PORTABLE")),
    "portable, quads": (InstructionSet.ARMV7E_M, SANITIZE),
    "portable, chunks": (InstructionSet.ARMV8_1_M, SANITIZE),
}


def image_model(number: int) -> Model:
    """An image, its channels made many, passed on one by one, and made few."""
    chain, draw = _chain(number), np.random.default_rng(100 + number).integers
    channels, wide = int(draw(3, 20)), int(draw(0, len(WIDE)))
    chain.tensor("t0", (1, int(draw(2, 6)), int(draw(2, 6)), WIDE[wide] if number % 4 == 3 else channels))
    if number % 4 != 3:
        taps = (1, 3)[int(draw(2))]
        _spread(chain, "conv2d", taps, WIDE[wide])
    for _ in range(int(draw(0 if number % 4 != 3 else 1, 3))):
        chain.pool() if number % 5 == 1 else _spread(chain, "depthwise_conv2d", 3, 0)
    ends = (_mean, _few, _residual, lambda chain: _spread(chain, "depthwise_conv2d", 2, 0))
    ends[int(draw(len(ends)))](chain)
    return chain.model()


def vector_model(number: int) -> Model:
    """Rows of values through two dense layers, some with a sum."""
    chain, draw = _chain(number), np.random.default_rng(200 + number).integers
    values = int(draw(3, 40))
    chain.tensor("t0", ((1, values), (4, values), (1, 5, values))[number % 3])
    chain.dense(WIDE[int(draw(len(WIDE)))])
    if number % 2:
        chain.add("relu", chain.last.shape)
    else:
        chain.scaled()
    chain.dense(values)
    if number % 3 == 0:
        chain.add("add", chain.last.shape, "t0")
    return chain.model()


def _chain(number: int) -> Chain:
    dtype = ("int8", "uint8")[number % 3 == 2]
    return Chain(np.random.default_rng(number), ("tflite", "onnx")[number % 2], dtype)


def _spread(chain: Chain, kind: str, taps: int, outputs: int) -> None:
    """A convolution that keeps the size of its image."""
    _, height, width, channels = chain.last.shape
    before, after = (taps - 1) // 2, taps // 2
    outputs = outputs or channels
    shape = (taps, taps, outputs) if kind == "depthwise_conv2d" else (outputs, taps, taps, channels)
    chain.convolved(kind, shape, outputs, (height, width), padding=(before, before, after, after))


def _mean(chain: Chain) -> None:
    _, height, width, channels = chain.last.shape
    chain.add(
        "avg_pool2d",
        (1, 1, 1, channels),
        kernel=(height, width),
        strides=(1, 1),
        padding=(0, 0, 0, 0),
        count_include_pad=False,
    )


def _few(chain: Chain) -> None:
    _spread(chain, "conv2d", 1, int(chain.rng.integers(1, 30)))


def _residual(chain: Chain) -> None:
    """Back to the channels of the input, and the sum with it, where the image has its size still."""
    first = chain.tensors["t0"].shape
    _spread(chain, "conv2d", 1, first[3])
    if chain.last.shape == first:
        chain.add("add", first, "t0")


def cases(isa: InstructionSet) -> Iterator[Case]:
    """The channel regions of all models, the first few sizes of each."""
    for model in (*map(image_model, range(IMAGES)), *map(vector_model, range(VECTORS))):
        yield from (case for case in cases_of(model, isa, 6) if case.region.axis == "channels")


BY_HAND = ("SSE2", "portable, quads", "portable, chunks")


@pytest.fixture(scope="module", params=slow_except(["of the processor"], FORMS, by_hand=BY_HAND))
def form(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    needs_tool: Callable[[str], str],
) -> tuple[tuple[Case, ...], ctypes.CDLL]:
    isa, flags = FORMS[request.param]
    found = tuple(cases(isa))
    folder: Path = tmp_path_factory.mktemp("channels")
    return found, compiled(found, folder, needs_tool("gcc"), (), flags)


@pytest.mark.slow
def test_there_are_cases_of_every_sort() -> None:
    passes = [one for case in cases(InstructionSet.GENERIC) for one in case.plan.passes]
    assert len(passes) > IMAGES
    assert {one.producers[-1].accumulates for one in passes} == {True, False}
    assert any(len(one.producers[-1].reads) > 1 for one in passes)
    assert {one.over is None for one in passes} == {True, False}
    assert {bool(one.producers[0].operators) for one in passes} == {True, False}
    assert any(one.output.line_bytes == 1 < one.producers[0].image.line_bytes for one in passes)


@pytest.mark.slow
def test_a_region_computes_what_its_operators_do(form: tuple[tuple[Case, ...], ctypes.CDLL]) -> None:
    found, library = form
    for case in found:
        assert_computes_the_same(case, library)


def test_every_plan_replays_without_a_fault_and_no_shorter_one_does() -> None:
    for case in cases(InstructionSet.GENERIC):
        (one,) = case.plan.passes
        assert [*faults(case.plan)] == []
        # What is rounded up to words is not missed.
        shorter = [evolve(one, scratch=one.scratch - 4), evolve(one, given=())]
        for number in range(len(one.producers)):
            left = (*one.producers[:number], *one.producers[number + 1 :])
            shorter += [evolve(one, producers=left)] if left else []
        for each in shorter:
            assert [*faults(evolve(case.plan, passes=(each,)))]
