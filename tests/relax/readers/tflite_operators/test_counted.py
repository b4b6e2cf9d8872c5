"""WHERE and UNIQUE: what LiteRT gives, and how much of it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

import target_arch
from conformance.tflite_files import TfliteFile
from target_arch.plan.manifest.model import BoundedEntry
from tests.relax.readers.tflite_operators.refusals import reasons

SHAPE = (2, 3, 4)


def both() -> TfliteFile:
    """Places in int64 and in int32, and different elements with their numbers."""
    file = TfliteFile()
    mask, numbers = file.input(SHAPE, "int8"), file.input((9,), "int32")
    places, narrow = file.output((1, 3), "int64"), file.output((1, 3), "int32")
    file.operator("WHERE", [mask], [places])
    file.operator("CAST", [places], [narrow])
    different, indices = file.output((1,), "int32"), file.output((9,), "int32")
    file.operator("UNIQUE", [numbers], [different, indices], ("UniqueOptions", {"idxOutType": 2}))
    return file


@pytest.mark.slow
def test_places_and_different_elements_are_those_of_litert(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    path = tmp_path / "m.tflite"
    path.write_bytes(both().content())
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    places, narrow, different, indices, *counts = bundle.manifest.models[0].outputs
    first, second = (BoundedEntry(axis=0, count=each.name) for each in counts)
    assert [each.bounded for each in (places, narrow, different, indices)] == [first, first, second, None]
    assert (places.shape, narrow.shape, different.shape) == ((24, 3), (24, 3), (9,))
    draw, archive = np.random.default_rng(1), tmp_path / "frames.npz"
    mask = draw.integers(0, 2, (20, *SHAPE)).astype(np.int8) * draw.integers(-3, 4, (20, *SHAPE))
    mask[0], mask[1] = 0, 1
    names = [each.name for each in bundle.inputs]
    values = (mask.astype(np.int8), draw.integers(-2, 3, (20, 9)).astype(np.int32))
    np.savez(archive, **dict(zip(names, values, strict=True)))
    (found,) = bundle.verify(path, inputs=archive).values()
    assert found.passed, str(found)


def test_what_reads_a_size_that_depends_on_values_is_refused(tmp_path: Path) -> None:
    file = TfliteFile()
    places = file.tensor((1, 2), "int64")
    file.operator("WHERE", [file.input((4, 5), "bool")], [places])
    file.operator("ABS", [places], [file.output((1, 2), "int64")])
    (reason,) = reasons(file.content(), tmp_path)
    assert "the size of its operand `t0` depends on values" in reason


def test_a_number_has_no_places(tmp_path: Path) -> None:
    file = TfliteFile()
    file.operator("WHERE", [file.input((), "bool")], [file.output((1, 0), "int64")])
    (reason,) = reasons(file.content(), tmp_path)
    assert "its operand has no dimensions" in reason
