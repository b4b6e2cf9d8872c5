"""What the library does not take and why, and what is said of a folder that is no such library."""

from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.cmsis_nn import backend
from target_arch.backends.cmsis_nn.host import CompilerMissingError, host_library
from target_arch.backends.cmsis_nn.support import library_refusal
from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.model import Model
from target_arch.resources import examples
from tests.backends.c.one import constant, one_operator, quantized, real
from tests.backends.cmsis_nn.conftest import Changed
from tests.backends.cmsis_nn.test_cmsis_nn_kernels import MODELS
from tests.backends.engines import bench
from tests.backends.wide_products import special

DENSE = MODELS["dense"]
OPERATOR = DENSE.operators[0]


def with_operator(model: Model, **changes: object) -> Model:
    return evolve(model, operators=(evolve(model.operators[0], **changes),))


def per_channel() -> Model:
    weights = quantized("w", (10, 40), [0.001 * (k + 1) for k in range(10)], 0)
    held = constant(weights, np.zeros((10, 40)))
    return evolve(DENSE, tensors={**DENSE.tensors, "w": held})


REFUSALS = {
    "the library has no softmax": one_operator(
        "softmax", "tflite", [quantized("x", (1, 4), 0.1, 0)], quantized("out", (1, 4), 1 / 256, -128)
    ),
    "arithmetic is float, the library rounds as TFLite does": one_operator(
        "max_pool2d", "float", [real("x", (1, 2, 2, 1))], real("out", (1, 1, 1, 1)), kernel=(2, 2)
    ),
    "arithmetic is onnx, the library rounds as TFLite does": with_operator(DENSE, arithmetic="onnx"),
    "`x` is uint8, the library takes int8": one_operator(
        "avg_pool2d", "tflite", [quantized("x", (1, 2, 2, 1), 0.1, 0, "uint8")],
        quantized("out", (1, 1, 1, 1), 0.1, 0, "uint8"), kernel=(2, 2),
    ),
    "a mean that scales, the library's pool divides": with_operator(
        MODELS["average"], attributes={"kernel": (2, 2), "count_in_multiplier": True}
    ),
    "padding counts in the mean, the library leaves it out": with_operator(
        MODELS["average"], attributes={"kernel": (2, 2), "count_include_pad": True}
    ),
    "2 groups of channels, the library takes none": special("groups"),
    "weights with a zero point other than 0, the library takes none": special("dense zero point"),
    "the library has no functions of int16": special("depthwise int16"),
    "a scale per output, the library's fully connected layer has one": per_channel(),
}  # fmt: skip


@pytest.mark.parametrize("reason", list(REFUSALS))
def test_a_refusal_says_why(reason: str) -> None:
    model = REFUSALS[reason]
    instance = bench("cmsis_nn", {"ram": 1024}).instance
    assert library_refusal(model.operators[0], model, instance, backend) == reason


def test_what_the_library_lacks_becomes_plain_c_unless_that_is_refused() -> None:
    model = REFUSALS["the library has no softmax"]
    plain = bench("cmsis_nn", {"ram": 1024})
    alone = bench("cmsis_nn", {"ram": 1024}, options={"fallback": False})
    assert backend.supports(plain.question(model.operators[0], model)) is None
    assert backend.supports(alone.question(model.operators[0], model)) == "the library has no softmax"
    kernel = backend.lower(plain.request(model))
    assert kernel.notes == ("op in plain C: the library has no softmax",)
    assert kernel.libraries == ()


def test_a_call_costs_what_the_library_needs_and_plain_c_more() -> None:
    at = bench("cmsis_nn", {"ram": 1024})
    library = backend.cost(at.question(OPERATOR, DENSE))
    assert library == pytest.approx(3 * 10 * (40 + 8) / (2 * 100e6))
    onnx = with_operator(DENSE, arithmetic="onnx")
    assert backend.cost(at.question(onnx.operators[0], onnx)) > library


