"""VDevices of a Relax module are rules of its placement; what is wrong with them is said."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

import target_arch
from target_arch.diagnostics import DiagnosticError
from tests.e2e.conftest import DIGITS

F32 = "float32"
WEIGHT = np.random.default_rng(3).standard_normal((4, 3, 3, 3)).astype(np.float32)


@I.ir_module
class Hints:
    I.module_global_infos(
        {"vdevice": [I.vdevice("c", 0, "global.sram"), I.vdevice("c", 1, "global.dsp_tcm")]}
    )

    @R.function
    def main(  # type: ignore[no-untyped-def]  # noqa: ANN201
        image: R.Tensor((1, 3, 8, 8), "float32"), weight: R.Tensor((4, 3, 3, 3), "float32")
    ):
        with R.dataflow():
            there = R.hint_on_device(image, R.device(1, 1), "global.dsp_tcm")
            convolved = R.nn.conv2d(there, weight, padding=(1, 1))
            positive = R.nn.relu(convolved)
            back = R.hint_on_device(positive, R.device(1, 0), "global.sram")
            result = R.exp(back)
            R.output(result)
        return result


@I.ir_module
class Apart:
    I.module_global_infos(
        {"vdevice": [I.vdevice("c", 0, "global.sram"), I.vdevice("c", 1, "global.dsp_tcm")]}
    )

    @R.function
    def main(  # type: ignore[no-untyped-def]  # noqa: ANN201
        image: R.Tensor((1, 3, 8, 8), "float32"), weight: R.Tensor((4, 3, 3, 3), "float32")
    ):
        with R.dataflow():
            there = R.hint_on_device(image, R.device(1, 1), "global.dsp_tcm")
            convolved = R.nn.conv2d(there, weight, padding=(1, 1))
            back = R.hint_on_device(convolved, R.device(1, 0), "global.sram")
            result = R.nn.relu(back)
            R.output(result)
        return result


@I.ir_module
class Copies:
    I.module_global_infos(
        {"vdevice": [I.vdevice("c", 0, "global.sram"), I.vdevice("c", 1, "global.dsp_tcm")]}
    )

    @R.function
    def main(x: R.Tensor((1, 64), "float32")):  # type: ignore[no-untyped-def]  # noqa: ANN201
        with R.dataflow():
            first = R.nn.relu(x)
            there = R.to_vdevice(first, "c:1:global.dsp_tcm")
            result = R.exp(there)
            R.output(result)
        return result


@I.ir_module
class Unlisted:
    @R.function
    def main(x: R.Tensor((1, 64), "float32")):  # type: ignore[no-untyped-def]  # noqa: ANN201
        with R.dataflow():
            there = R.hint_on_device(x, R.device(1, 1), "global.dsp_tcm")
            result = R.exp(there)
            R.output(result)
        return result


@I.ir_module
class Contradiction:
    I.module_global_infos({"vdevice": [I.vdevice("c", 0), I.vdevice("c", 1)]})

    @R.function
    def main(x: R.Tensor((1, 64), "float32")):  # type: ignore[no-untyped-def]  # noqa: ANN201
        with R.dataflow():
            low = R.nn.relu(x)
            here = R.hint_on_device(low, R.device(1, 0))
            there = R.hint_on_device(x, R.device(1, 1))
            high = R.exp(there)
            result = R.add(here, high)
            R.output(result)
        return result


def on(device: Any) -> Any:
    """`exp` of an input on a device."""
    x = relax.Var("x", relax.TensorType((1, 64), F32))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            there = builder.emit(relax.op.to_vdevice(x, device), "there")
            result = builder.emit_output(relax.op.exp(there), "exp")
        builder.emit_func_output(result)
    module = builder.get()
    module.update_global_info("vdevice", [device])
    return module


def places(made: target_arch.Compilation) -> dict[str, str]:
    return {choice.operator: choice.instance for choice in made.stages.graph.choices}


def refusal(module: Any, **options: Any) -> str:
    with pytest.raises(DiagnosticError) as fault:
        target_arch.compile(module, "zynq_edge", **options)
    return str(fault.value).partition("model.relax: ")[2] or str(fault.value)


@pytest.mark.slow
def test_hints_are_rules(tmp_path: Path) -> None:
    """A convolution that costs less elsewhere is where its author wants it, and the next operator, too."""
    model = (Hints, {"weight": WEIGHT})
    made = target_arch.compile(model, "zynq_edge")
    found = places(made)
    assert (found["conv2d_1"], found["function_2"]) == ("dsp_cpu", "host_cpu")
    assert "conv2d_1_out: float32[1,8,8,4] on kDLCPU:1 in dsp_tcm\n" in str(made.stages.model)
    text = str(made.explain("conv2d_1"))
    assert "required on `dsp_cpu` by its model" in text
    assert "its model puts it on `dsp_cpu`" in text
    (verified,) = made.write(tmp_path / "bundle").verify(model, count=3).values()
    assert verified.passed, verified


def test_copies_and_what_comes_before_them() -> None:
    """What has no device is where it costs least."""
    found = places(target_arch.compile(Copies, "zynq_edge"))
    assert found["function_1"] == "dsp_cpu"
    assert (
        places(target_arch.compile(Copies, "zynq_edge", require={"relu_0": "dsp_cpu"}))["relu_0"] == "dsp_cpu"
    )


def test_operators_on_two_devices_are_no_composite() -> None:
    """Behind a convolution a relu is a part of it; on another device it is not."""
    found = places(target_arch.compile((Apart, {"weight": WEIGHT}), "zynq_edge"))
    assert sorted(set(found.values())) == ["dsp_cpu", "host_cpu"]
    assert [where for name, where in found.items() if name.startswith("relu")] == ["host_cpu"]


def test_a_rule_for_an_id_goes_before_and_one_for_a_kind_does_not() -> None:
    model = (Hints, {"weight": WEIGHT})
    by_id = target_arch.compile(model, "zynq_edge", require={"conv2d_1": "host_cpu"})
    by_kind = target_arch.compile(model, "zynq_edge", require={"conv2d": "host_cpu"})
    assert (places(by_id)["conv2d_1"], places(by_kind)["conv2d_1"]) == ("host_cpu", "dsp_cpu")


def test_passes_see_devices_and_may_make_them() -> None:
    """TVM's legalization keeps the device of an operator; a pass may put a model of any format on one."""
    legalized = [relax.transform.RealizeVDevice(), relax.transform.LegalizeOps()]
    made = target_arch.compile((Hints, {"weight": WEIGHT}), "zynq_edge", passes=legalized)
    assert [*places(made).values()] == ["dsp_cpu", "dsp_cpu", "host_cpu"]


