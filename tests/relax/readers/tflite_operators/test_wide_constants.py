"""Constants of 64 bits, some beyond 32: every bit as LiteRT's reference kernels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_operators import reference, run_once
from tests.relax.readers.tflite_operators.refusals import reasons
from tests.slow import slow_except

SHAPE = (3, 4)
GRID, WEIGHTS = 0.01, 1e-6
UNIT = float(np.float32(GRID) * np.float32(WEIGHTS))
STEPS: dict[str, Any] = {"padding": 1, "strideH": 1, "strideW": 1}
WHOLE: dict[str, Any] = {**STEPS, "dilationHFactor": 1, "dilationWFactor": 1}


def large(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(-(2**50), 2**50, shape)


def pair(file: TfliteFile, code: str, table: str) -> None:
    """An operator on an input and a constant."""
    given = [file.input(SHAPE, "int64"), file.tensor(SHAPE, "int64", data=large(1, *SHAPE))]
    file.operator(code, given, [file.output(SHAPE, "int64")], (table, {}), 2)


def made(file: TfliteFile, code: str, table: str, operands: list[int]) -> None:
    """A constant that an operator makes, added to an input."""
    constant = file.tensor(SHAPE, "int64")
    file.operator(code, operands, [constant], (table, {}), 1)
    x = file.input(SHAPE, "int64")
    file.operator("ADD", [x, constant], [file.output(SHAPE, "int64")], ("AddOptions", {}), 2)


def product(file: TfliteFile, code: str, options: tuple[str, dict[str, Any]]) -> None:
    """A convolution of 1x1 with 16-bit activations."""
    deep = code == "DEPTHWISE_CONV_2D"
    shape, count = ((1, 1, 1, 4), 4) if deep else ((5, 1, 1, 4), 5)
    draw = np.random.default_rng(2)
    x = file.input((1, 3, 3, 4), "int16", GRID)
    w = file.tensor(shape, "int8", [WEIGHTS] * count, data=draw.integers(-127, 128, shape), axis=3 * deep)
    b = file.tensor((count,), "int64", UNIT, data=draw.integers(-(2**37), 2**37, count))
    y = file.output((1, 3, 3, count), "int16", 0.1)
    first = [file.numbers(1, 3, 3, count), w, x] if code == "TRANSPOSE_CONV" else [x, w]
    file.operator(code, [*first, b], [y], options, 3)


def layer(file: TfliteFile, most: int) -> None:
    """FULLY_CONNECTED with 16-bit activations."""
    draw = np.random.default_rng(3)
    x = file.input((2, 4), "int16", GRID)
    w = file.tensor((5, 4), "int8", WEIGHTS, data=draw.integers(-127, 128, (5, 4)))
    b = file.tensor((5,), "int64", UNIT, data=draw.integers(-most, most, 5))
    y = file.output((2, 5), "int16", most * UNIT / 20000)
    file.operator("FULLY_CONNECTED", [x, w, b], [y], ("FullyConnectedOptions", {}), 8)


def scalar(file: TfliteFile, value: int) -> int:
    return file.tensor((), "int64", data=np.array(value))


CASES: dict[str, Callable[[TfliteFile], None]] = {
    "MAXIMUM": lambda file: pair(file, "MAXIMUM", "MaximumMinimumOptions"),
    "ADD": lambda file: pair(file, "ADD", "AddOptions"),
    "FILL": lambda file: made(file, "FILL", "FillOptions", [file.numbers(*SHAPE), scalar(file, 2**45 + 7)]),
    "GATHER_ND": lambda file: made(
        file,
        "GATHER_ND",
        "GatherNdOptions",
        [
            file.tensor((5, 4), "int64", data=large(4, 5, 4)),
            file.tensor((3, 1), "int32", data=np.array([[4], [0], [2]])),
        ],
    ),
    "CONV_2D": lambda file: product(file, "CONV_2D", ("Conv2DOptions", WHOLE)),
    "DEPTHWISE_CONV_2D": lambda file: product(
        file, "DEPTHWISE_CONV_2D", ("DepthwiseConv2DOptions", {**WHOLE, "depthMultiplier": 1})
    ),
    "TRANSPOSE_CONV": lambda file: product(file, "TRANSPOSE_CONV", ("TransposeConvOptions", STEPS)),
    "FULLY_CONNECTED": lambda file: layer(file, 2**31),
}


@pytest.mark.parametrize("name", slow_except(["ADD", "CONV_2D"], CASES))
def test_no_bit_is_lost(name: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    file = TfliteFile()
    CASES[name](file)
    theirs = reference(file.content())
    assert theirs is not None
    (given,) = theirs.get_input_details()
    reach = 2**15 if given["dtype"] == np.int16 else 2**50
    x = np.random.default_rng(0).integers(-reach, reach, given["shape"]).astype(given["dtype"])
    theirs.set_tensor(given["index"], x)
    theirs.invoke()
    (ours,) = run_once(file.content(), [x.tobytes()], tmp_path)
    assert ours == theirs.get_tensor(theirs.get_output_details()[0]["index"]).tobytes()


def test_a_bias_beyond_32_bits_is_refused_where_sums_are_rounded_once(tmp_path: Path) -> None:
    file = TfliteFile()
    layer(file, 2**37)
    assert "a bias of " in reasons(file.content(), tmp_path)[0]
