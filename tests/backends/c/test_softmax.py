"""The C of an 8-bit softmax in TFLite's fixed point: other types and long rows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conformance.tflite_files import TfliteFile
from conformance.tflite_operators import run_once
from tests.run.exact.test_softmax import GRIDS

litert = pytest.importorskip(
    "ai_edge_litert.interpreter", reason="needs ai-edge-litert: pip install 'target-arch[verify]'"
)
FORMS = (
    ("uint8", "uint8", 41),
    ("int8", "int16", 58),
    ("int8", "int8", 1),
    ("int8", "int8", 700),
    ("uint8", "int16", 9000),
)
"""Types of input and output, and the length of rows; sums of the longest have 64 bits."""


def rows(dtype: str, length: int) -> np.ndarray:
    """Rows whose greatest values are few: LiteRT stops where a sum is 512 or more."""
    middle, rng = np.iinfo(dtype).min + 128, np.random.default_rng(length)
    values = np.clip(rng.normal(middle, 25, (3, length)), middle - 128, middle + 120).astype(dtype)
    values[:, 0] = middle + 127
    return values


@pytest.mark.slow
def test_every_form_is_bit_equal(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    file, frame = TfliteFile(), [rows(x, length) for x, _, length in FORMS]
    for values, (x, out, _) in zip(frame, FORMS, strict=True):
        source = file.input(values.shape, x, 0.2, 3)
        y = file.output(values.shape, out, *GRIDS[out])
        file.operator("SOFTMAX", [source], [y], ("SoftmaxOptions", {"beta": 1.0}), 2)
    kernel = litert.Interpreter(
        model_content=file.content(),
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
    )
    kernel.allocate_tensors()
    for given, values in zip(kernel.get_input_details(), frame, strict=True):
        kernel.set_tensor(given["index"], values)
    kernel.invoke()
    answers = [kernel.get_tensor(each["index"]).tobytes() for each in kernel.get_output_details()]
    found = run_once(file.content(), [b"".join(values.tobytes() for values in frame)], tmp_path)
    assert found == (b"".join(answers),)


@pytest.mark.slow
def test_shares_of_a_row_in_which_litert_stops_are_zero(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    file = TfliteFile()
    x, y = file.input((1, 600), "int8", 0.2, 3), file.output((1, 600), "int8", *GRIDS["int8"])
    file.operator("SOFTMAX", [x], [y], ("SoftmaxOptions", {"beta": 1.0}), 2)
    assert run_once(file.content(), [bytes(600)], tmp_path) == (b"\x80" * 600,)
