"""Small files of every kind that is read, made when they are asked for."""

import io
import json
import zipfile
from collections.abc import Sequence
from contextlib import suppress
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
    odd = Path(__file__).parents[2] / "tests" / "soc" / "odd.toml"
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
            {"from": "ddr", "to": ["npu_inp"], "engine": "axi_dma", "setup": "2 us", "bandwidth": "1 MB/s"}
        ],
        "loads": {"dsp_cpu": {"bytes": "64 KiB", "time": "12 ms"}},
    }
    return [json.dumps(one, indent=1).encode(), b'{"schema": 1}']


def workload_files() -> Sequence[bytes]:
    """Every key; the files that they name are beside them."""
    two = """schema = 1
margin = 0.5
overhead = "2 us"
[model.kws]
file = "kws.tflite"
period = "33 ms"
deadline = "30 ms"
offset = "1 ms"
jitter = "500 us"
overload = "drop_oldest"
priority = 3
[model.vww]
file = "vww.tflite"
on = "demand"
period = "66 ms"
priority = 2
"""
    table = 'schema = 1\nschedule = "table"\n[model.kws]\nfile = "kws.tflite"\nperiod = "1 s"\n'
    return [two.encode(), table.encode()]


def space_files() -> Sequence[bytes]:
    """Every table; the model that they name is beside them."""
    zynq = """schema = 1
soc = "zynq_edge"
minimize = ["latency", "price"]
where = ["tcm <= sram"]
[model.digits]
file = "kws.tflite"
[vary.tcm]
key = "memory.dsp_tcm.size"
from = "32 KiB"
to = "128 KiB"
factor = 2
[vary.sram]
key = "memory.sram.size"
values = ["1 KiB", "64 KiB"]
[vary.bus]
key = ["copy[2].bandwidth", "copy[3].bandwidth"]
values = ["100 MB/s", "400 MB/s"]
[ties]
"target_arch.dsp_cpu.clock" = "bus"
[formulas]
price = "0.01 * (memory.sram.size + tcm) / 1024 + 5 // 2"
[limits]
"digits.latency" = "1 s"
"""
    two = """schema = 1
soc = ["zynq_edge", "mcu_m7"]
minimize = "latency"
[model.digits]
file = ["kws.tflite", "vww.tflite"]
[vary.mode]
values = ["default", "ddr_only"]
[vary.optimize]
values = ["speed", "size"]
"""
    return [zynq.encode(), two.encode()]


def manifests() -> Sequence[bytes]:
    """Of one model on an emulated board, of one with weights as a file, of one with every table, of two."""
    from target_arch.emit import MANIFEST
    from target_arch.pipeline import CompileRequest, ModelsRequest, compile_models
    from target_arch.resources import examples
    from target_arch.soc import read_soc

    plain = []
    model = examples() / "digits" / "digits_int8.onnx"
    for soc, port, form in (("mcu_m7", "qemu_mps2", "text"), ("zynq_edge", "host", "file")):
        request = CompileRequest(model_path=model, soc=read_soc(soc), port=port, constants=form)
        made = compile_models(ModelsRequest(models=(request,)))
        plain.append(_shorter(made.bundle.files[MANIFEST]))
    one = {**json.loads(plain[1]), **_FURTHER}
    full = {**one, "models": [{**one["models"][0], **_OF_MODEL}]}
    pools = {name: {**pool, "peaks": {"a": 8, "b": 8}} for name, pool in full["pools"].items()}
    several = {**full, "models": [{**full["models"][0], "name": name} for name in ("a", "b")], "pools": pools}
    return [*plain, json.dumps(full).encode(), json.dumps(several).encode()]


def _shorter(manifest: bytes) -> bytes:
    """With two files instead of all, one buffer, and of each list the first entries: its length is most of
    what reading it takes.
    """
    value = json.loads(manifest)
    for model in value["models"]:
        del model["buffers"][1:]
    kept = ("Makefile", "manifest.json")
    files = {path: value["files"][path] for path in kept}
    return json.dumps({**_cut(value), "files": files}).encode()


def _cut(value: Any) -> Any:
    """The value with at most as many entries of each list as a shape has extents."""
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value[:_MOST]] if isinstance(value, list) else value


_MOST = 4


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
        "rule": "e",
        "seed": 0,
        "frames": 1,
        "outputs": 1,
        "equal": 1,
        "equal_to": "",
        "largest": 0.0,
        "allowed": 1.0,
        "self_test": "passed",
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
        b"gemm_npu,wgt=64KiB,host=c,backend=gemm_npu,start_cycles=9",
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


def archives() -> Sequence[bytes]:
    """`.npz` files as numpy writes them, packed or not."""
    made = []
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, x=np.zeros((4, 8), np.int8), labels=np.arange(4))
        made.append(buffer.getvalue())
    return made


def onnx_models() -> Sequence[bytes]:
    """Small models of our own, and those of ONNX's tests of operators."""
    return [*_plain_onnx(), *_operators_of_onnx(classical=False)]


def classical_models() -> Sequence[bytes]:
    """ONNX's tests of the operators of classical learning, and a forest."""
    return [*_operators_of_onnx(classical=True), _forest()]


def _operators_of_onnx(*, classical: bool) -> Sequence[bytes]:
    """One model of each form of test, without those of more than 20,000 B."""
    from conformance.onnx_node_tests import cases

    models = (case.model.SerializeToString() for case in cases() if _is_classical(case.model) == classical)
    return [model for model in models if len(model) <= 20_000]


def _is_classical(model: Any) -> bool:
    return any(node.domain == "ai.onnx.ml" for node in model.graph.node)


def _forest() -> bytes:
    """Two trees of two leaves each."""
    from onnx import TensorProto, helper

    tree = {
        "nodes_treeids": [0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 0, 1, 2],
        "nodes_featureids": [1, 0, 0, 0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0, -1.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
        "nodes_truenodeids": [1, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
        "target_treeids": [0, 0, 1, 1],
        "target_nodeids": [1, 2, 1, 2],
        "target_ids": [0, 0, 0, 0],
        "target_weights": [1.0, 2.0, 3.0, 4.0],
        "n_targets": 1,
    }
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **tree)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1))],
    )
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return bytes(helper.make_model(graph, opset_imports=versions, ir_version=9).SerializeToString())


def _plain_onnx() -> Sequence[bytes]:
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
    """Files of our own, and one of each operator and element type that is compared with LiteRT."""
    from conformance.tflite_operators import CASES, Variant

    made = list(_plain_tflite())
    for number, code in enumerate(CASES):
        for dtype in ("float32", "int8", "int16"):
            with suppress(Exception):  # not every operator has every type
                made.append(Variant(code=code, dtype=dtype, seed=number).content())
    return made


def _plain_tflite() -> Sequence[bytes]:
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
    """Three programs, as PyTorch wrote them and with what the reader takes of their graphs. Needs PyTorch."""
    import torch
    from torch import nn

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
    return [*written, *map(_reduced, written)]


def _reduced(written: bytes) -> bytes:
    """An archive without the traces in its graph."""
    from target_arch.relax.readers.pytorch.pt2_archive import plain_archive

    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written)) as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            is_graph = info.filename.endswith("/models/model.json")
            content = json.dumps(plain_archive(written).graph) if is_graph else old.read(info)
            new.writestr(zipfile.ZipInfo(info.filename), content)
    return made.getvalue()


def _saved(program: Any) -> bytes:
    import torch

    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.pt2"
        torch.export.save(program, path)
        return path.read_bytes()
