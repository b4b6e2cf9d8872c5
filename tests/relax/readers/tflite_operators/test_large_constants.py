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
