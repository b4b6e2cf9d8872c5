"""Recurrent layers as Keras writes them: a loop over rows, whose state begins with a constant."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import TfliteFile
from tests.relax.readers.tflite_operators.test_subgraphs import ADD, LESS, MUL, WHILE, answers


def recurrent(rows: int) -> TfliteFile:
    """Two halves of a product with the state are a factor and a term of the next one."""
    file, draw = TfliteFile(), np.random.default_rng(5)
    x, first = file.input((rows, 2), "float32"), file.tensor((), "int32", data=np.array(0))
    state = file.tensor((1, 2), "float32", data=np.full((1, 2), 0.5))
    results = [file.tensor((), "int32"), file.output((1, 2), "float32"), file.tensor((rows, 2), "float32")]
    file.operator("WHILE", [first, state, x], results, WHILE)
    inner = file.subgraph()
    i, _, _ = inner.input((), "int32"), inner.input((1, 2), "float32"), inner.input((rows, 2), "float32")
    inner.operator(
        "LESS", [i, inner.tensor((), "int32", data=np.array(rows))], [inner.output((), "bool")], LESS
    )
    inner = file.subgraph()
    i, state, x = inner.input((), "int32"), inner.input((1, 2), "float32"), inner.input((rows, 2), "float32")
    one, axis = (inner.tensor((), "int32", data=np.array(1)) for _ in range(2))
    weight = inner.tensor((4, 2), "float32", data=draw.uniform(-1, 1, (4, 2)))
    bias = inner.tensor((4,), "float32", data=draw.uniform(-1, 1, 4))
    gates, row, scaled = (inner.tensor(shape, "float32") for shape in ((1, 4), (2,), (1, 2)))
    halves = [inner.tensor((1, 2), "float32") for _ in range(2)]
    inner.operator("ADD", [i, one], [inner.output((), "int32")], ADD)
    inner.operator("FULLY_CONNECTED", [state, weight, bias], [gates], ("FullyConnectedOptions", {}))
    inner.operator("SPLIT", [axis, gates], halves, ("SplitOptions", {"numSplits": 2}))
    inner.operator("GATHER", [x, i], [row], ("GatherOptions", {"axis": 0}))
    inner.operator("MUL", [row, halves[0]], [scaled], MUL)
    inner.operator("ADD", [scaled, halves[1]], [inner.output((1, 2), "float32")], ADD)
    inner._graph.outputs.append(x)
    return file


def test_the_first_trip_computes_from_constants(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    draw = np.random.default_rng(2)
    frames = [(draw.uniform(-1, 1, (3, 2)).astype("f4"),) for _ in range(4)]
    ours, theirs = answers(recurrent(3), frames, tmp_path)
    for mine, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.frombuffer(mine, "f4"), np.frombuffer(their, "f4"), 1e-6)
