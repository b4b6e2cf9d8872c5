"""A sample of `conformance/tflite_operators.py`: random models of one operator, every bit as LiteRT's."""

import hashlib
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import TfliteFile
from conformance.tflite_operators import EQUAL, Variant, outcomes, reference, run_once
from target_arch.api.compilation import compile
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.table import KINDS
from target_arch.relax.importer import import_model
from target_arch.relax.readers import tflite_operators
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.soc.files.soc_file import read_soc
from tests.relax.emulate import evaluate
from tests.relax.readers.tflite_operators.refusals import reasons
from tests.slow import slow_except

SAMPLE = {
    "int8": (
        "ADD",
        "AVERAGE_POOL_2D",
        "BATCH_MATMUL",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "DIV",
        "DYNAMIC_UPDATE_SLICE",
        "EMBEDDING_LOOKUP",
        "FILL",
        "FULLY_CONNECTED",
        "GATHER_ND",
        "GREATER",
        "L2_NORMALIZATION",
        "LEAKY_RELU",
        "LOGISTIC",
        "MAX_POOL_2D",
        "MEAN",
        "RELU_0_TO_1",
        "RESIZE_BILINEAR",
        "SELECT_V2",
        "SVDF",
        "TRANSPOSE_CONV",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
    ),
    "uint8": (
        "CONV_2D",
        "FULLY_CONNECTED",
        "L2_NORMALIZATION",
        "PRELU",
        "RESIZE_BILINEAR",
        "STRIDED_SLICE",
    ),
    "int16": ("CONV_2D", "FULLY_CONNECTED", "LOG", "MUL", "PRELU", "RSQRT", "SOFTMAX", "TANH"),
    "float32": (
        "ABS",
        "AVERAGE_POOL_2D",
        "CONV_2D",
        "CUMSUM",
        "DEPTHWISE_CONV_2D",
        "ELU",
        "EMBEDDING_LOOKUP",
        "FULLY_CONNECTED",
        "GATHER_ND",
        "GELU",
        "HARD_SWISH",
        "L2_NORMALIZATION",
        "L2_POOL_2D",
        "LEAKY_RELU",
        "MEAN",
        "PRELU",
        "RANGE",
        "RELU_0_TO_1",
        "RESIZE_BILINEAR",
        "REVERSE_SEQUENCE",
        "SQUARED_DIFFERENCE",
        "ZEROS_LIKE",
    ),
    "int32": (
        "CUMSUM",
        "FILL",
        "GATHER_ND",
        "MEAN",
        "QUANTIZE",
        "QUANTIZE to int16",
        "SQUARED_DIFFERENCE",
    ),
    "bool": ("ARG_MAX", "DYNAMIC_UPDATE_SLICE", "REDUCE_MAX", "SELECT_V2"),
}