def test_a_pass_puts_a_model_of_another_format_on_a_device() -> None:
    device = I.vdevice("c", 1, "global.dsp_tcm")

    @tvm.ir.transform.module_pass(opt_level=0)
    def result_there(module: Any, context: object) -> Any:
        main = module["main"]
        (block,) = main.body.blocks
        copied = relax.op.to_vdevice(main.body.body, device)
        there = relax.Var("there", relax.TensorType(main.ret_ty.shape, main.ret_ty.dtype, device))
        after = relax.Var("after", there.ty)
        last = relax.BindingBlock(
            [relax.VarBinding(there, copied), relax.VarBinding(after, relax.op.exp(there))]
        )
        changed = relax.Function(main.params, relax.SeqExpr([block, last], after), after.ty, attrs=main.attrs)
        return tvm.IRModule({module.get_global_var("main"): changed}, global_infos={"vdevice": [device]})

    made = target_arch.compile(DIGITS, "zynq_edge", passes=[result_there])
    (last,) = (name for name in made.operators if name.startswith("function"))
    assert places(made)[last] == "dsp_cpu"


CASES = {
    "unlisted": (
        Unlisted,
        "error: the hint `there` is for device 1:1 and scope `global.dsp_tcm`, which the module does not list"
        " [unknown-device]\nhint: list it by `I.module_global_infos`, with the device's own number and scope",
    ),
    "no such device": (
        on(I.vdevice("c", 5)),
        "operator function_0 (exp): error: the model puts it on device `kDLCPU:5`, which `zynq_edge` does not"
        " have [unknown-device]\nhint: devices are `kDLCPU:0` (`host_cpu`), `kDLCPU:1` (`dsp_cpu`),"
        " `kDLExtDev:0` (`fpga_conv2d`), `kDLExtDev:1` (`accelerator`)",
    ),
    "no such memory": (
        on(I.vdevice("c", 1, "global.ddr")),
        "operator function_0 (exp): error: the model puts its result into `ddr` on `dsp_cpu`, which keeps no"
        " operands there [unknown-device]\n"
        "hint: memories of its operands are `dsp_tcm`; scope `global` leaves the choice",
    ),
    "no such type": (
        on(I.vdevice("rocm", 0)),
        "error: its VDevice `rocm:0` has device type 10, which no target_arch can have [unknown-device]\n"
        "hint: known are `kDLCPU`, `kDLCUDA`, `kDLCUDAHost`, `kDLExtDev`, `kDLHexagon`, `kDLMetal`,"
        " `kDLOpenCL`, `kDLVulkan`",
    ),
    "refused": (
        on(I.vdevice("ext_dev", 0)),
        "operator function_0 (exp): error: its model puts `function` on `fpga_conv2d`, which refuses it:"
        " `fpga_conv2d`: the engine computes conv2d only, this is function [placement-not-honoured]\n"
        "hint: put it on another VDevice, or require a target for its id",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said(case: str) -> None:
    module, said = CASES[case]
    assert refusal(module) == said


def test_devices_that_contradict_each_other(capfd: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(
        r"error: its devices contradict each other: .* R\.add\(here, high\) has a LHS on VDevice .* and a RHS"
        r" on VDevice .* \[wrong-device\]",
        refusal(Contradiction),
    )
    assert capfd.readouterr() == ("", "")
