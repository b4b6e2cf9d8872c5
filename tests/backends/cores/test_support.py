"""What cores with firmware take, and what they say where they refuse."""

from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, partition_model
from target_arch.registry import Backends
from target_arch.soc import read_soc
from target_arch.soc.cores import CORES

REPOSITORY = Path(__file__).parents[3]
SOC = REPOSITORY / "examples" / "hexagon" / "hexagon_edge.toml"
FLOATS = "its firmware has no floating point"


def test_there_is_a_backend_for_every_core() -> None:
    backends = Backends.discover()
    assert {name for name in backends if backends[name].codegen == "llvm"} == set(CORES)


def refusals(model: Path) -> dict[str, str | None]:
    """What the DSP answers to every operator, by kind."""
    graph = partition_model(CompileRequest(model_path=model, soc=read_soc(SOC)))
    found: dict[str, str | None] = {}
    for operator in graph.model.operators:
        (candidate,) = [each for each in graph.choice(operator.id).candidates if each.instance == "dsp_cpu"]
        found[operator.kind] = candidate.refusal
    return found


def test_integers_are_taken_and_floats_are_not(shared: Path) -> None:
    assert refusals(shared / "models" / "kws_int8.tflite") == {
        "conv2d": None,
        "depthwise_conv2d": None,
        "avg_pool2d": None,
        "dense": None,
        "softmax": "operator kind softmax has no integer definition",
    }


def test_a_float_model_stays_on_the_host(shared: Path) -> None:
    found = refusals(shared / "models" / "ic_resnet_fp32.tflite")
    assert found["conv2d"] == found["dense"] == FLOATS
    assert None not in found.values()


@pytest.mark.parametrize("core", sorted(CORES))
def test_cores_are_lowered_with_the_c(core: str) -> None:
    """Their kernels are functions of a CPU: before any accelerator, in the order `c-first`."""
    assert Backends.discover()[core].codegen.is_function
