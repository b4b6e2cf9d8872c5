"""A small float net with weights from a seed, data for it, and the chip it is quantized for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from target_arch.explore.bases import base_chip
from target_arch.explore.choose import chip_of
from target_arch.quantize.budget import budget
from target_arch.quantize.search import QuantizeRequest
from target_arch.registry.plug_ins import PlugIns

SHAPE = (1, 3, 8, 8)
CLASSES = 4
SOC = "mcu_m55"


def weights(*shape: int, seed: int) -> NDArray[np.float32]:
    """Normal numbers whose sums have the power of their inputs; channels differ in size."""
    values = np.random.default_rng(seed).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    sizes = 2.0 ** np.arange(shape[0]).reshape(-1, *(1 for _ in shape[1:])) % 7 + 0.2
    return (values * sizes).astype(np.float32)


def net(batch: int | str = 1) -> onnx.ModelProto:
    """Two convolutions, one of them with a sum around it, a mean and a dense layer."""
    parameters = {
        "first.w": weights(8, 3, 3, 3, seed=1),
        "second.w": weights(8, 8, 3, 3, seed=2),
        "dense.w": weights(CLASSES, 8, seed=3),
        "dense.b": weights(CLASSES, 1, seed=4).reshape(-1),
    }
    around = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "first.w"], ["a"], name="first", **around),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "second.w"], ["c"], name="second", **around),
        helper.make_node("Add", ["c", "b"], ["d"]),
        helper.make_node("GlobalAveragePool", ["d"], ["e"]),
        helper.make_node("Flatten", ["e"], ["f"]),
        helper.make_node("Gemm", ["f", "dense.w", "dense.b"], ["y"], name="dense", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *SHAPE[1:]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, CLASSES])],
        [numpy_helper.from_array(value, name) for name, value in parameters.items()],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def frames(count: int = 24) -> NDArray[np.float32]:
    """Random images, [N, 3, 8, 8]."""
    return np.random.default_rng(5).standard_normal((count, *SHAPE[1:])).astype(np.float32)


def written(folder: Path, **arrays: NDArray[np.generic]) -> Path:
    """An `.npz` file with the frames, or with these arrays."""
    file = folder / "data.npz"
    np.savez(file, **(arrays or {"x": frames()}))
    return file


def request(folder: Path, within: str = "", said: Callable[[str], None] | None = None) -> QuantizeRequest:
    """The net, its data and the chip, within these limits."""
    model, chip = folder / "tiny.onnx", base_chip(SOC)
    onnx.save(net(), model)
    return QuantizeRequest(
        model=model,
        data=written(folder),
        chip=chip_of(chip),
        limits=budget([within], list(chip.document["memory"])),
        plug_ins=PlugIns.discover(()),
        said=said or (lambda text: None),
    )
