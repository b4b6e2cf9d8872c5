"""Facts about the pinned TVM that this program rests on, so that an upgrade tells which of them changed."""

import importlib.metadata
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx
from tvm.script import relax as R

PINS = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}


@pytest.mark.parametrize(("package", "version"), PINS.items())
def test_the_pins_are_what_is_installed(package: str, version: str) -> None:
    assert importlib.metadata.version(package) == version


def doubling() -> tirx.PrimFunc:
    a = te.placeholder((16,), "float32", name="a")
    return te.create_prim_func([a, te.compute((16,), lambda i: a[i] * 2.0, name="b")])


@pytest.mark.slow
def test_save_json_does_not_crash() -> None:
    """With apache-tvm-ffi 0.1.15 and newer it does, hence the pin; a crash must not take the tests along."""
    script = (
        "import tvm; from tvm import te\n"
        "a = te.placeholder((4,), 'float32')\n"
        "f = te.create_prim_func([a, te.compute((4,), lambda i: a[i])])\n"
        "assert tvm.ir.load_json(tvm.ir.save_json(f)) is not None\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_te_makes_functions_with_blocks() -> None:
    assert "sblock" in doubling().script() or "block" in doubling().script()


def printed(value: float) -> str:
    """What the wheel's own C target makes of a function that multiplies with a constant."""
    a = te.placeholder((1,), "float32", name="a")
    made = te.create_prim_func(
        [a, te.compute((1,), lambda i: a[i] * tirx.FloatImm("float32", value), name="b")]
    )
    named = made.with_attr("global_symbol", "f").with_attr("target", tvm.target.Target("c"))
    return str(tvm.tirx.build(tvm.IRModule({"f": named}), target="c").inspect_source())


def test_the_wheel_prints_floats_with_too_few_digits() -> None:
    """Why C is printed by us: a float32 needs nine significant digits."""
    assert "3.333333e-01f" in printed(float(np.float32(1) / np.float32(3)))


def test_the_wheel_prints_an_infinity_that_does_not_compile() -> None:
    """The same."""
    assert "inff" in printed(float("-inf"))


def test_python_cannot_add_a_target_kind() -> None:
    """Why the description of a SoC is beside `Target`, not in it."""
    with pytest.raises(Exception, match="fpga_conv2d"):
        tvm.target.Target("fpga_conv2d")


def test_a_vdevice_has_a_memory_scope() -> None:
    vdevice = relax.VDevice if hasattr(relax, "VDevice") else tvm.ir.VDevice
    made: Any = vdevice(tvm.target.Target("c"), 1, "global.dsp_tcm")
    assert (made.vdevice_id, made.memory_scope) == (1, "global.dsp_tcm")


def test_fuse_ops_by_pattern_takes_the_codegen_from_the_prefix() -> None:
    """Why pattern prefixes and arch names are one namespace."""
    from tvm.relax.dpl import is_op, wildcard

    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(relax.op.nn.relu(x)))
        builder.emit_func_output(result)
    module = builder.get()
    fused = relax.transform.FuseOpsByPattern(
        [("npu.relu", is_op("relax.nn.relu")(wildcard()))], annotate_codegen=True
    )(module)
    codegens = [
        str(function.attrs["Codegen"])
        for function in fused.functions.values()
        if function.attrs and "Codegen" in function.attrs
    ]
    assert codegens == ["npu"]
