"""Which kernels are the reference of a TFLite file, and whether every bit has to agree."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import TfliteFile
from target_arch.run.references.litert import litert
from target_arch.run.references.tflite_facts import is_exact, needs_optimized

SUM = ("ReducerOptions", {"keepDims": False})


def total(dtype: str, *grids: float) -> bytes:
    """The sum of each of two rows."""
    file = TfliteFile()
    x, y = file.input((2, 3), dtype, *grids[:1]), file.output((2,), dtype, *grids[1:])
    file.operator("SUM", [x, file.numbers(1)], [y], SUM, 2)
    return file.content()


def test_sums_of_integers_are_scaled(tmp_path: Path) -> None:
    """Of steps of 0.5 as steps of 1.5; LiteRT's reference kernel adds the stored integers."""
    path = tmp_path / "m.tflite"
    path.write_bytes(total("int8", 0.5, 1.5))
    reference = litert(path)
    ((found,),) = reference.answer((np.array([[60, 60, 60], [9, -3, 0]], np.int8),))
    assert found.tolist() == [60, 2]
    assert reference.rule == "every bit equal"
    assert "optimized" in reference.name


@pytest.mark.parametrize(
    ("content", "optimized", "exact"),
    [
        (total("int8", 0.5, 1.5), True, True),
        (total("int32"), True, True),
        (total("float32"), False, False),
    ],
)
def test_facts_of_files(content: bytes, optimized: bool, exact: bool) -> None:
    assert (needs_optimized(content), is_exact(content)) == (optimized, exact)