def test_a_library_that_rounds_otherwise_is_found_out(changed: Changed) -> None:
    copy = changed("source/arm_fully_connected_s8.c", "requantize_once", "requantize_twice")
    at = bench("cmsis_nn", {"ram": 1024}, options={"library": str(copy), "fallback": False})
    found = backend.supports(at.question(OPERATOR, DENSE))
    assert found == "the library rounds dense twice, TFLite once"


def said(path: Path | str) -> str:
    with pytest.raises(DiagnosticError) as refusal:
        host_library(str(path))
    return str(refusal.value)


PLACE = "option library of backend cmsis_nn: error: "


def test_a_folder_without_the_header(tmp_path: Path) -> None:
    assert said(tmp_path) == (
        f"{PLACE}`{tmp_path}` holds no `arm_nnfunctions.h` [library-missing]\n"
        "hint: name the folder of the library"
    )


def test_another_convention_is_refused(changed: Changed) -> None:
    copy = changed("include/arm_nnfunctions.h", "const int32_t lhs_offset, const int32_t rhs_offset,", "")
    text = said(copy)
    assert text.startswith(f"{PLACE}`{copy}` has not the calling convention, or does not compile here:\n")
    assert "arm_vector_sum_s8" in text
    assert text.endswith("hint: docs/c-library.md lists the functions that a library has to have")


def test_a_library_that_fails_at_one_times_one(changed: Changed) -> None:
    copy = changed(
        "source/arm_convolve_wrapper_s8.c", "return ARM_CMSIS_NN_SUCCESS", "return ARM_CMSIS_NN_FAILURE"
    )
    assert said(copy) == (
        f"{PLACE}`arm_convolve_wrapper_s8` cannot multiply 1 by 1: it answers -1 [library-convention]"
    )


def test_sizes_for_a_core_that_the_library_does_not_know(changed: Changed) -> None:
    for kind in ("convolve_wrapper", "depthwise_conv_wrapper", "fully_connected", "avgpool"):
        for folder in ("include/arm_nnfunctions.h", f"source/arm_{kind}_s8.c"):
            for core in ("_dsp", "_mve"):
                copy = changed(folder, f"arm_{kind}_s8_get_buffer_size{core}", f"own_{kind}{core}")
    at = bench("cmsis_nn", {"ram": 1024}, options={"library": str(copy), "core": "mve"})
    with pytest.raises(DiagnosticError) as refusal:
        backend.lower(at.request(MODELS["average"]))
    assert str(refusal.value) == (
        f"{PLACE}the library has no `arm_convolve_wrapper_s8_get_buffer_size_mve` and the like, which tell "
        "sizes for core `mve` [library-convention]"
    )


def test_a_size_that_is_refused(changed: Changed) -> None:
    copy = changed("source/arm_avgpool_s8.c", "return ch_src * (int32_t)sizeof(int32_t)", "return -ch_src")
    at = bench("cmsis_nn", {"ram": 1024}, options={"library": str(copy)})
    with pytest.raises(
        DiagnosticError, match=r"`arm_avgpool_s8_get_buffer_size` refuses \[2, 2, 1, 1, 1, 1, 1, "
    ):
        backend.lower(at.request(MODELS["average"]))


def test_a_core_that_does_not_exist() -> None:
    at = bench("cmsis_nn", {"ram": 1024}, options={"core": "sve"})
    with pytest.raises(DiagnosticError) as refusal:
        backend.supports(at.question(OPERATOR, DENSE))
    assert str(refusal.value) == (
        "target_arch fast: error: option `core` is `sve`, which no size function of the library is for "
        "[bad-core]\nhint: there are `plain`, `dsp`, `mve`"
    ).replace("fast", at.instance.name)


def test_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shared: Path
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    host_library.cache_clear()
    with pytest.raises(CompilerMissingError):
        host_library("")
    model = str(shared / "models" / "ad01_int8.tflite")
    assert main(["partition", model, "--soc", str(examples() / "c_library" / "soc.toml")]) == 3
    assert (
        "c-compiler: error: backend `cmsis_nn` asks the library for its sizes, and there is no C compiler to "
        "compile it [tool-missing]"
    ) in capsys.readouterr().err
