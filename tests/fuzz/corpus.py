"""Small files of every kind that is read, made when they are asked for."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from attrs import evolve

from target_arch.resources import soc_configs

_SOC = soc_configs()
_SMALL = ("mcu_m7", "quad_conv")


def soc_files() -> Sequence[bytes]:
    """Two shipped files, and the test of odd spellings."""
    odd = Path(__file__).parents[1] / "soc" / "odd.toml"
    return [(_SOC / f"{name}.toml").read_bytes() for name in _SMALL] + [odd.read_bytes()]


def cost_files() -> Sequence[bytes]:
    """Every key and both forms of an entry; for `zynq_edge`."""
    one = {
        "schema": 1,
        "operators": {
            "c": {"conv2d": "1.5 ms", "dense": {"time": "9 cycles/mac", "energy": "3 nJ"}},
            "fpga_conv2d": {"conv2d": "2 cycles/element"},
        },
        "copies": [
            {"from": "ddr", "to": ["sram"], "engine": "axi_dma", "setup": "2 us", "bandwidth": "1 MB/s"}
        ],
        "loads": {"dsp_cpu": {"bytes": "64 KiB", "time": "12 ms"}},
    }
    return [json.dumps(one, indent=1).encode(), b'{"schema": 1}']


def manifests() -> Sequence[bytes]:
    """Of one model on a host, of one on a DSP with every table, of two models."""
    from target_arch.emit import MANIFEST
    from tests import tiny_plans

    plans = (tiny_plans.on_host(), tiny_plans.on_dsp())
    plain = [_shorter(tiny_plans.bundle(inputs).files[MANIFEST]) for inputs in plans]
    one = {**json.loads(plain[1]), **_FURTHER}
    full = {**one, "models": [{**one["models"][0], **_OF_MODEL}]}
    pools = {name: {**pool, "peaks": {"a": 8, "b": 8}} for name, pool in full["pools"].items()}
    several = {**full, "models": [{**full["models"][0], "name": name} for name in ("a", "b")], "pools": pools}
    return [*plain, json.dumps(full).encode(), json.dumps(several).encode()]


def _shorter(manifest: bytes) -> bytes:
    """With two files instead of all, and one buffer."""
    value = json.loads(manifest)
    for model in value["models"]:
        del model["buffers"][1:]
    kept = ("Makefile", "manifest.json")
    return json.dumps({**value, "files": {path: value["files"][path] for path in kept}}).encode()


_FURTHER: dict[str, Any] = {
    "machine": {
        "name": "mps2",
        "code": "flash",
        "data": "sram",
        "stack": 64,
        "memories": [{"name": "sram", "base": 0, "bytes": 64, "writable": True}],
    },
    "toolchain": {
        "libraries": ["m"],
        "needs": [],
        "compiler": "cc",
        "flags": ["-O2"],
        "link": [],
        "emulator": ["qemu"],
        "packages": {"cc": "gcc"},
        "counter_hz": 1000,
        "shift": 0,
        "start": "main",
    },
    "libraries": [{"name": "l", "carried": True, "variable": None, "include": ["i"], "sources": ["l.c"]}],
}
_OF_MODEL: dict[str, Any] = {
    "placement": {
        "method": "m",
        "search_makespan": 1e-6,
        "search_bound": 1e-6,
        "load": 0.5,
        "load_bytes": 10,
        "energy": 1e-6,
        "metered": 1,
    },
    "execution": {"makespan": 2e-6, "bound": 1e-6, "gap": 1.0, "alone": 3e-6, "overlap": "o", "entries": []},
    "budgets": [
        {
            "partition": "p0",
            "target_arch": "dsp",
            "site": "add0",
            "pool": "tcm",
            "live": 0,
            "remaining": 8,
            "guaranteed": 8,
            "gap": 0,
            "used": None,
        }
    ],
    "attempts": [{"kind": "split", "operator": "a", "instance": "npu", "reason": "r", "outcome": "o"}],
    "verification": {
        "passed": True,
        "reference": "r",
        "equal": 1,
        "outputs": 1,
        "largest": 0.0,
    },
}


def tuning_files() -> Sequence[bytes]:
    """Two records."""
    from target_arch.plan.tuning import TuningRecord, tuning_of, tuning_text

    schedule = TuningRecord(
        task="conv2d_0",
        what="w",
        measured="cc",
        rule="definition",
        choice="definition",
        baseline=2.0,
        tuned=1.0,
        scratch=0,
        trace="[[], []]",
    )
    kernel = evolve(schedule, task="dense_1", choice="s8_conv2d in pairs", trace="")
    return [tuning_text(tuning_of([schedule, kernel])).encode()]


def targets() -> Sequence[bytes]:
    """Every form of `--target`."""
    return [
        b"c",
        b"c,gemm_npu,conv2d_engine",
        b"gemm_npu,sram=64KiB,host=c,backend=gemm_npu,instances=2",
        b"c,macs_per_cycle=2,clock=\"100 MHz\",ram='1 MiB'",
        b'{"name": "c", "ram": "64 KiB", "macs_per_cycle": 2.5}',
        b'[{"name": "c"}, {"name": "gemm_npu", "host": "c"}]',
    ]


def arrays() -> Sequence[bytes]:
    """`.npy` files that the fuzzed input takes, and others."""
    made = []
    for array in (np.zeros((1, 8), np.int8), np.zeros((2, 4), np.float32), np.zeros(8, ">i2")):
        buffer = io.BytesIO()
        np.save(buffer, array)
        made.append(buffer.getvalue())
    return made


def onnx_models() -> Sequence[bytes]:
    """One for each way through the reader: plain, quantized, joined, with shapes as constants."""
    from onnx import TensorProto, helper, numpy_helper

    node, values = helper.make_node, np.ones
    float_constants = {"w": values((2, 2, 1, 1), np.float32), "s": np.array([1, 8], np.int64)}
    quantized = {
        "w": values((2, 2, 1, 1), np.int8),
        "f": np.array(0.5, np.float32),
        "z": np.array(0, np.int8),
    }
    nets = [
        ([node("Relu", ["x"], ["y"])], {}),
        ([node("Concat", ["x", "x"], ["y"], axis=1)], {}),
        ([node("Conv", ["x", "w"], ["c"]), node("Reshape", ["c", "s"], ["y"])], float_constants),
        (
            [
                node("QuantizeLinear", ["x", "f", "z"], ["q"]),
                node("DequantizeLinear", ["q", "f", "z"], ["d"]),
                node("DequantizeLinear", ["w", "f", "z"], ["v"]),
                node("Conv", ["d", "v"], ["c"], pads=[0, 0, 0, 0]),
                node("QuantizeLinear", ["c", "f", "z"], ["r"]),
                node("DequantizeLinear", ["r", "f", "z"], ["y"]),
            ],
            quantized,
        ),
    ]
    made = []
    for nodes, constants in nets:
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2, 2, 2))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        made.append(model.SerializeToString())
    return made


def tflite_models() -> Sequence[bytes]:
    """An int8 convolution and a sum, and a float concatenation."""
    from target_arch.backends.ethos_u.tflite_file import Subgraph, SubgraphOperator, tflite_bytes
    from target_arch.plan.model import Quantization, Tensor

    steps = Quantization(scale=(0.5,), zero_point=(0,))
    x = Tensor(name="x", shape=(1, 2, 2, 2), dtype="int8", quantization=steps)
    y = Tensor(name="y", shape=(1, 2, 2, 2), dtype="int8", quantization=steps)
    w = Tensor(
        name="w",
        shape=(2, 1, 1, 2),
        dtype="int8",
        quantization=steps,
        data=np.ones((2, 1, 1, 2), np.int8).tobytes(),
    )
    b = Tensor(name="b", shape=(2,), dtype="int32", quantization=steps, data=bytes(8))
    conv = SubgraphOperator(
        code="CONV_2D",
        version=3,
        inputs=("x", "w", "b"),
        output="c",
        options="Conv2DOptions",
        fields={"StrideW": 1, "StrideH": 1},
    )
    c = Tensor(name="c", shape=(1, 2, 2, 2), dtype="int8", quantization=steps)
    add = SubgraphOperator(code="ADD", version=2, inputs=("c", "x"), output="y", options="AddOptions")
    one = Subgraph(tensors=(x, w, b, c, y), inputs=("x",), outputs=("y",), nodes=(conv, add))
    f = Tensor(name="f", shape=(1, 2), dtype="float32")
    g = Tensor(name="g", shape=(1, 4), dtype="float32")
    join = SubgraphOperator(
        code="CONCATENATION",
        version=1,
        inputs=("f", "f"),
        output="g",
        options="ConcatenationOptions",
        fields={"Axis": 1},
    )
    two = Subgraph(tensors=(f, g), inputs=("f",), outputs=("g",), nodes=(join,))
    return [tflite_bytes(one), tflite_bytes(two)]


def exported_programs() -> Sequence[bytes]:
    """Three programs, as PyTorch wrote them and as the reader reduces them. Needs PyTorch."""
    import torch
    from torch import nn

    from target_arch.relax.readers.pytorch.pt2_archive import plain_archive

    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=1, max=9)
    programs = (
        torch.export.export(nn.Sequential(nn.Linear(4, 2), nn.ReLU()), (torch.zeros(1, 4),)),
        torch.export.export(
            nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Flatten()).eval(),
            (torch.zeros(2, 1, 6, 6),),
            dynamic_shapes=({0: batch},),
        ),
        torch.export.export(nn.GRU(2, 3), (torch.zeros(2, 1, 2), torch.zeros(1, 1, 3))),
    )
    written = [_saved(program) for program in programs]
    return [*written, *map(plain_archive, written)]


def _saved(program: Any) -> bytes:
    import torch

    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.pt2"
        torch.export.save(program, path)
        return path.read_bytes()