@pytest.mark.parametrize("dtype", slow_except(["int16"], SAMPLE))
def test_operators_are_bit_equal(dtype: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    variants = [Variant(code=code, dtype=dtype, seed=7) for code in SAMPLE[dtype]]
    found = {
        outcome.variant.code: (outcome.verdict, outcome.detail) for outcome in outcomes(variants, tmp_path)
    }
    assert found == dict.fromkeys(SAMPLE[dtype], (EQUAL, ""))


NOT_COMPUTED = (
    ("ATAN2", "float32", "not known here"),
    ("DIV", "bool", "values of type bool"),
    ("DIV", "int16", "stored values of type int16"),
    ("FLOOR_DIV", "bool", "values of type bool"),
    ("FLOOR_MOD", "bool", "values of type bool"),
    ("LOCAL_RESPONSE_NORMALIZATION", "float32", "not known here"),
    ("NEG", "int8", "stored values of type int8"),
    ("POW", "int32", "values of type int32"),
    ("REDUCE_ALL", "float32", "values of type float32"),
    ("REDUCE_ANY", "int32", "values of type int32"),
    ("SQRT", "int16", "stored values of type int16"),
)


@pytest.mark.parametrize(("code", "dtype", "why"), NOT_COMPUTED)
def test_what_is_computed_otherwise_is_refused(code: str, dtype: str, why: str, tmp_path: Path) -> None:
    (reason,) = reasons(Variant(code=code, dtype=dtype, seed=8).content(), tmp_path)
    assert reason.startswith(f"`{code}` ")
    assert why in reason


@pytest.mark.parametrize("code", ["REDUCE_PROD", "SQUARE"])
def test_functions_of_constants_are_refused(code: str, tmp_path: Path) -> None:
    file = TfliteFile()
    operands = [file.numbers(1, 2)] + [file.numbers(0)] * (code == "REDUCE_PROD")
    file.operator(code, operands, [file.output((2,), "int32")])
    assert reasons(file.content(), tmp_path) == [f"`{code}` once, at `t2`: its operand `t0` is constant"]


ROUNDED = (
    ("SUM", "int8", 10),
    ("SUM", "int16", 17),
    ("SUM", "int16", 1000),
    ("SUM", "int16", 2055),
    ("ABS", "int16", 7),
    ("EQUAL", "int16", 8),
    ("SOFTMAX", "int16", 11),
)
"""Random models in which rounding in another place gives other values."""


@pytest.mark.slow
def test_rounding_that_few_models_show(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    variants = [Variant(code=code, dtype=dtype, seed=seed) for code, dtype, seed in ROUNDED]
    variants.append(Variant(code="ADD", dtype="int8", seed=1, ties=True))
    tied = [(code, dtype) for code in ("FULLY_CONNECTED", "SUM") for dtype in ("int8", "uint8", "int16")]
    variants += [
        Variant(code=code, dtype=dtype, seed=seed, ties=True) for code, dtype in tied for seed in range(4)
    ]
    assert {outcome.verdict for outcome in outcomes(variants, tmp_path)} == {EQUAL}


def test_functions_of_every_int16_value(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """At random scales; of the first logarithm the table rises by more than int16 holds beside zero."""
    needs_tool("gcc")
    rng, file = np.random.default_rng(5), TfliteFile()
    every = np.arange(-(2**15), 2**15).astype(np.int16)
    frame = (every, every, rng.permutation(every).reshape(1, 16, 16, 256), every[2**15 :], every)
    logarithm, power, sloped, root = (
        (every.shape, 0.015060732, 7.909407e-05),
        (every.shape, rng.uniform(1e-5, 3e-4), rng.uniform(1e-4, 1e-2)),
        (frame[2].shape, rng.uniform(1e-5, 1e-3), rng.uniform(1e-4, 1e-3)),
        ((2**15,), rng.uniform(1e-5, 1e-3), rng.uniform(1e-4, 1e-2)),
    )
    cases = (("LOG", logarithm), ("EXP", power), ("PRELU", sloped), ("RSQRT", root), ("LOG", power))
    for code, (shape, scale, out_scale) in cases:
        inputs = [file.input(shape, "int16", scale, 0)]
        if code == "PRELU":
            slopes = rng.integers(-128, 128, (1, 1, 256))
            inputs.append(file.tensor(slopes.shape, "int8", rng.uniform(0.001, 0.02), 17, data=slopes))
        y = file.output(shape, "int16", out_scale, 0)
        file.operator(code, inputs, [y], None, 1 if code == "PRELU" else 2)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    theirs = litert(path).answer(frame)
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, tmp_path / "bundle")
    given = b"".join(value.tobytes() for value in frame)
    (answer,) = run_frames(build(tmp_path / "bundle"), (given,))
    assert answer == b"".join(value.tobytes() for value in theirs[0])


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -7), ("uint8", 131)])
def test_a_padding_goes_into_a_convolution(
    dtype: str, zero: int, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    rng, file = np.random.default_rng(3), TfliteFile()
    x = file.input((1, 5, 6, 3), dtype, 0.04, zero)
    wide = file.tensor((1, 8, 7, 3), dtype, 0.04, zero)
    widths = file.tensor((4, 2), "int32", data=np.array([[0, 0], [1, 2], [0, 1], [0, 0]]))
    file.operator("PAD", [x, widths], [wide], ("PadOptions", {}), 2)
    kernel = rng.integers(*(0, 256) if dtype == "uint8" else (-128, 128), (4, 3, 3, 3))
    weight = file.tensor(kernel.shape, dtype, 0.01, 99 if dtype == "uint8" else 0, data=kernel)
    bias = file.tensor((4,), "int32", 0.0004, data=rng.integers(-900, 900, 4))
    y = file.output((1, 3, 3, 4), dtype, 0.07, zero)
    options = {"padding": 1, "strideH": 2, "strideW": 2}
    file.operator("CONV_2D", [wide, weight, bias], [y], ("Conv2DOptions", options), 3)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    (operator,) = import_model(path)[0].operators
    assert (operator.kind, operator.attributes["padding"]) == (OperatorKind.CONV2D, (1, 0, 2, 1))
    frame = rng.integers(0, 256, (1, 5, 6, 3)).astype("uint8").view(dtype)
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, tmp_path / "bundle")
    (answer,) = run_frames(build(tmp_path / "bundle"), (frame.tobytes(),))
    assert answer == litert(path).answer((frame,))[0][0].tobytes()


