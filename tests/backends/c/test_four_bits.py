"""Weights whose values have 4 bits take half a byte each, and change no bit of a result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch
from target_arch.backends.plain_c.four_bits import nibbles
from target_arch.plan.model import Tensor
from target_arch.plan.products import in_four_bits
from tests.systems import COMPILER, EMULATOR

RANDOM = np.random.default_rng(3)


def net(largest: int = 7) -> onnx.ModelProto:
    """A convolution, a depthwise one and a dense layer in int8, with weights up to so much."""
    nodes: list[Any] = []
    constants = [
        numpy_helper.from_array(value, name)
        for name, value in (("scale", np.float32(0.05)), ("zero", np.int8(3)))
    ]

    def real(stored: str, *grid: str, **own: Any) -> str:
        nodes.append(helper.make_node("DequantizeLinear", [stored, *grid], [f"{stored}/real"], **own))
        return f"{stored}/real"

    def on_grid(x: str) -> str:
        nodes.append(helper.make_node("QuantizeLinear", [x, "scale", "zero"], [f"{x}/stored"]))
        return real(f"{x}/stored", "scale", "zero")

    def weights(name: str, shape: tuple[int, ...]) -> str:
        values = RANDOM.integers(-largest - 1, largest + 1, shape).astype(np.int8)
        scales = RANDOM.uniform(0.1, 0.2, shape[0]).astype(np.float32) / (largest + 1)
        zeros = np.zeros(shape[0], np.int8)
        parts = ((name, values), (f"{name}/scale", scales), (f"{name}/zero", zeros))
        constants.extend(numpy_helper.from_array(value, part) for part, value in parts)
        return real(name, f"{name}/scale", f"{name}/zero", axis=0)

    x = on_grid("x")
    nodes.append(helper.make_node("Conv", [x, weights("w", (32, 16, 3, 3))], ["a"], pads=[1] * 4))
    nodes.append(
        helper.make_node("Conv", [on_grid("a"), weights("d", (32, 1, 3, 3))], ["b"], pads=[1] * 4, group=32)
    )
    nodes.append(helper.make_node("Flatten", [on_grid("b")], ["c"]))
    nodes.append(helper.make_node("Gemm", [on_grid("c"), weights("f", (10, 2048))], ["e"], transB=1))
    ends = (("x", [1, 16, 8, 8]), (on_grid("e"), [1, 10]))
    values = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in ends]
    graph = helper.make_graph(nodes, "net", *values, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


NET = net()


def flash(made: target_arch.Compilation) -> int:
    return sum(pool.bytes for pool in made.pools.value.pools if pool.pool.constant)


@pytest.mark.slow
@pytest.mark.parametrize("optimize", ["balanced", "size"])
@pytest.mark.parametrize("soc", ["mcu_m7", "mcu_m55", "zynq_edge"])
def test_the_bits_are_those_of_bytes(soc: str, optimize: str, tmp_path: Path) -> None:
    narrow = target_arch.compile(NET, soc, optimize=optimize, name="net")
    wide = target_arch.compile(NET, soc, optimize="speed", name="net")
    assert flash(narrow) < (0.6 if soc == "zynq_edge" else 0.56) * flash(wide)
    frame = RANDOM.standard_normal((1, 16, 8, 8)).astype(np.float32)
    ours, theirs = (
        made.write(tmp_path / place).run([frame]) for place, made in (("narrow", narrow), ("wide", wide))
    )
    assert [each.tobytes() for each in ours.values()] == [each.tobytes() for each in theirs.values()]


def test_onnxruntime_agrees_and_explain_says_so(tmp_path: Path) -> None:
    made = target_arch.compile(NET, "mcu_m7")
    (found,) = made.write(tmp_path / "bundle").verify(NET, count=5).values()
    assert found.passed, found
    assert "by kernel s8_conv2d, DSP form, widens weights of 4 bits, about " in str(made.explain("dense_4"))


def test_one_larger_value_keeps_bytes() -> None:
    made, wide = (target_arch.compile(net(8), "mcu_m7", optimize=goal) for goal in ("balanced", "speed"))
    assert flash(made) == flash(wide)


def test_without_room_for_the_bytes_they_stay_bytes(tmp_path: Path) -> None:
    made = target_arch.compile(NET, "mcu_m7", memory_limits={"sram": 12 * 1024})
    kernels = made.models[0].stages.kernels.values()
    kept = [tensor.name for kernel in kernels for tensor in kernel.constants]
    assert not any(name.endswith("4bits") for name in kept if name.startswith("dense"))
    assert any(name.endswith("4bits") for name in kept if name.startswith("conv2d"))
    (found,) = made.write(tmp_path / "bundle").verify(NET, count=2).values()
    assert found.passed, found


def test_on_an_emulated_cortex_m7(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    bundle = target_arch.compile(NET, "mcu_m7", port="qemu_mps2").write(tmp_path / "bundle")
    (found,) = bundle.verify(NET, count=1).values()
    assert found.passed, found


@pytest.mark.parametrize("count", [255, 256, 257, 264])
def test_what_is_kept_in_4_bits(count: int) -> None:
    values = RANDOM.integers(-8, 8, count).astype(np.int8)
    tensor = Tensor(name="w", shape=(count,), dtype="int8", data=values.tobytes())
    assert in_four_bits(tensor) == (count >= 256)
    packed = np.frombuffer(nibbles(values.tobytes()), np.uint8).reshape(-1, 4)
    assert len(packed) == -(-count // 8)
    halves = np.concatenate((packed & 15, packed >> 4), axis=1).reshape(-1).astype(np.int8)
    assert np.array_equal(np.where(halves > 7, halves - 16, halves)[:count], values)
