"""Images that are small and deep, and dense layers with much between them, in less memory than one operator
at a time needs: the same bits.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.mobilenet import mobilenet
from conformance.topologies import Net, written
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.run import build, reference_for, write_bundle
from target_arch.run.verification.verify import compare
from target_arch.soc import read_soc

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")


def classifier() -> Any:
    """Two residual blocks of an image of 5x5, and the mean of many channels."""
    net = Net((1, 24, 5, 5))
    x = "x"
    for _ in range(2):
        wide = net.add("Relu", net.conv(x, 24, 200, 1))
        each = net.add("Relu", net.conv(wide, 200, 200, 3, group=200))
        x = net.add("Add", x, net.conv(each, 200, 24, 1))
    mean = net.add("GlobalAveragePool", net.add("Relu", net.conv(x, 24, 500, 1)))
    return net.built(net.dense(net.add("Flatten", mean), 500, 7))


def bottleneck() -> Any:
    """Two dense layers of one vector, with many values between them, twice."""
    net = Net((1, 32))
    x = "x"
    for _ in range(2):
        x = net.dense(net.add("Relu", net.dense(x, 32, 900)), 900, 32)
    return net.built(x)


CASES = [
    pytest.param("classifier", classifier, "qdq", 13_108, 3_800, marks=pytest.mark.long),
    pytest.param("classifier", classifier, "qdq_channels", 13_108, 3_800, marks=pytest.mark.long),
    pytest.param("bottleneck", bottleneck, "qdq", 932, 192, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "made", "form", "whole", "room"), CASES)
def test_a_model_in_channels(
    name: str,
    made: Callable[[], Any],
    form: str,
    whole: int,
    room: int,
    tmp_path: Path,
    needs_tool: Callable[[str], str],
) -> None:
    needs_tool("gcc")
    model = tmp_path / f"{name}.onnx"
    written(made(), form, model)
    assert _peak(model, 0, tmp_path / "whole") == (whole, set())
    assert _peak(model, room, tmp_path / "channels") == (room, {"channels"})


@pytest.mark.long
def test_mobilenet_for_small_images(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """Its end is 4x4 pixels of 1280 channels."""
    needs_tool("gcc")
    model = tmp_path / "mobilenet.tflite"
    model.write_bytes(mobilenet(32, early=1))
    peak, axes = _peak(model, 14_848, tmp_path / "bundle")
    assert peak == 14_848
    assert axes == {"channels", "rows"}


@pytest.mark.slow
def test_weights_of_four_bits_ask_what_is_left_before_there_are_regions(tmp_path: Path) -> None:
    """They are packed where a memory has room for their bytes: it has none while tensors count whole."""
    model = tmp_path / "mobilenet.tflite"
    model.write_bytes(mobilenet(32, early=1))
    request = CompileRequest(model_path=model, soc=read_soc("mcu_m7"), memory={"sram": 20_480})
    assert compile_model(request).plan.peaks[Arena("sram")] <= 20_480


def _peak(model: Path, room: int, folder: Path) -> tuple[int, set[str]]:
    """The arena of a model that is given so many bytes, 0 for all, and the axes of its regions; its outputs
    are those of the reference.
    """
    memory = {"sram": room} if room else {}
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7"), memory=memory))
    write_bundle(made.bundle, folder)
    found = compare(
        reference_for(model), build(folder, sanitize=("address", "undefined"), optimize="-O1"), count=3
    )
    assert found.equal == found.outputs
    axes = {str(region.axis) for partition in made.graph.partitions for region in partition.regions}
    return made.plan.peaks[Arena("sram")], axes
