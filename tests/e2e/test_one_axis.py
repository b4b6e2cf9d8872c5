"""Convolutions and pools along one axis: images of one row, in stripes of columns where memory is short."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.importer import import_model
from target_arch.run import build, reference_for, write_bundle
from target_arch.run.verification.verify import compare
from target_arch.soc import read_soc
from tests.relax.models import helper, onnx_model, quantized, save
from tests.slow import slow_except

Constants = dict[str, np.ndarray]


class Net:
    """An ONNX model that grows operator by operator; `last` is its newest value, of so many channels."""

    def __init__(self, channels: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[object] = []
        self.constants: Constants = {}
        self.last, self.channels = "x", channels

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [*inputs], [self.last], **attributes))
        return self.last

    def convolution(self, outputs: int, taps: int, groups: int = 1, **attributes: object) -> str:
        names = f"w{len(self.nodes)}", f"b{len(self.nodes)}"
        shape = (outputs, self.channels // groups, taps)
        self.constants[names[0]] = self.rng.normal(0, 0.4 / np.sqrt(shape[1] * taps), shape).astype(
            np.float32
        )
        self.constants[names[1]] = self.rng.normal(0, 0.1, outputs).astype(np.float32)
        self.channels = outputs
        return self.add("Conv", self.last, *names, kernel_shape=[taps], group=groups, **attributes)

    def model(self, shape: tuple[int, ...], out: tuple[int | str, ...]) -> Any:
        self.nodes.append(helper.make_node("Identity", [self.last], ["y"]))
        return onnx_model(self.nodes, {"x": shape}, {"y": out}, self.constants)


def over_time() -> Net:
    """Inverted residuals with growing dilation, as models of sound have them, and the mean over time, of 200
    steps with 8 channels each.
    """
    net = Net(8, seed=0)
    before = net.add("Relu", net.convolution(12, 5, pads=[2, 2]))
    for dilation in (1, 2, 4):
        net.add("Relu", net.convolution(40, 3, pads=[dilation, dilation], dilations=[dilation]))
        net.add("Relu", net.convolution(40, 3, groups=40, pads=[1, 1]))
        net.convolution(12, 1)
        before = net.add("Add", before, net.last)
    net.add("GlobalAveragePool", before)
    return net


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "room", "arena"),
    [
        ("float", 20_000, (73_600, 16_720)),
        ("qdq", 9_000, (17_208, 8_000)),
    ],
)
def test_a_model_over_time_in_columns(
    form: str, room: int, arena: tuple[int, int], needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    net = over_time().model((1, 8, 200), (1, 12, 1))
    model = save(net, tmp_path / "sound.onnx")
    if form == "qdq":
        model = quantized(net, tmp_path, activations="QInt8", per_channel=True)
    whole = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7")))
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7"), memory={"sram": room}))
    assert (whole.plan.peaks[Arena("sram")], made.plan.peaks[Arena("sram")]) == arena
    (kernel,) = made.kernels.values()
    assert "columns at a time" in "".join(kernel.notes)
    write_bundle(made.bundle, tmp_path / "bundle")
    executable = build(tmp_path / "bundle", sanitize=("address", "undefined"), optimize="-O1")
    assert compare(reference_for(model), executable, count=2).passed


def windows(seed: int, path: Path) -> Path:
    """Random windows along one axis, one after the other."""
    rng = np.random.default_rng(seed)
    batch, columns = int(rng.integers(1, 3)), int(rng.integers(24, 40))
    net = Net(int(rng.integers(1, 9)), seed)
    shape = (batch, net.channels, columns)
    for _ in range(4):
        taps, stride, dilation = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
        pads = [int(pad) for pad in rng.integers(0, taps, 2)]
        kind = rng.choice(["dense", "depthwise", "max", "average", "pad"])
        around = {"pads": pads, "strides": [stride]}
        if kind == "max":
            net.add("MaxPool", net.last, kernel_shape=[taps], ceil_mode=int(rng.integers(2)), **around)
        elif kind == "average":
            net.add(
                "AveragePool", net.last, kernel_shape=[taps], count_include_pad=int(rng.integers(2)), **around
            )
        elif kind == "depthwise":
            net.convolution(2 * net.channels, taps, groups=net.channels, dilations=[dilation], **around)
        else:
            if kind == "pad":
                net.constants["around"] = np.array([0, 0, 1, 0, 0, 2])
                net.add("Pad", net.last, "around")
            net.add("Relu", net.convolution(int(rng.integers(1, 20)), taps, dilations=[dilation], **around))
    return save(net.model(shape, (batch, net.channels, "length")), path)


@pytest.mark.parametrize("seed", slow_except([], range(12), by_hand=range(4, 12)))
def test_random_windows(seed: int, needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool("gcc")
    model = windows(seed, tmp_path / "windows.onnx")
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("zynq_edge"), targets=("host_cpu",)))
    write_bundle(made.bundle, tmp_path / "bundle")
    executable = build(tmp_path / "bundle", sanitize=("address", "undefined"), optimize="-O1")
    assert compare(reference_for(model), executable, count=2).passed


def test_their_kinds(tmp_path: Path) -> None:
    model, _ = import_model(save(over_time().model((1, 8, 200), (1, 12, 1)), tmp_path / "sound.onnx"))
    assert {operator.kind for operator in model.operators} == {
        OperatorKind.RESHAPE,
        OperatorKind.TRANSPOSE,
        OperatorKind.CONV2D,
        OperatorKind.DEPTHWISE_CONV2D,
        OperatorKind.ADD,
        OperatorKind.AVG_POOL2D,
    }
