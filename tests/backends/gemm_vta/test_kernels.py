"""Kernels of the VTA-class engine, run on driver and simulator, against exact integers."""

import ctypes
from collections.abc import Callable

import pytest

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.model import Model
from tests.backends.gemm_vta.machine import checked, conv2d, dense, engine, instructions, lowered
from tests.slow import slow_except

Build = Callable[[str], ctypes.CDLL]
SMALL = {"inp": 1024, "wgt": 10240, "acc": 2048}

LAYERS: dict[str, Callable[[], Model]] = {
    "padded": lambda: conv2d((12, 10, 20), 24, (3, 3), padding=(1, 1, 1, 1)),
    "strided": lambda: conv2d((9, 9, 16), 16, (3, 3), strides=(2, 2), padding=(0, 0, 1, 1)),
    "few channels": lambda: conv2d((11, 7, 3), 8, (3, 2), strides=(2, 1), padding=(1, 0, 1, 1)),
    "tall kernel": lambda: conv2d((25, 5, 1), 12, (10, 4), strides=(2, 2), padding=(4, 1, 5, 1)),
    "pointwise": lambda: conv2d((5, 6, 40), 48, (1, 1)),
    "strided pointwise": lambda: conv2d((8, 8, 32), 64, (1, 1), strides=(2, 2)),
    "row": lambda: dense(1, 640, 128),
    "narrow": lambda: dense(3, 8, 10),
    "rows": lambda: dense(6, 48, 33),
}


@pytest.mark.parametrize("layer", slow_except(["strided", "narrow"], LAYERS))
def test_a_layer_is_exact(build: Build, layer: str) -> None:
    checked(build, engine(), LAYERS[layer]())


@pytest.mark.parametrize("layer", slow_except(["padded", "rows"], LAYERS))
def test_smaller_budgets_give_smaller_tiles_and_equal_results(build: Build, layer: str) -> None:
    model, on = LAYERS[layer](), engine()
    whole, small = checked(build, on, model), checked(build, on, model, SMALL)
    for buffer, bound in zip(small.buffers, (1024, 10240, 2048), strict=True):
        assert buffer.bytes <= bound
    assert sum(each.bytes for each in small.buffers) <= sum(each.bytes for each in whole.buffers)


@pytest.mark.parametrize("arithmetic", ["tflite", "onnx"])
@pytest.mark.parametrize("seed", slow_except([0], range(4)))
def test_every_rounding_is_exact(build: Build, arithmetic: str, seed: int) -> None:
    checked(build, engine(), conv2d((4, 5, 17), 19, (3, 3), arithmetic=arithmetic, seed=seed), seed=seed)
    checked(build, engine(), dense(2, 33, 17, arithmetic=arithmetic, seed=seed), seed=seed)


def test_the_tiling_is_told() -> None:
    (note,) = lowered(LAYERS["padded"](), engine(), SMALL).notes
    assert note == "op0: tiles of 6 x 2 results, 2 x 16 channels from 2 x 16 at a time; 225 instructions"


def test_weights_that_fit_are_loaded_once() -> None:
    kernel = lowered(LAYERS["padded"](), engine(), SMALL)
    loaded = [each["ENTRY"] for each in instructions(kernel) if (each.opcode, each["BUFFER"]) == ("LOAD", 1)]
    assert loaded == [0]


@pytest.mark.parametrize(
    ("budget", "memory", "needed"),
    [({"inp": 143}, "inp", 144), ({"wgt": 2303}, "wgt", 2304), ({"acc": 255}, "acc", 256)],
)
def test_no_room_for_one_result_is_a_refusal_with_numbers(
    budget: dict[str, int], memory: str, needed: int
) -> None:
    with pytest.raises(DoesNotFit) as refusal:
        lowered(LAYERS["padded"](), engine(), budget)
    (size,) = budget.values()
    entry = {"inp": 16, "wgt": 256, "acc": 64}[memory]
    assert (refusal.value.memory, refusal.value.needed) == (memory, needed)
    assert refusal.value.available == size // entry * entry
