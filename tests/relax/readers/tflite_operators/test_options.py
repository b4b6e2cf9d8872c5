"""Options that change what an operator computes: as LiteRT's, or a refusal."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from ai_edge_litert import schema_py_generated as schema

from conformance.tflite_cases import UNIT
from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_operators import EQUAL, Variant, outcomes, reference, run_once
from tests.relax.readers.tflite_operators.refusals import reasons
from tests.slow import slow_except

TANH = schema.ActivationFunctionType.TANH
FLOAT, INT8 = (None, 0), (0.1, 3)
GRIDS = {"float32": FLOAT, "int8": INT8}


def softmax(beta: float) -> TfliteFile:
    file = TfliteFile()
    x, y = file.input((2, 5), "int8", *INT8), file.output((2, 5), "int8", *UNIT["int8"])
    file.operator("SOFTMAX", [x], [y], ("SoftmaxOptions", {"beta": beta}), 2)
    return file


def answer_of_litert(content: bytes, frame: Array) -> Array:
    """The only output of a model with one input."""
    theirs = reference(content)
    assert theirs is not None
    theirs.set_tensor(theirs.get_input_details()[0]["index"], frame)
    theirs.invoke()
    return np.asarray(theirs.get_tensor(theirs.get_output_details()[0]["index"]))


@pytest.mark.parametrize("dtype", slow_except(["int8"], ["int8", "uint8", "int16", "float32"]))
def test_options_are_not_dropped(dtype: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """Factors of `SOFTMAX` and the approximation of `GELU`, some of each."""
    needs_tool("gcc")
    codes = ["SOFTMAX", *(["GELU"] if dtype in ("int8", "float32") else [])]
    variants = [Variant(code=code, dtype=dtype, seed=seed) for code in codes for seed in range(6)]
    assert {each.verdict for each in outcomes(variants, tmp_path)} == {EQUAL}


@pytest.mark.parametrize("beta", [0.0, -1.0, float("nan"), float("inf")])
def test_factors_that_litert_stops_at_are_refused(beta: float, tmp_path: Path) -> None:
    assert reasons(softmax(beta).content(), tmp_path) == [f"`SOFTMAX` once, at `t1`: a `beta` of {beta:g}"]


@pytest.mark.parametrize("code", ["SOFTMAX", "L2_NORMALIZATION"])
def test_rows_have_the_shape_of_their_input(code: str, tmp_path: Path) -> None:
    """A file that says otherwise: a list from a single number."""
    dtype, grid = ("int16", (1 / 32768, 0)) if code == "SOFTMAX" else ("int8", (1 / 128, 0))
    file, options = TfliteFile(), {"SOFTMAX": ("SoftmaxOptions", {"beta": 1.0})}.get(code)
    x, y = file.input((), dtype, *grid), file.output((3,), dtype, *grid)
    file.operator(code, [x], [y], options or ("L2NormOptions", {}), 1)
    said = "an input of shape () and an output of shape (3,)"
    assert reasons(file.content(), tmp_path) == [f"`{code}` once, at `t1`: {said}"]


@pytest.mark.parametrize("dtype", GRIDS)
@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
def test_activations_that_litert_leaves_out_are_refused(code: str, dtype: str, tmp_path: Path) -> None:
    file = TfliteFile()
    inputs = [file.input((2, 5), dtype, *GRIDS[dtype]) for _ in range(2)]
    options = {"fusedActivationFunction": TANH}
    file.operator(
        code, inputs, [file.output((2, 5), dtype, *GRIDS[dtype])], (f"{code.title()}Options", options), 2
    )
    assert reasons(file.content(), tmp_path) == [f"`{code}` once, at `t2`: its fused activation"]


@pytest.mark.parametrize("code", ["AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"])
def test_windows_without_elements_are_refused(code: str, tmp_path: Path) -> None:
    file = TfliteFile()
    x, y = (make((1, 4, 4, 2), "float32") for make in (file.input, file.output))
    window = {"filterHeight": 2, "filterWidth": 0, "strideH": 1, "strideW": 1}
    file.operator(code, [x], [y], ("Pool2DOptions", window))
    (reason,) = reasons(file.content(), tmp_path)
    assert reason == f"`{code}` once, at `t1`: a window of 2x0 in steps of 1x1"


def test_constants_alone_are_refused_where_they_are_not_moved(tmp_path: Path) -> None:
    file = TfliteFile()
    x, y = (make((4,), "float32") for make in (file.input, file.output))
    part = file.tensor((2,), "float32")
    values = file.tensor((1,), "float32", data=np.ones(1, np.float32))
    file.operator("TILE", [values, file.numbers(2)], [part], ("TileOptions", {}))
    file.operator("CONCATENATION", [x, part], [y], ("ConcatenationOptions", {}))
    said = "`TILE` once, at `t2`: all of its operands are constants"
    assert said in reasons(file.content(), tmp_path)


def test_whole_numbers_of_constants_alone_may_stay_unread(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """They ended in an `IndexError` where an operator read them."""
    needs_tool("gcc")

    def model(code: str) -> bytes:
        file = TfliteFile()
        x = file.input((4,), "int32")
        tiled, y = file.tensor((4,), "int32"), file.output((4,), "int32")
        file.operator("TILE", [file.numbers(1, 2), file.numbers(2)], [tiled], ("TileOptions", {}))
        second = tiled if code == "ADD" else file.numbers(4)
        file.operator(code, [x, second], [y], (f"{code.title()}Options", {}), 2)
        return file.content()

    said = "`ADD` once, at `t2`: tensor `t1` is computed from constants alone"
    assert reasons(model("ADD"), tmp_path) == [said]
    frame = np.arange(4, dtype=np.int32).tobytes()
    assert run_once(model("RESHAPE"), [frame], tmp_path) == (frame,)


def test_an_output_of_constants_alone_is_refused(tmp_path: Path) -> None:
    file = TfliteFile()
    x = file.input((4,), "int32")
    tiled, y = file.output((4,), "int32"), file.output((4,), "int32")
    file.operator("TILE", [file.numbers(1, 2), file.numbers(2)], [tiled], ("TileOptions", {}))
    file.operator("ABS", [x], [y], ("AbsOptions", {}))
    assert reasons(file.content(), tmp_path) == ["`TILE` once, at `t1`: all of its operands are constants"]


def test_constants_alone_are_computed(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """Parts of constants and sums of whole numbers, each read by an operator on activations."""
    needs_tool("gcc")
    file = TfliteFile()
    x, y = file.input((4,), "int32"), file.output((4,), "int32")
    part, back, both, less, total = (file.tensor((count,), "int32") for count in (2, 2, 4, 4, 4))
    values = file.numbers(3, 5, 8, 13)
    file.operator("SLICE", [values, file.numbers(1), file.numbers(2)], [part], ("SliceOptions", {}))
    places = [file.numbers(number) for number in (3, 1, -1)]
    file.operator("STRIDED_SLICE", [values, *places], [back], ("StridedSliceOptions", {}))
    file.operator("CONCATENATION", [part, back], [both], ("ConcatenationOptions", {}))
    file.operator("NEG", [both], [less])
    file.operator("ADD", [less, values], [total], ("AddOptions", {}))
    file.operator("MUL", [x, total], [y], ("MulOptions", {}))
    content, frame = file.content(), np.array([1, -2, 3, 2**30], np.int32)
    assert run_once(content, [frame.tobytes()], tmp_path) == (answer_of_litert(content, frame).tobytes(),)


def test_a_product_with_constant_matrices(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    file, draw = TfliteFile(), np.random.default_rng(3)

    def values(*shape: int) -> Array:
        return draw.integers(-128, 128, shape).astype(np.int8)

    weights = file.tensor((2, 3, 5), "int8", 0.03, data=values(2, 3, 5))
    operands = [file.input((2, 4, 5), "int8", 0.02), weights]
    options = ("BatchMatMulOptions", {"adjY": True})
    file.operator("BATCH_MATMUL", operands, [file.output((2, 4, 3), "int8", 0.2)], options, 3)
    content, frame = file.content(), values(2, 4, 5)
    assert run_once(content, [frame.tobytes()], tmp_path) == (answer_of_litert(content, frame).tobytes(),)


def test_an_empty_range_is_refused(tmp_path: Path) -> None:
    file = TfliteFile()
    x, y = (make((3,), "float32") for make in (file.input, file.output))
    file.operator("FAKE_QUANT", [x], [y], ("FakeQuantOptions", {"min": 1.5, "max": 0.5, "numBits": 8}))
    (reason,) = reasons(file.content(), tmp_path)
    assert reason == "`FAKE_QUANT` once, at `t1`: its range from 1.5 to 0.5 is empty"


def test_a_place_taken_backwards_is_refused(tmp_path: Path) -> None:
    file = TfliteFile()
    x = file.input((8,), "float32")
    begin, end, steps = (file.numbers(number) for number in (-1, 0, -1))
    options = ("StridedSliceOptions", {"shrinkAxisMask": 1})
    file.operator("STRIDED_SLICE", [x, begin, end, steps], [file.output((), "float32")], options)
    (reason,) = reasons(file.content(), tmp_path)
    assert reason == "`STRIDED_SLICE` once, at `t4`: it takes one place of a dimension, in backward steps"


def test_sequences_along_their_lengths_are_refused(tmp_path: Path) -> None:
    file = TfliteFile()
    x, lengths = file.input((3, 4), "float32"), file.input((3,), "int32")
    options = ("ReverseSequenceOptions", {"seqDim": 0, "batchDim": 0})
    file.operator("REVERSE_SEQUENCE", [x, lengths], [file.output((3, 4), "float32")], options)
    (reason,) = reasons(file.content(), tmp_path)
    assert reason.endswith("its sequences and their lengths are both along dimension 0")
