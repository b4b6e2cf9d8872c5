"""What the CUDA backend takes, what it costs, and the text of a kernel. Bundles run in `tests/runtime_c`."""

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.cuda import backend
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.relax.lower.hook_stages import lower_by_hooks
from tests.backends.engines import bench, layer
from tests.conftest import GoldenCheck

MODEL = layer("dense", ((1, 4), (2, 4), (1, 2)), {"in_features": 4})


def lowered(model: Model) -> CFunction:
    assert backend.hooks is not None
    kernel = lower_by_hooks(backend.hooks, bench("cuda", {"m": 4096}).request(model))
    (function,) = kernel.functions
    return function


def test_it_takes_what_has_a_definition() -> None:
    question = bench("cuda", {"m": 64}).question(MODEL.operators[0], MODEL)
    assert backend.supports(question) is None
    other = evolve(question, operator=evolve(question.operator, kind="relax"))
    assert backend.supports(other) == "operators without a definition of our own are not bound to threads"


def test_a_launch_costs_more_than_a_small_layer() -> None:
    question = bench("cuda", {"m": 64}).question(MODEL.operators[0], MODEL)
    assert 5e-6 < backend.cost(question) < 6e-6


def test_work_is_a_launch_turns_of_a_thread_and_that_of_all_threads() -> None:
    question = bench("cuda", {"m": 64}).question(MODEL.operators[0], MODEL)
    assert backend.work is not None
    found = backend.work(question)
    assert found is not None
    assert {unit: part.count for unit, part in found.items()} == {
        "launch": 1.0,
        "turn, products of int8": 4.0,
        "work of int8": 24.0,
    }
    assert backend.cost(question) == sum(part.seconds for part in found.values())


def test_a_thread_computes_an_output(golden: GoldenCheck) -> None:
    function = lowered(MODEL)
    assert function.device is not None
    assert (function.device.blocks, function.device.threads) == (1, 2)
    assert function.in_place == ()
    golden("dense", function.device.text.replace(function.name, "dense_kernel"))


@pytest.mark.parametrize("elements", [1, 127, 128, 129, 1000])
def test_blocks_cover_every_element(elements: int) -> None:
    shape = (1, elements)
    tensors = {name: Tensor(name=name, shape=shape, dtype="float32") for name in ("x", "y")}
    operator = Operator(id="relu0", kind="relu", arithmetic="float", inputs=("x",), constants=(), output="y")
    operator = evolve(operator, attributes={"activation": "relu"})
    model = Model(
        name="m", source="test", inputs=("x",), outputs=("y",), tensors=tensors, operators=(operator,)
    )
    device = lowered(model).device
    assert device is not None
    assert device.threads == min(128, elements)
    assert device.blocks == int(np.ceil(elements / device.threads))
    assert (f"< {elements})" in device.text) == (elements % device.threads != 0)
