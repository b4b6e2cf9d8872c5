"""Constants that an operator makes of a few numbers, of which a file says any size."""

from pathlib import Path

import numpy as np
import pytest

from conformance.tflite_files import TfliteFile
from tests.relax.readers.tflite_operators.refusals import reasons

MANY = 2**31 - 1


def made(code: str) -> bytes:
    """An operator whose result has two thousand million elements, of which one is read."""
    file = TfliteFile()
    one = file.tensor((), "int32", data=np.array(1, np.int32))
    operands = {
        "FILL": ([file.numbers(MANY), one], "FillOptions"),
        "RANGE": ([one, file.tensor((), "int32", data=np.array(MANY, np.int32)), one], "RangeOptions"),
        "ZEROS_LIKE": ([one], "ZerosLikeOptions"),
    }
    given, table = operands[code]
    many = file.tensor((MANY,), "int32")
    file.operator(code, given, [many], (table, {}))
    first = [many, file.numbers(0), file.numbers(1)]
    part = file.tensor((1,), "int32")
    file.operator("SLICE", first, [part], ("SliceOptions", {}))
    file.operator("ADD", [file.input((1,), "int32"), part], [file.output((1,), "int32")], ("AddOptions", {}))
    return file.content()


@pytest.mark.parametrize("code", ["FILL", "RANGE", "ZEROS_LIKE"])
def test_a_constant_too_large_for_an_array_is_refused(code: str, tmp_path: Path) -> None:
    (said,) = reasons(made(code), tmp_path)
    assert said.startswith(f"`{code}` once, at ")
    assert said.endswith(": a constant of 2,147,483,647 elements, more than 67,108,864")


def with_tables(code: str) -> bytes:
    """An operator with tables as long as its result, which the file says has two thousand million rows."""
    file = TfliteFile()
    image, grid = file.input((1, 4, 4, 1), "int8", 0.1), (1, MANY, 4, 1)
    size = file.numbers(MANY, 4)
    if code == "BATCH_MATMUL":
        weights = file.tensor((1, 4), "int8", 0.1, data=np.ones((1, 4), np.int8))
        result = file.output((1, 4, 4, MANY), "int8", 0.1)
        file.operator(code, [image, weights], [result], ("BatchMatMulOptions", {}))
    else:
        table = {
            "RESIZE_BILINEAR": "ResizeBilinearOptions",
            "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
        }[code]
        file.operator(code, [image, size], [file.output(grid, "int8", 0.1)], (table, {}))
    return file.content()


@pytest.mark.parametrize("code", ["BATCH_MATMUL", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_a_table_too_large_for_an_array_is_refused(code: str, tmp_path: Path) -> None:
    (said,) = reasons(with_tables(code), tmp_path)
    assert said.startswith(f"`{code}` once, at ")
    assert said.endswith(": a constant of 2,147,483,647 elements, more than 67,108,864")


def test_different_elements_of_a_vector_too_large_for_an_array_are_refused(tmp_path: Path) -> None:
    file = TfliteFile()
    file.operator(
        "UNIQUE",
        [file.input((MANY,), "int32")],
        [file.output((MANY,), "int32"), file.output((MANY,), "int32")],
        ("UniqueOptions", {"idxOutType": 2}),
    )
    (said,) = reasons(file.content(), tmp_path)
    assert said.endswith(": a constant of 2,147,483,647 elements, more than 67,108,864")