@pytest.mark.parametrize(
    ("dtype", "zeros", "activation"), [("int8", (9, -31, 4), 0), ("uint8", (120, 3, 99), 1)]
)
def test_quotients_of_every_pair_of_values(
    dtype: str,
    zeros: tuple[int, int, int],
    activation: int,
    tmp_path: Path,
    needs_tool: Callable[[str], str],
) -> None:
    needs_tool("gcc")
    every = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
    divisors = every[every != zeros[1]].astype(dtype).reshape(-1, 1)
    file, frame = TfliteFile(), (np.tile(every.astype(dtype), (len(divisors), 1)), divisors)
    scales = (0.37, 0.011, 0.2)
    a, b = (file.input(frame[side].shape, dtype, scales[side], zeros[side]) for side in (0, 1))
    y = file.output(frame[0].shape, dtype, scales[2], zeros[2])
    file.operator("DIV", [a, b], [y], ("DivOptions", {"fusedActivationFunction": activation}), 2)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    theirs = litert(path).answer(frame)[0][0]
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, tmp_path / "bundle")
    (answer,) = run_frames(build(tmp_path / "bundle"), (b"".join(each.tobytes() for each in frame),))
    assert answer == theirs.tobytes()
    assert len(np.unique(theirs)) > 100


def test_squared_differences_of_int16_are_those_of_tflite_micro(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """LiteRT has none; the digest is of tflite-micro 0.dev20261023182759."""
    needs_tool("gcc")
    rng, file = np.random.default_rng(1), TfliteFile()
    a, b = file.input((3, 50), "int16", 0.1, 0), file.input((1, 50), "int16", 0.07, 0)
    y = file.output((3, 50), "int16", 900.0, 0)
    file.operator("SQUARED_DIFFERENCE", [a, b], [y], ("SquaredDifferenceOptions", {}), 2)
    frame = b"".join(rng.integers(-(2**15), 2**15, rows * 50).astype(np.int16).tobytes() for rows in (3, 1))
    (answer,) = run_once(file.content(), [frame], tmp_path)
    assert len(np.unique(np.frombuffer(answer, np.int16))) > 100
    assert hashlib.sha256(answer).hexdigest()[:16] == "313db68f25091406"


@pytest.mark.parametrize(
    ("options", "digest"),
    [
        ({}, "1b9526eb8ba877f1"),
        ({"exclusive": True}, "fb2db49ddc009371"),
        ({"reverse": True}, "acec1c3df5d2f313"),
    ],
)
def test_running_sums_of_int8_are_those_of_tflite_micro(
    options: dict[str, bool], digest: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """LiteRT has none; the digests are of tflite-micro 0.dev20261023182759."""
    needs_tool("gcc")
    content = running_sum((20, 9, 3), **options)
    frame = np.random.default_rng(3).integers(-128, 128, 540).astype(np.int8).tobytes()
    (answer,) = run_once(content, [frame], tmp_path)
    assert len(np.unique(np.frombuffer(answer, np.int8))) > 100
    assert hashlib.sha256(answer).hexdigest()[:16] == digest


def test_running_sums_that_may_overflow_are_refused(tmp_path: Path) -> None:
    """TFLite Micro adds in 32 bits of which 20 are below the binary point."""
    path = tmp_path / "m.tflite"
    path.write_bytes(running_sum((20, 80, 3)))
    with pytest.raises(DiagnosticError) as raised:
        import_model(path)
    assert "sums of 80 elements, which may overflow TFLite Micro's 32 bits" in str(raised.value)


def test_running_sums_overflow_whatever_the_scale_of_the_output(tmp_path: Path) -> None:
    """Zero point and sum of 15 elements stay below 4,096 steps of the input, those of 16 do not."""
    path = tmp_path / "m.tflite"
    path.write_bytes(running_sum((1, 15), zero=-128, scale=0.9))
    import_model(path)
    path.write_bytes(running_sum((1, 16), zero=-128, scale=0.9))
    with pytest.raises(DiagnosticError, match="sums of 16 elements, which may overflow"):
        import_model(path)


def running_sum(shape: tuple[int, ...], *, zero: int = -3, scale: float = 0.11, **options: bool) -> bytes:
    """A model of CUMSUM along its second dimension; the zero point is the input's, the scale the output's."""
    file = TfliteFile()
    x, axis = file.input(shape, "int8", 0.05, zero), file.tensor((), "int32", data=np.array(1))
    file.operator("CUMSUM", [x, axis], [file.output(shape, "int8", scale, 9)], ("CumsumOptions", options))
    return file.content()


@pytest.mark.parametrize(
    "dtype", slow_except(["int8", "int64"], ["int8", "uint8", "int16", "int32", "int64"])
)
def test_floats_that_an_integer_does_not_hold_are_cast_as_litert_does(
    dtype: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    ends = [2.0**bits for bits in (7, 8, 15, 16, 31, 63)]
    values = [0.9, -0.9, 3.5, 1e30, math.inf, math.nan, *ends, *(end * 0.999999 for end in ends)]
    x = np.array([*values, *(-value for value in values)], np.float32)
    file = TfliteFile()
    file.operator(
        "CAST", [file.input(x.shape, "float32")], [file.output(x.shape, dtype)], ("CastOptions", {})
    )
    theirs = reference(file.content())
    assert theirs is not None
    theirs.set_tensor(theirs.get_input_details()[0]["index"], x)
    theirs.invoke()
    expected = theirs.get_tensor(theirs.get_output_details()[0]["index"])
    (answer,) = run_once(file.content(), [x.tobytes()], tmp_path)
    assert np.frombuffer(answer, dtype).tolist() == expected.tolist()


def test_shifts_that_c_does_not_define_are_refused(tmp_path: Path) -> None:
    """LiteRT's quotient then depends on the processor that it runs on."""
    file = TfliteFile()
    a, b = (file.input((4,), "int8", 0.1, 0) for _ in range(2))
    file.operator("DIV", [a, b], [file.output((4,), "int8", 0.1, 0)], ("DivOptions", {}), 2)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert str(caught.value) == (
        f"{path}: error: operator `DIV` is not supported [unsupported-operator]\n"
        f"{path}: note: `DIV` once, at `t2`: its scales make LiteRT shift by a number of bits that C "
        "does not define\n"
        "hint: replace it in the model, or split the model before it"
    )


def test_a_divisor_whose_zero_point_its_type_does_not_hold_is_refused(tmp_path: Path) -> None:
    """Tables would have a row for each of the distances from it."""
    file = TfliteFile()
    a, b = file.input((4,), "int8", 0.1, 0), file.input((4,), "int8", 0.1, 2**30)
    file.operator("DIV", [a, b], [file.output((4,), "int8", 100.0, 0)], ("DivOptions", {}), 2)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError, match="at `t2`: int8 does not hold the zero point 1073741824"):
        import_model(path)


def test_int16_slopes_are_refused(tmp_path: Path) -> None:
    """LiteRT takes them, and reads their bytes as int8."""
    file = TfliteFile()
    x, y = file.input((1, 2, 2, 3), "int16", 0.1, 0), file.output((1, 2, 2, 3), "int16", 0.1, 0)
    slopes = file.tensor((1, 1, 3), "int16", 0.1, 0, data=np.array([[[1, 2, 3]]]))
    file.operator("PRELU", [x, slopes], [y], None)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert str(caught.value) == (
        f"{path}: error: operator `PRELU` is not supported [unsupported-operator]\n"
        f"{path}: note: `PRELU` once, at `t1`: slopes of type int16, whose bytes LiteRT reads as int8\n"
        "hint: replace it in the model, or split the model before it"
    )


def test_norms_of_zero_and_one(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """LiteRT takes the norm of zeros, and of a single one, for a little more than one."""
    needs_tool("gcc")
    file = TfliteFile()
    x, y = file.input((4, 3), "int8", 0.1, 5), file.output((4, 3), "int8", 1 / 128, 0)
    file.operator("L2_NORMALIZATION", [x], [y], ("L2NormOptions", {}), 2)
    frame = np.array([[5, 5, 5], [6, 5, 5], [5, 4, 6], [127, -128, 127]], np.int8)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    theirs = litert(path).answer((frame,))
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7")))
    write_bundle(made.bundle, tmp_path / "bundle")
    (answer,) = run_frames(build(tmp_path / "bundle"), (frame.tobytes(),))
    assert answer == theirs[0][0].tobytes()


def test_tensors_without_elements_add_nothing(tmp_path: Path) -> None:
    file = TfliteFile()
    x, y = file.input((2, 3), "int8", 0.1, 3), file.output((2, 3), "int8", 0.1, 3)
    none, computed = (file.tensor((0, 3), "int8", 0.1, 3, data=data) for data in (np.zeros((0, 3)), None))
    file.operator("SLICE", [x, file.numbers(0, 0), file.numbers(0, 3)], [computed], ("SliceOptions", {}), 2)
    file.operator("CONCATENATION", [none, x, computed], [y], ("ConcatenationOptions", {"axis": 0}), 2)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    found, program = import_model(path)
    given = np.arange(6, dtype=np.int8).reshape(2, 3)
    np.testing.assert_array_equal(evaluate(found, {found.inputs[0]: given}, program)[0], given)
    assert [tensor.shape for tensor in found.tensors.values() if 0 in tensor.shape] == []


def test_an_input_without_elements_is_refused(tmp_path: Path) -> None:
    file = TfliteFile()
    x, none, y = file.input((2, 3), "float32"), file.input((0, 3), "float32"), file.output((2, 3), "float32")
    file.operator("CONCATENATION", [x, none], [y], ("ConcatenationOptions", {"axis": 0}), 1)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert str(caught.value) == (
        f"{path}: error: input `t1` has no elements [unsupported-model]\nhint: leave it out of the model"
    )


def test_tensors_may_have_one_name(tmp_path: Path) -> None:
    """Nothing obliges a file to name its tensors apart."""
    file = TfliteFile()
    x = file.input((1, 4), "int8", 0.1, 3)
    middle, y = file.tensor((4, 1), "int8", 0.1, 3), file.output((2, 2), "int8", 0.1, 3)
    file.operator("TRANSPOSE", [x, file.numbers(1, 0)], [middle], ("TransposeOptions", {}), 2)
    file.operator("RESHAPE", [middle, file.numbers(2, 2)], [y], ("ReshapeOptions", {"newShape": [2, 2]}))
    file.rename("same")
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    model, _ = import_model(path)
    assert [model.tensors[name].shape for name in (*model.inputs, *model.outputs)] == [(1, 4), (2, 2)]


def test_a_refusal_names_every_operator(tmp_path: Path) -> None:
    file = TfliteFile()
    x = file.input((1, 4), "int8", 0.1, 3)
    middle, y = file.tensor((1, 4), "int8", 1 / 128, 0), file.output((1, 4), "int8", 0.1, 3)
    file.operator("IF", [x], [middle], None)
    file.operator("LOCAL_RESPONSE_NORMALIZATION", [middle], [y], None)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert caught.value.diagnostics[0].message == (
        "operators `IF`, `LOCAL_RESPONSE_NORMALIZATION` are not supported"
    )
    assert "`IF` once, at `t1`: its options are missing" in str(caught.value)


def test_a_refusal_names_no_operator_that_fails_behind_another(tmp_path: Path) -> None:
    file = TfliteFile()
    x = file.input((1, 4), "float32")
    middle, y = file.tensor((1, 3), "float32"), file.output((1, 4), "float32")
    file.operator("LOCAL_RESPONSE_NORMALIZATION", [x], [middle], None)
    file.operator("MAXIMUM", [middle, x], [y], None)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert caught.value.diagnostics[0].message == "operator `LOCAL_RESPONSE_NORMALIZATION` is not supported"


def test_every_definition_that_a_converter_names_exists() -> None:
    folder = Path(tflite_operators.__file__).parent
    named = {
        name
        for file in sorted(folder.glob("*.py"))
        for name in re.findall(r'\.defined\(\s*"(\w+)"', file.read_text())
    }
    assert named <= {*KINDS, *OperatorKind}


def test_a_constant_table_is_read_at_computed_places(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """An embedding. Places are int32 inputs, drawn within the table for LiteRT, which refuses others."""
    needs_tool("gcc")
    file = TfliteFile()
    places = file.input((3,), "int32")
    table = file.tensor((5, 2), "float32", data=np.arange(10, dtype=np.float32).reshape(5, 2))
    y = file.output((3, 2), "float32")
    file.operator("GATHER", [table, places], [y], ("GatherOptions", {"axis": 0, "batchDims": 0}))
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7")))
    write_bundle(made.bundle, tmp_path / "bundle")
    frame = np.array([4, 0, 9], np.int32).tobytes()
    (answer,) = run_frames(build(tmp_path / "bundle"), (frame,))
    assert np.frombuffer(answer, np.float32).tolist() == [8.0, 9.0, 0.0, 1.0, 8.0, 9.0]


def test_a_shape_that_is_computed_from_a_shape(tmp_path: Path) -> None:
    """As Keras reshapes with an open batch; and a product of operands of different rank."""
    file = TfliteFile()
    x, weights = file.input((2, 1, 3, 4), "float32"), np.arange(8, dtype=np.float32).reshape(2, 4)
    one, shape = file.tensor((), "int32", data=np.array(3, np.int32)), file.tensor((4,), "int32")
    batch, target = file.tensor((), "int32"), file.tensor((2,), "int32")
    product, y = file.tensor((2, 1, 3, 2), "float32"), file.output((2, 6), "float32")
    adjoint = {"adjX": False, "adjY": True}
    operands = [x, file.tensor((2, 4), "float32", data=weights)]
    file.operator("BATCH_MATMUL", operands, [product], ("BatchMatMulOptions", adjoint))
    file.operator("SHAPE", [product], [shape], ("ShapeOptions", {"outType": 2}))
    parts = [shape, *(file.numbers(number) for number in (0, 1, 1))]
    file.operator("STRIDED_SLICE", parts, [batch], ("StridedSliceOptions", {"shrinkAxisMask": 1}))
    file.operator("PACK", [batch, one], [target], ("PackOptions", {"valuesCount": 2, "axis": 0}))
    file.operator("RESHAPE", [product, target], [y], ("ReshapeOptions", {}))
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    model, program = import_model(path)
    values = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4)
    (found,) = evaluate(model, {model.inputs[0]: values}, program)
    np.testing.assert_array_equal(found, (values @ weights.T).reshape(2, 6))


def test_an_open_batch_gets_the_extent_that_is_asked_for(tmp_path: Path) -> None:
    """In every tensor that follows from it. As in the file, an open batch is 1."""
    file = TfliteFile()
    x = file.input((1, 4), "float32")
    middle, y = file.tensor((1, 4), "float32"), file.output((1, 4), "float32")
    file.operator("RELU", [x], [middle], None)
    file.operator("EXP", [middle], [y], ("ExpOptions", {}))
    file.open_batch()
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    shapes = {}
    for batch in (None, 3):
        model, _ = import_model(path, shapes=InputShapes(batch=batch))
        shapes[batch] = {tensor.shape for tensor in model.tensors.values()}
    assert shapes == {None: {(1, 4)}, 3: {(3, 4)}}


def test_a_slope_for_each_channel_stays_one(tmp_path: Path) -> None:
    """A slope for each element, as Relax would broadcast them, was most of a face detector's constants."""
    file, shape = TfliteFile(), (1, 16, 16, 8)
    slopes = file.tensor((1, 1, 8), "float32", data=np.arange(8, dtype=np.float32).reshape(1, 1, 8))
    file.operator("PRELU", [file.input(shape, "float32"), slopes], [file.output(shape, "float32")], None)
    path = tmp_path / "m.tflite"
    path.write_bytes(file.content())
    (pool,) = (pool for pool in compile(path, "mcu_m7").pools.value.pools if pool.pool.constant)
    assert pool.bytes == 32
