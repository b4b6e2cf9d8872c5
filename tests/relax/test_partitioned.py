"""The way out: the module of a placed model runs in TVM, alone and with our partitions, and TIR is built."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import target_arch
from target_arch.diagnostics import DiagnosticError
from tests.e2e.conftest import DIGITS


def run(module: Any, frame: Any) -> Any:
    """The output of `main` in TVM's virtual machine."""
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    return machine["main"](tvm.runtime.tensor(frame)).numpy()


@pytest.mark.long
def test_tvm_runs_the_module_alone(tmp_path: Path) -> None:
    """Within a step of the last scale: TVM computes the quantized operators in floats."""
    made = target_arch.compile(DIGITS, "zynq_edge")
    module, bundle = made.module(), made.write(tmp_path / "bundle")
    named = {str(var.name_hint): function for var, function in module.functions.items()}
    graph = made.stages.graph
    assert {
        name: str(each.attrs["target_arch.instance"]) for name, each in named.items() if name != "main"
    } == {f"digits_int8_{each.id}": each.instance for each in graph.partitions}
    assert [str(id) for id in named["digits_int8_p6"].attrs["target_arch.operators"]] == [
        operator.id for operator in graph.partition("p6").operators
    ]
    frame = np.random.default_rng(1).random((1, 1, 8, 8), dtype=np.float32)
    (ours,) = bundle.run([frame]).values()
    assert np.abs(run(module, frame) - ours).max() <= 0.2


@pytest.mark.slow
def test_partitions_run_back_on_their_instances(shared: Path, tmp_path: Path) -> None:
    """A build by TVM calls a bundle for each partition; together they have the bits of the whole."""
    made = target_arch.compile(shared / "models" / "kws_int8.tflite", "zynq_edge")
    (tensor,) = made.manifest.models[0].inputs
    frame = np.random.default_rng(2).integers(-128, 128, tensor.shape).astype(np.int8)
    (ours,) = made.write(tmp_path / "whole").run([frame]).values()
    target_arch.register_codegen("zynq_edge", tmp_path / "parts")
    built = relax.transform.RunCodegen()(made.module(codegen="target_arch"))
    assert np.array_equal(run(built, frame).ravel(), ours.ravel())
    for partition in made.stages.graph.partitions:
        part = target_arch.Bundle(directory=tmp_path / "parts" / f"kws_int8_{partition.id}")
        assert partition.instance in {each.instance for each in part.manifest.models[0].partitions}


def test_the_tir_of_a_partition_is_built() -> None:
    """TVM builds it without us; an average of integers is what it should be."""
    made = target_arch.compile(DIGITS, "zynq_edge")
    module = made.tir("p6")
    names = [str(var.name_hint) for var in module.functions]
    assert names == ["avg_pool2d_6", "dense_7", "dense_8"]
    function = module["dense_7"]
    operands = [str(name) for name in function.attrs["target_arch.operands"]]
    assert [str(name) for name in function.attrs["target_arch.writes"]] == operands[-1:] == ["dense_7_out"]
    tvm.compile(module, target="llvm")
    pool = module["avg_pool2d_6"]
    values = np.random.default_rng(3).integers(-128, 128, (1, 4, 4, 64)).astype(np.int8)
    result = tvm.runtime.tensor(np.zeros((1, 1, 1, 64), np.int8))
    tvm.compile(tvm.IRModule({"avg_pool2d_6": pool}), target="llvm")["avg_pool2d_6"](
        tvm.runtime.tensor(values), result
    )
    assert np.abs(result.numpy().ravel() - values.mean(axis=(0, 1, 2))).max() <= 0.5


def test_operators_that_tvm_alone_lowers() -> None:
    """They have TVM's functions, with names of the operator."""
    x = relax.Var("x", relax.TensorType((2, 8), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.exp(x), "result")
        builder.emit_func_output(result)
    made = target_arch.compile(builder.get(), "mcu_m7", passes=[relax.transform.LegalizeOps()])
    (partition,) = made.stages.graph.partitions
    assert partition.operators[0].id in {str(var.name_hint) for var in made.tir(partition.id).functions}


def test_what_is_refused() -> None:
    made = target_arch.compile(DIGITS, "zynq_edge")
    with pytest.raises(DiagnosticError) as fault:
        made.tir("p9")
    assert str(fault.value) == (
        "digits_int8: error: there is no partition `p9` [no-module]\n"
        "hint: there are: `p0`, `p1`, `p2`, `p3`, `p4`, `p5`, `p6`, `p7`"
    )
