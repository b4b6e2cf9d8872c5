"""Processor time of the whole command `target-arch compile`, start of the interpreter and imports included.

    python -m benchmarks.compile_time [--rounds 3]

Three models: MLPerf Tiny's keyword spotting in int8 (where `../shared/models` is), a MobileNetV2 at 224 in
float32 with random weights, and a chain of 3,000 operators; the last two are built here. Printed is the least
of the rounds, in seconds of user and system time together; a run before them that is not counted leaves
Python's byte code in a folder of its own, as an installation has it. `floor` is a process that only imports
TVM. Ends with 1 if a limit is not kept.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.mobilenet import STAGES
from target_arch.plan.printed.text import table

KWS = Path(__file__).parents[2] / "shared" / "models" / "kws_int8.tflite"
LIMITS = {"kws_int8": 2.0, "mobilenet_v2": 5.0, "chain": 15.0}
"""Seconds."""

_CHAIN = ("Relu", "Neg", "Abs", "Sigmoid", "Tanh")
_FLOOR = "from target_arch.relax.tvm_import import import_tvm; import_tvm()"


class _Net:
    """An ONNX graph that grows operator by operator, with weights from a fixed seed."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)
        self._nodes: list[Any] = []
        self._constants = [numpy_helper.from_array(np.float32(6 * each), f"bound{each}") for each in (0, 1)]

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """One operator; returns the name of its result."""
        name = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weights(self, shape: tuple[int, ...]) -> str:
        """A constant whose products keep the size of what it multiplies."""
        scale = (2 / max(prod(shape[1:]), 2)) ** 0.5
        values = (self._random.standard_normal(shape) * scale).astype(np.float32)
        self._constants.append(numpy_helper.from_array(values, f"w{len(self._constants)}"))
        return str(self._constants[-1].name)

    def conv(self, x: str, shape: tuple[int, int, int], stride: int = 1, groups: int = 1) -> str:
        """A convolution with bias: inputs, outputs and the side of the kernel are `shape`."""
        inputs, outputs, side = shape
        operands = (x, self.weights((outputs, inputs // groups, side, side)), self.weights((outputs,)))
        return self.add("Conv", operands, strides=[stride] * 2, pads=[side // 2] * 4, group=groups)

    def relu6(self, x: str) -> str:
        """As PyTorch exports it."""
        return self.add("Clip", (x, "bound0", "bound1"))

    def save(self, path: Path, given: tuple[int, ...], result: tuple[int, ...]) -> None:
        """Write the model, whose input is `x` and whose output is the last operator's."""
        ends = ((["x"], given), ([self._nodes[-1].output[0]], result))
        values = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n in ns] for ns, s in ends]
        graph = helper.make_graph(self._nodes, path.stem, *values, self._constants)
        opset = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def mobilenet_v2(path: Path) -> None:
    """MobileNetV2 at 224 with 1,000 classes and random weights."""
    net = _Net()
    x, channels = net.relu6(net.conv("x", (3, 32, 3), stride=2)), 32
    for expansion, outputs, repetitions, first in STAGES:
        for stride in (first, *[1] * (repetitions - 1)):
            y, wide = x, channels * expansion
            if expansion > 1:
                y = net.relu6(net.conv(y, (channels, wide, 1)))
            y = net.relu6(net.conv(y, (wide, wide, 3), stride, groups=wide))
            y = net.conv(y, (wide, outputs, 1))
            x = net.add("Add", (x, y)) if stride == 1 and channels == outputs else y
            channels = outputs
    x = net.add("GlobalAveragePool", (net.relu6(net.conv(x, (channels, 1280, 1))),))
    net.add("Gemm", (net.add("Flatten", (x,)), net.weights((1280, 1000)), net.weights((1000,))))
    net.save(path, (1, 3, 224, 224), (1, 1000))


def chain(path: Path, count: int = 3_000) -> None:
    """Elementwise operators in a row."""
    net, x = _Net(), "x"
    for number in range(count):
        x = net.add(_CHAIN[number % len(_CHAIN)], (x,))
    net.save(path, (1, 64), (1, 64))


def seconds(command: Sequence[str], byte_code: Path) -> float:
    """Processor time of a command, whose byte code is kept in that folder. Raises CalledProcessError."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPYCACHEPREFIX": str(byte_code)}
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def commands(folder: Path) -> Mapping[str, Sequence[str]]:
    """The commands to measure, by name; models are written to the folder."""
    models = {"kws_int8": KWS, "mobilenet_v2": folder / "mobilenet_v2.onnx", "chain": folder / "chain.onnx"}
    mobilenet_v2(models["mobilenet_v2"])
    chain(models["chain"])
    socs = {"kws_int8": "mcu_m55", "mobilenet_v2": "zynq_edge", "chain": "mcu_m55"}
    found: dict[str, Sequence[str]] = {"floor": (sys.executable, "-c", _FLOOR)}
    for name, model in models.items():
        if model.exists():
            options = (
                "compile",
                str(model),
                "--soc",
                socs[name],
                "--target",
                "host_cpu",
                "-o",
                str(folder / name),
            )
            found[name] = (sys.executable, "-m", "target_arch", *options)
    return found


def main() -> int:
    """Print the table; 1 where a limit was not kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each command")
    rounds = parser.parse_args().rounds
    rows, late = [], False
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(Path(folder)).items():
            byte_code, limit = Path(folder) / "byte_code", LIMITS.get(name)
            least = min([seconds(command, byte_code) for _ in range(rounds + 1)][1:])
            late |= limit is not None and least > limit
            rows.append((name, f"{least:.2f} s", "" if limit is None else f"{limit:.0f} s"))
    print(table(("model", "processor time", "limit"), rows, right=(1, 2)), end="")
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
