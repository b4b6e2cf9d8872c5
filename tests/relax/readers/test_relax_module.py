"""Relax modules: from TVMScript, from TVM's frontend, behind the author's passes; and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.script import ir as I
from tvm.script import relax as R

import target_arch
from target_arch.cli.main import main
from target_arch.diagnostics import DiagnosticError
from target_arch.relax.readers.relax_module import saved_module
from tests.e2e.conftest import DIGITS


@I.ir_module
class Net:
    @R.function
    def main(  # type: ignore[no-untyped-def]  # noqa: ANN201
        image: R.Tensor((1, 3, 8, 8), "float32"), weight: R.Tensor((4, 3, 3, 3), "float32")
    ):
        with R.dataflow():
            convolved = R.nn.conv2d(image, weight, padding=(1, 1))
            result = R.nn.relu(convolved)
            R.output(result)
        return result


@I.ir_module
class Open:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):  # type: ignore[name-defined]
        both = R.add(x, x)
        return both


@I.ir_module
class Double:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n * 2", 4), "float32")):  # type: ignore  # noqa
        with R.dataflow():
            low = R.nn.relu(x)
            high = R.exp(y)
            R.output(low, high)
        return (low, high)


@I.ir_module
class Pair:
    @R.function
    def main(both: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):  # type: ignore  # noqa
        summed = R.add(both[0], both[1])
        return summed


@I.ir_module
class Unknown:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")):  # type: ignore[no-untyped-def]  # noqa: ANN201
        rectified = R.nn.relu(x)
        return rectified


@I.ir_module
class Two:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):  # type: ignore[no-untyped-def]  # noqa: ANN201
        with R.dataflow():
            low = R.nn.relu(x)
            high = R.exp(low)
            R.output(low, high)
        return (low, high)


WEIGHT = np.random.default_rng(3).standard_normal((4, 3, 3, 3)).astype(np.float32)
PARAMS = {"weight": WEIGHT}
CONV2D = relax.dpl.is_op("relax.nn.conv2d")(relax.dpl.wildcard(), relax.dpl.wildcard())


def verified(model: Any, tmp_path: Path, **options: Any) -> target_arch.Compilation:
    made = target_arch.compile(model, "mcu_m7", **options)
    (found,) = made.write(tmp_path / "bundle").verify(model, count=3).values()
    assert found.passed, found
    return made


def test_parameters_beside(tmp_path: Path) -> None:
    made = verified((Net, PARAMS), tmp_path)
    assert [one.name for one in made.manifest.models[0].inputs] == ["image"]
    assert [one.name for one in made.manifest.models[0].outputs] == ["result"]


def test_parameters_bound() -> None:
    bound = relax.transform.BindParams("main", {"weight": tvm.runtime.tensor(WEIGHT)})(Net)
    assert target_arch.compile(bound, "mcu_m7").files == target_arch.compile((Net, PARAMS), "mcu_m7").files


def test_two_outputs_by_their_names(tmp_path: Path) -> None:
    made = verified(Two, tmp_path)
    assert [one.name for one in made.manifest.models[0].outputs] == ["low", "high"]


@pytest.mark.slow
def test_an_open_extent(tmp_path: Path) -> None:
    made = target_arch.compile(Open, "mcu_m7", batch=3)
    assert made.manifest.models[0].inputs[0].shape == (3, 4)
    (found,) = made.write(tmp_path / "bundle").verify(Open, count=3).values()
    assert found.passed


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (
            {},
            "2 inputs have open dimensions: `x` (nx4), `y` (n * 2x4) [dynamic-shape]\nhint: add `batch=1`",
        ),
        ({"x": (3, 5)}, "dimension 1 of input `x` is 4, not 5 [input-shape]"),
        ({"x": (3, 4), "y": (5, 4)}, "dimension 0 of input `y` is 6, not 5 [input-shape]"),
        ({"z": (3, 4)}, "the model has no input `z` [input-shape]\nhint: it has: `x`, `y`"),
    ],
)
def test_extents_that_stay_open_or_contradict(shapes: dict[str, tuple[int, ...]], said: str) -> None:
    """That the model should be exported anew was said, and `y` was not looked at."""
    with pytest.raises(DiagnosticError) as fault:
        target_arch.compile(Double, "mcu_m7", input_shapes=shapes)
    assert str(fault.value) == f"model.relax: error: {said}"


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (
            Pair,
            "input `both` is of the kind tuple, and no tensor [unsupported-type]\n"
            "hint: give each tensor an input of its own",
        ),
        (
            Unknown,
            "the extents of input `x` are unknown [dynamic-shape]\n"
            'hint: name them in its type, as in `R.Tensor(("n", 8), "float32")`',
        ),
    ],
)
def test_inputs_that_are_no_tensors_of_a_rank(module: tvm.IRModule, said: str) -> None:
    """The first ended in an `AttributeError`."""
    with pytest.raises(DiagnosticError) as fault:
        target_arch.compile(module, "mcu_m7")
    assert str(fault.value) == f"model.relax: error: {said}"


@pytest.mark.slow
def test_a_module_of_tvms_frontend(tmp_path: Path) -> None:
    module, params = relax.frontend.detach_params(from_onnx(onnx.load(DIGITS), keep_params_in_input=True))
    made = target_arch.compile((module, params), "mcu_m7")
    (found,) = made.write(tmp_path / "bundle").verify(DIGITS, count=5).values()
    assert found.passed, found


def test_behind_the_authors_fusion(tmp_path: Path) -> None:
    """A composite is inlined, and its operators are those that backends know."""
    fuse = relax.transform.FuseOpsByPattern([("mine.conv2d", CONV2D)], bind_constants=False)
    plain = target_arch.compile((Net, PARAMS), "mcu_m7")
    assert verified((Net, PARAMS), tmp_path, passes=[fuse]).operators == plain.operators


def test_functions_of_tir_are_operators(tmp_path: Path) -> None:
    passes = [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
    ]
    made = verified((Net, PARAMS), tmp_path, passes=passes)
    assert all(name.startswith(("relax", "elementwise")) for name in made.operators)


def test_passes_on_a_model_of_another_format(tmp_path: Path) -> None:
    seen: list[int] = []

    @tvm.ir.transform.module_pass(opt_level=0)
    def count(module: Any, context: object) -> Any:
        seen.append(len(module["main"].params))
        return module

    with_pass = target_arch.compile(DIGITS, "zynq_edge", passes=[count])
    assert seen == [1]
    assert with_pass.files == target_arch.compile(DIGITS, "zynq_edge").files


def test_a_pass_that_fails() -> None:
    @tvm.ir.transform.module_pass(opt_level=0)
    def fail(module: Any, context: object) -> Any:
        raise ValueError("not today")

    with pytest.raises(DiagnosticError) as fault:
        target_arch.compile((Net, PARAMS), "mcu_m7", passes=[fail])
    assert str(fault.value) == "model.relax: error: one of `passes` failed: not today [failed-pass]"


def test_a_file_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "net.relax"
    file.write_bytes(saved_module(Net, PARAMS))
    assert main(["verify", str(file), "--soc", "mcu_m7", "--count", "2"]) == 0
    assert "TVM 0." in capsys.readouterr().out
    assert main(["operators", str(file)]) == 0
    assert "nn.conv2d" in capsys.readouterr().out


def test_what_is_no_module(tmp_path: Path) -> None:
    cases = {
        '{"root_index":0,"nodes":[': "this is no Relax module: its JSON is not TVM's [model-damaged]",
        str(tvm.ir.save_json(tvm.runtime.convert([1]))): (
            "this is no Relax module with a function `main` [model-type]"
        ),
    }
    for text, said in cases.items():
        file = tmp_path / "net.relax"
        file.write_text(text)
        with pytest.raises(DiagnosticError) as fault:
            target_arch.compile(file, "mcu_m7")
        assert str(fault.value) == f"{file}: error: {said}\nhint: write it with `tvm.ir.save_json`"


def test_a_parameter_that_there_is_not() -> None:
    with pytest.raises(DiagnosticError) as fault:
        target_arch.compile((Net, {"wait": WEIGHT}), "mcu_m7")
    assert str(fault.value) == "model: error: `main` has no parameter `wait` [model-type]"


def test_a_tuple_that_is_no_model() -> None:
    with pytest.raises(DiagnosticError) as fault:
        target_arch.compile(("a", "b"), "mcu_m7")
    assert str(fault.value) == (
        "model: error: a tuple that begins with a `str` is no model [model-type]\n"
        "hint: give a Relax `IRModule`, and the values of its parameters"
    )


def test_a_name_that_is_no_codegen(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as fault:
        target_arch.register_codegen("mcu_m7", tmp_path, codegen="a.b")
    assert str(fault.value) == (
        "codegen: error: `a.b` is no name of a code generator [bad-codegen]\n"
        "hint: use letters, digits and `_`, a letter first"
    )
