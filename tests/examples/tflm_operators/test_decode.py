"""TFLM_DECODE: every bit as TFLite Micro's answers, of which digests are kept here."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_decode import CASES, head
from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_signal import digest, drawn, library, ours
from target_arch.run.references.tflite_facts import needs_tflite_micro
from tests.relax.readers.tflite_operators.refusals import reasons
from tests.slow import slow_except

DIGESTS = {
    "huffman": "1b4fd1eef62f7944",
    "looked_up": "3506216d03c72bb0",
    "pruned": "e5563801708acc4f",
}
"""Of tflite-micro 0.dev20261023182759, by `python -m conformance.tflite_decode --digests`."""


@pytest.mark.parametrize("code", slow_except(["huffman"], CASES))
def test_answers_are_bit_equal(code: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    model, frames = drawn(code, 0, CASES)
    assert needs_tflite_micro(model.file.content())
    assert digest(ours(model, frames, tmp_path)) == DIGESTS[code]


def refusal(folder: Path, encoded: Array, ancillary: bytes, dtype: str = "int8", zero_point: int = 0) -> str:
    """Of a constant of 8 elements."""
    file = TfliteFile()
    content = np.frombuffer(ancillary, np.uint8)
    given = [file.tensor(each.shape, "uint8", data=each) for each in (encoded, content)]
    x, constant = file.input((8,), dtype, 0.5, zero_point), file.tensor((8,), dtype, 0.5, zero_point)
    file.operator("TFLM_DECODE", given, [constant], custom=b"")
    y = file.output((16,), dtype, 0.5, zero_point)
    file.operator("CONCATENATION", [x, constant], [y], ("ConcatenationOptions", {"axis": 0}), 2)
    return reasons(file.content(), folder, library())[0]


ONES = np.full(4, 255, np.uint8)


@pytest.mark.parametrize(
    ("encoded", "ancillary", "said"),
    [
        (ONES, head(2)[:12], "its head is of another version"),
        (ONES, head(3), "its kind of compression is 3"),
        (ONES, head(0, 2, 4) + bytes(8), "its tables are not those of 1 channels"),
        (ONES, head(0, 2, 3) + bytes(3), "an index is beyond its table"),
        (ONES, head(0, 5, 32) + bytes(32), "32 bits where 40 are needed"),
        (ONES, head(2) + bytes(7), "7 values where 8 are stored"),
        (ONES, head(1) + bytes(2), "a code is beyond its tables"),
        (
            ONES[:1],
            head(1, 1 << 4) + np.array([0x9001] * 4, np.uint16).tobytes(),
            "its codes go on behind its end",
        ),
    ],
)
def test_what_does_not_say_a_constant_is_refused(
    encoded: Array, ancillary: bytes, said: str, tmp_path: Path
) -> None:
    assert said in refusal(tmp_path, encoded, ancillary)


def test_zero_points_are_those_of_8_bits(tmp_path: Path) -> None:
    found = refusal(tmp_path, ONES, head(2) + bytes(16), "int16", 3)
    assert "a zero point that is not 0" in found
