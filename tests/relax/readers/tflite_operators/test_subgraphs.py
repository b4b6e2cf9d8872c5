"""IF and WHILE: every bit as LiteRT's, or a refusal that says why."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from benchmarks.tflite_files import Array, TfliteFile
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.importer import import_model
from target_arch.relax.readers.tflite_operators.walk import subgraphs
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.soc.files.soc_file import read_soc

GRID = ("int8", 0.1, 3)
IF = ("IfOptions", {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2})
WHILE = ("WhileOptions", {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})
ADD, MUL, LESS = (("AddOptions", {}), ("MulOptions", {}), ("LessOptions", {}))


def branching(shape: tuple[int, ...] = (2, 3)) -> TfliteFile:
    """An int8 tensor and a weight plus a constant, or its relu; the condition is the first input."""
    file, values = TfliteFile(), np.arange(6).reshape(2, 3) * 20 - 50
    condition, x = file.input((), "bool"), file.input(shape, *GRID)
    weight, y = file.tensor((2, 3), *GRID, data=values), file.output(shape, *GRID)
    file.operator("IF", [condition, x, weight], [y], IF)
    for code, options in (("ADD", ADD), ("RELU", None)):
        inner = file.subgraph()
        a, b = inner.input(shape, *GRID), inner.input((2, 3), *GRID)
        inner.operator(code, [a, b] if options else [a], [inner.output(shape, *GRID)], options, 2)
    return file


def answers(
    file: TfliteFile, frames: list[tuple[Array, ...]], folder: Path
) -> tuple[list[bytes], list[bytes]]:
    """Ours and LiteRT's."""
    path = folder / "m.tflite"
    path.write_bytes(file.content())
    reference = litert(path)
    theirs = [b"".join(value.tobytes() for value in reference.answer(frame)[0]) for frame in frames]
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, folder / "bundle")
    given = tuple(b"".join(value.tobytes() for value in frame) for frame in frames)
    return list(run_frames(build(folder / "bundle"), given)), theirs


def test_a_computed_condition_selects(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    rng = np.random.default_rng(3)
    frames = [
        (np.array(taken, bool), rng.integers(-128, 128, (2, 3)).astype(np.int8))
        for taken in (True, False, True, False)
    ]
    ours, theirs = answers(branching(), frames, tmp_path)
    assert ours == theirs


def looping(trips: int, *, counted: bool = True) -> TfliteFile:
    """x = x * x + x, so many times; the number is an input where it is not counted."""
    file = TfliteFile()
    x = file.input((4,), "float32")
    first = file.tensor((), "int32", data=np.array(0)) if counted else file.input((), "int32")
    count, y = file.tensor((), "int32"), file.output((4,), "float32")
    file.operator("WHILE", [first, x], [count, y], WHILE)
    inner = file.subgraph()
    i, _ = inner.input((), "int32"), inner.input((4,), "float32")
    last = inner.tensor((), "int32", data=np.array(trips))
    inner.operator("LESS", [i, last], [inner.output((), "bool")], LESS)
    inner = file.subgraph()
    i, x = inner.input((), "int32"), inner.input((4,), "float32")
    one, square = inner.tensor((), "int32", data=np.array(1)), inner.tensor((4,), "float32")
    inner.operator("ADD", [i, one], [inner.output((), "int32")], ADD)
    inner.operator("MUL", [x, x], [square], MUL)
    inner.operator("ADD", [square, x], [inner.output((4,), "float32")], ADD)
    return file


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_a_loop_with_known_trips_becomes_its_iterations(
    trips: int, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    rng = np.random.default_rng(trips)
    ours, theirs = answers(looping(trips), [(rng.uniform(-1, 1, 4).astype("f4"),)], tmp_path)
    assert ours == theirs


def partial() -> TfliteFile:
    """A branch that reads at places that are computed."""
    file = TfliteFile()
    given = file.input((), "bool"), file.input((5,), "float32"), file.input((2,), "int32")
    file.operator("IF", list(given), [file.output((2,), "float32")], IF)
    for _ in range(2):
        inner = file.subgraph()
        x, places = inner.input((5,), "float32"), inner.input((2,), "int32")
        inner.operator("GATHER", [x, places], [inner.output((2,), "float32")], ("GatherOptions", {}), 1)
    return file


def recursive() -> TfliteFile:
    """A loop whose body runs the loop."""
    file = looping(2)
    body = file.subgraphs[1]
    body.operator("WHILE", [0, 1], [body.tensor((), "int32"), body.tensor((4,), "float32")], WHILE)
    return file


def doubling() -> TfliteFile:
    """Branches that run the next subgraph twice each."""
    file = TfliteFile()
    condition, x = file.input((), "bool"), file.input((3,), "float32")
    graphs = [file, *(file.subgraph() for _ in range(6))]
    for number, graph in enumerate(graphs):
        given = [condition, x] if number == 0 else [graph.input((), "bool"), graph.input((3,), "float32")]
        options = {"thenSubgraphIndex": number + 1, "elseSubgraphIndex": number + 1}
        if number == len(graphs) - 1:
            graph.operator("RELU", given[1:], [graph.output((3,), "float32")], None)
        else:
            # A branch gets the condition, too.
            inputs = [given[0], *given]
            graph.operator("IF", inputs, [graph.output((3,), "float32")], ("IfOptions", options))
    return file


REFUSED: dict[str, tuple[Callable[[], TfliteFile], str]] = {
    "IF of a branch that may fail": (
        partial,
        "a branch has `GATHER`, which some values of its operands do not allow",
    ),
    "WHILE of an input": (
        lambda: looping(2, counted=False),
        "how often its subgraph runs is known only at run time",
    ),
    "IF of many branches": (doubling, "subgraphs would become more than 50 operators"),
    "WHILE in itself": (recursive, "a subgraph runs itself"),
    "WHILE without an end": (lambda: looping(2**31 - 1), "subgraphs would become more than 50 operators"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subgraphs, "MOST_OPERATORS", 50)
    made, why = REFUSED[name]
    path = tmp_path / "m.tflite"
    path.write_bytes(made().content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert why in caught.value.diagnostics[0].notes[0].message
