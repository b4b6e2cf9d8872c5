"""NON_MAX_SUPPRESSION_V4 and V5 on random boxes: what LiteRT chooses."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

import target_arch
from conformance.tflite_files import TfliteFile
from target_arch.plan.manifest.model import BoundedEntry
from tests.relax.readers.tflite_operators.refusals import reasons

ANCHORS = 40


def chosen(most: int | None, sigma: float | None = None, limit: float = 0.3) -> TfliteFile:
    """A model of one operator, and what is read with it: boxes of the chosen numbers."""
    file = TfliteFile()
    boxes, scores = file.input((ANCHORS, 4), "float32"), file.input((ANCHORS,), "float32")
    number = file.input((), "int32") if most is None else file.tensor((), "int32", data=np.array(most))
    limits = [file.tensor((), "float32", data=np.array(each)) for each in (limit, 0.1)]
    extent = most or ANCHORS
    indices = file.output((extent,), "int32")
    count: list[int]
    if sigma is None:
        count = [file.output((), "int32")]
        file.operator("NON_MAX_SUPPRESSION_V4", [boxes, scores, number, *limits], [indices, *count])
    else:
        limits.append(file.tensor((), "float32", data=np.array(sigma)))
        likely, *count = file.output((extent,), "float32"), file.output((), "int32")
        file.operator("NON_MAX_SUPPRESSION_V5", [boxes, scores, number, *limits], [indices, likely, *count])
    picked = file.output((extent, 4), "float32")
    file.operator("GATHER", [boxes, indices], [picked], ("GatherOptions", {"axis": 0}))
    return file


@pytest.mark.parametrize(
    ("most", "sigma", "limit"),
    [(10, None, 0.3), (40, None, 0.5), (12, 0.0, 0.2), (40, 0.4, 0.9), (9, 1.5, 1.0)],
)
def test_boxes_are_those_of_litert(
    tmp_path: Path, most: int, sigma: float | None, limit: float, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    path = tmp_path / "m.tflite"
    path.write_bytes(chosen(most, sigma, limit).content())
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    draw = np.random.default_rng(most)
    corners = draw.uniform(0, 1, (30, ANCHORS, 4))
    archive = tmp_path / "frames.npz"
    scores = draw.uniform(0, 1, (30, ANCHORS)) * draw.uniform(0.05, 1, (30, 1))
    first, second = bundle.inputs
    np.savez(archive, **{first.name: corners.astype("f4"), second.name: scores.astype("f4")})
    (found,) = bundle.verify(path, inputs=archive).values()
    assert found.passed, str(found)
    assert found.frames == 30


def test_the_count_is_known_as_one(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(chosen(10, 0.4).content())
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    outputs = bundle.manifest.models[0].outputs
    count = BoundedEntry(axis=0, count=outputs[2].name)
    assert [each.bounded for each in outputs] == [count, count, None, None]


def test_a_computed_number_is_refused(tmp_path: Path) -> None:
    (reason,) = reasons(chosen(None).content(), tmp_path)
    assert "tensor `t2` is computed, only a constant is supported here" in reason
