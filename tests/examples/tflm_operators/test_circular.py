"""CIRCULAR_BUFFER of TFLite Micro, which may end runs: later operators count only in those that go on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_operators import run_once
from conformance.tflite_signal import LIBRARIES, library
from target_arch.relax.importer import import_model
from target_arch.run.references.litert import litert
from tests.relax.readers.tflite_operators.refusals import reasons

GRID = ("int8", 0.5, 0)


def circular(cycles: int, slots: int = 4, *, kept: bool = True) -> TfliteFile:
    file = TfliteFile()
    x = file.input((1, 1, 1, 2), "int8", 0.5)
    buffer = file.like(x, (1, slots, 1, 2), variable=kept)
    file.operator("CIRCULAR_BUFFER", [x], [buffer], custom={"cycles_max": cycles} if cycles else b"")
    moved = file.like(x, (slots, 2), output=True)
    file.operator("RESHAPE", [buffer, file.numbers(slots, 2)], [moved], ("ReshapeOptions", {}))
    return file


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (circular(0), "its options do not say how often it is complete"),
        (circular(1, kept=False), "its output is no variable, so that other tensors may take its memory"),
    ],
)
def test_circular_buffers_that_are_refused(file: TfliteFile, said: str, tmp_path: Path) -> None:
    assert said in reasons(file.content(), tmp_path, library())[0]


def test_a_circular_buffer_of_5_inputs_is_complete_in_every_run(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(circular(0, 5).content())
    model, _ = import_model(path, foreign=library())
    assert [state.tensor for state in model.states] == ["t1_held"]


def test_outputs_are_those_of_the_last_run_that_went_on(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """What TFLite Micro answers in the third and the sixth run; zeros before."""
    needs_tool("gcc")
    frames = [np.full(2, number, np.int8).tobytes() for number in range(1, 8)]
    rows = [
        np.frombuffer(answer, np.int8)[::2].tolist()
        for answer in run_once(circular(3).content(), frames, tmp_path, LIBRARIES)
    ]
    assert rows == [[0] * 4, [0] * 4, *[[0, 1, 2, 3]] * 3, *[[3, 4, 5, 6]] * 2]


def stream(seed: int) -> TfliteFile:
    """One or two buffers that end runs, each with an SVDF behind it, and perhaps one before."""
    rng, file = np.random.default_rng(seed), TfliteFile()
    width = int(rng.integers(1, 4))
    here = file.input((1, 1, 1, width), *GRID)
    if rng.integers(2):
        filtered(file, rng, here, width, output=bool(rng.integers(2)))
    for output in (False, True)[int(rng.integers(2)) :]:
        slots, cycles = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        buffer = file.variable((1, slots, 1, width), *GRID)
        file.operator("CIRCULAR_BUFFER", [here], [buffer], custom={"cycles_max": cycles})
        found = filtered(file, rng, buffer, slots * width, output=output)
        here, width = file.tensor((1, 1, 1, 2), *GRID), 2
        file.operator("RESHAPE", [found, file.numbers(1, 1, 1, 2)], [here], ("ReshapeOptions", {}))
    return file


def filtered(file: TfliteFile, rng: np.random.Generator, x: int, width: int, *, output: bool) -> int:
    """An SVDF of two units."""
    row, y = file.tensor((1, width), *GRID), (file.output if output else file.tensor)((1, 2), *GRID)
    file.operator("RESHAPE", [x, file.numbers(1, width)], [row], ("ReshapeOptions", {}))
    weights = file.tensor((2, width), "int8", 0.02, data=rng.integers(-127, 128, (2, width)))
    times = file.tensor((2, 3), "int16", 0.001, data=rng.integers(-9000, 9000, (2, 3)))
    bias = file.tensor((2,), "int32", 1e-5, data=rng.integers(-50000, 50000, 2))
    options = ("SVDFOptions", {"rank": 1, "fusedActivationFunction": 1})
    file.operator("SVDF", [row, weights, times, bias, file.variable((1, 6), "int16", 0.01)], [y], options, 3)
    return y


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_streams_are_those_of_tflite_micro(
    seed: int, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """By hand, since no extra has TFLite Micro's interpreter."""
    needs_tool("gcc")
    pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install tflite-micro")
    content, rng = stream(seed).content(), np.random.default_rng(seed)
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    reference = litert(path)

    def drawn() -> Array:
        return rng.integers(-128, 128, reference.inputs[0].shape).astype(np.int8)

    frames = [drawn() for _ in range(14)]
    theirs = [b"".join(value.tobytes() for value in reference.answer((each,))[0]) for each in frames]
    assert list(run_once(content, [each.tobytes() for each in frames], tmp_path, LIBRARIES)) == theirs


def branched() -> TfliteFile:
    """A buffer that ends runs, in a branch."""
    file = TfliteFile()
    condition, x = file.input((), "bool"), file.input((1, 1, 1, 2), *GRID)
    options = ("IfOptions", {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2})
    file.operator("IF", [condition, x], [file.output((4, 2), *GRID)], options)
    for number in range(2):
        inner = file.subgraph()
        x, y = inner.input((1, 1, 1, 2), *GRID), inner.output((4, 2), *GRID)
        buffer = inner.variable((1, 4, 1, 2), *GRID)
        inner.operator("CIRCULAR_BUFFER", [x], [buffer], custom={"cycles_max": 1 + number})
        inner.operator("RESHAPE", [buffer, inner.numbers(4, 2)], [y], ("ReshapeOptions", {}))
    return file


def divided() -> TfliteFile:
    """A division by what a buffer holds, which a run that ends there does not come to."""
    file = circular(2)
    file._graph.outputs.clear()
    cast, quotient = file.tensor((4, 2), "int32"), file.output((4, 2), "int32")
    file.operator("CAST", [2 + 1], [cast], ("CastOptions", {}))
    file.operator("DIV", [cast, cast], [quotient], ("DivOptions", {}))
    return file


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (branched(), "it ends runs early in a subgraph"),
        (divided(), "where it may not run there is `DIV`, which some values do not allow"),
    ],
)
def test_ends_that_are_refused(file: TfliteFile, said: str, tmp_path: Path) -> None:
    assert any(said in reason for reason in reasons(file.content(), tmp_path, library()))
