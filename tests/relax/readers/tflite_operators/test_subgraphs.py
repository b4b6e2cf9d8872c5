"""IF and WHILE: every bit as LiteRT's, or a refusal that says why."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import Array, TfliteFile
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.readers.tflite_operators.walk import subgraphs
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.soc.files.soc_file import read_soc
from tests.relax.readers.tflite_operators.refusals import reasons

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


def newton(shape: tuple[int, ...] = (3,)) -> TfliteFile:
    """Square roots by Newton's iteration: until no element changes by much, in 20 trips at most."""
    file = TfliteFile()
    a, zero = file.input(shape, "float32"), file.tensor((), "int32", data=np.array(0))
    outputs = [file.output(shape, "float32"), file.tensor(shape, "float32"), file.output((), "int32")]
    first = file.tensor(shape, "float32", data=np.ones(shape))
    file.operator("WHILE", [first, a, zero], outputs, WHILE)
    inner = file.subgraph()
    x, a, i = inner.input(shape, "float32"), inner.input(shape, "float32"), inner.input((), "int32")
    square, rest, size = (inner.tensor(shape, "float32") for _ in range(3))
    largest, least = inner.tensor((), "float32"), inner.tensor((), "float32", data=np.array(1e-3))
    inner.operator("MUL", [x, x], [square], MUL)
    inner.operator("SUB", [square, a], [rest], ("SubOptions", {}))
    inner.operator("ABS", [rest], [size], ("AbsOptions", {}))
    inner.operator("REDUCE_MAX", [size, inner.numbers(0)], [largest], ("ReducerOptions", {}))
    far, few = inner.tensor((), "bool"), inner.tensor((), "bool")
    inner.operator("GREATER", [largest, least], [far], ("GreaterOptions", {}))
    inner.operator("LESS", [i, inner.tensor((), "int32", data=np.array(20))], [few], LESS)
    inner.operator("LOGICAL_AND", [far, few], [inner.output((), "bool")], ("LogicalAndOptions", {}))
    inner = file.subgraph()
    x, a, i = inner.input(shape, "float32"), inner.input(shape, "float32"), inner.input((), "int32")
    quotient, total = inner.tensor(shape, "float32"), inner.tensor(shape, "float32")
    inner.operator("DIV", [a, x], [quotient], ("DivOptions", {}))
    inner.operator("ADD", [x, quotient], [total], ADD)
    half = inner.tensor((), "float32", data=np.array(0.5))
    inner.operator("MUL", [total, half], [inner.output(shape, "float32")], MUL)
    inner._graph.outputs.append(a)
    one = inner.tensor((), "int32", data=np.array(1))
    inner.operator("ADD", [i, one], [inner.output((), "int32")], ADD)
    return file


def searching() -> TfliteFile:
    """The number of int8 layers that a vector passes until its largest value exceeds one that is computed: a
    dense layer with a rectifier in each trip, and a branch on the trip's number.
    """
    rng = np.random.default_rng(5)
    file = TfliteFile()
    x, last = file.input((1, 6), *GRID), file.input((), "int32")
    zero = file.tensor((), "int32", data=np.array(0))
    outputs = [file.output((1, 6), *GRID), file.output((), "int32"), file.tensor((), "int32")]
    file.operator("WHILE", [x, zero, last], outputs, WHILE)
    condition, body, even, odd = (file.subgraph() for _ in range(4))
    x, i, n = condition.input((1, 6), *GRID), condition.input((), "int32"), condition.input((), "int32")
    largest, few, low = (
        condition.tensor((), *GRID),
        condition.tensor((), "bool"),
        condition.tensor((), "bool"),
    )
    condition.operator("REDUCE_MAX", [x, condition.numbers(0, 1)], [largest], ("ReducerOptions", {}), 2)
    most = condition.tensor((), *GRID, data=np.array(100))
    condition.operator("LESS", [largest, most], [low], LESS, 2)
    condition.operator("LESS", [i, n], [few], LESS)
    condition.operator("LOGICAL_AND", [low, few], [condition.output((), "bool")], ("LogicalAndOptions", {}))
    x, i, n = body.input((1, 6), *GRID), body.input((), "int32"), body.input((), "int32")
    weight = body.tensor((6, 6), "int8", 0.021, data=rng.integers(-127, 128, (6, 6)))
    bias = body.tensor((6,), "int32", 0.0021, data=rng.integers(-900, 900, 6))
    dense, early = body.tensor((1, 6), *GRID), body.tensor((), "bool")
    options = ("FullyConnectedOptions", {"fusedActivationFunction": 1})
    body.operator("FULLY_CONNECTED", [x, weight, bias], [dense], options, 4)
    body.operator("LESS", [i, body.tensor((), "int32", data=np.array(2))], [early], LESS)
    chosen = ("IfOptions", {"thenSubgraphIndex": 3, "elseSubgraphIndex": 4})
    body.operator("IF", [early, dense], [body.output((1, 6), *GRID)], chosen)
    one = body.tensor((), "int32", data=np.array(1))
    body.operator("ADD", [i, one], [body.output((), "int32")], ADD)
    body._graph.outputs.append(n)
    for inner, value in ((even, 5), (odd, 12)):
        x, more = inner.input((1, 6), *GRID), inner.tensor((1, 6), *GRID, data=np.full((1, 6), value))
        inner.operator("ADD", [x, more], [inner.output((1, 6), *GRID)], ADD, 2)
    return file


def guarded() -> TfliteFile:
    """A loop in a branch, which would never end where the branch is not taken."""
    file = TfliteFile()
    condition, x, step = file.input((), "bool"), file.input((3,), "int32"), file.input((), "int32")
    file.operator("IF", [condition, x, step], [file.output((3,), "int32")], IF)
    then, other = file.subgraph(), file.subgraph()
    x, step = then.input((3,), "int32"), then.input((), "int32")
    zero, outputs = then.tensor((), "int32", data=np.array(0)), [then.tensor((), "int32")]
    outputs += [then.output((3,), "int32"), then.tensor((), "int32")]
    then.operator(
        "WHILE", [zero, x, step], outputs, ("WhileOptions", {"condSubgraphIndex": 3, "bodySubgraphIndex": 4})
    )
    x, step = other.input((3,), "int32"), other.input((), "int32")
    other.operator("SUB", [x, step], [other.output((3,), "int32")], ("SubOptions", {}))
    inner = file.subgraph()
    i, _, _ = inner.input((), "int32"), inner.input((3,), "int32"), inner.input((), "int32")
    six = inner.tensor((), "int32", data=np.array(6))
    inner.operator("NOT_EQUAL", [i, six], [inner.output((), "bool")], ("NotEqualOptions", {}))
    inner = file.subgraph()
    i, x, step = inner.input((), "int32"), inner.input((3,), "int32"), inner.input((), "int32")
    inner.operator("ADD", [i, step], [inner.output((), "int32")], ADD)
    inner.operator("ADD", [x, x], [inner.output((3,), "int32")], ADD)
    inner._graph.outputs.append(step)
    return file


def turning() -> TfliteFile:
    """A loop that turns the columns of a matrix by two in each trip, and joins one of them twice."""
    file = TfliteFile()
    shape = (2, 5, 2)
    given = file.input((), "int32"), file.input(shape, *GRID)
    file.operator("WHILE", list(given), [file.tensor((), "int32"), file.output(shape, *GRID)], WHILE)
    inner = file.subgraph()
    i, _ = inner.input((), "int32"), inner.input(shape, *GRID)
    last = inner.tensor((), "int32", data=np.array(3))
    inner.operator("LESS", [i, last], [inner.output((), "bool")], LESS)
    inner = file.subgraph()
    i, x = inner.input((), "int32"), inner.input(shape, *GRID)
    one, rest = inner.tensor((2, 1, 2), *GRID), inner.tensor((2, 3, 2), *GRID)
    for part, first in ((one, 1), (rest, 2)):
        inner.operator("SLICE", [x, inner.numbers(0, first, 0), inner.numbers(2, 2 * first - 1, 2)], [part])
    inner.operator("ADD", [i, inner.tensor((), "int32", data=np.array(1))], [inner.output((), "int32")], ADD)
    joined = inner.output(shape, *GRID)
    inner.operator("CONCATENATION", [rest, one, one], [joined], ("ConcatenationOptions", {"axis": 1}), 2)
    return file


def run_time_frames(rng: np.random.Generator) -> dict[str, tuple[TfliteFile, list[tuple[Array, ...]]]]:
    """Loops whose trips are known only at run time, and inputs of them."""

    def whole(value: int) -> Array:
        return np.array(value, np.int32)

    def stored(low: int) -> Array:
        return rng.integers(low, 60, (1, 6)).astype(np.int8)

    return {
        "counted by an input": (
            looping(3, counted=False),
            [(rng.uniform(-1, 1, 4).astype("f4"), whole(first)) for first in (-2, 0, 2, 3, 9)],
        ),
        "Newton": (newton(), [(rng.uniform(0.1, top, 3).astype("f4"),) for top in (1.0, 9.0, 1e4)]),
        "int8 layers until one is large": (
            searching(),
            [(stored(low), whole(last)) for low in (-128, -20, 40) for last in (-1, 0, 1, 4, 9)],
        ),
        "joining": (
            turning(),
            [(whole(first), rng.integers(-128, 128, (2, 5, 2)).astype(np.int8)) for first in (-2, 0, 2, 3)],
        ),
        "in a branch": (
            guarded(),
            [
                (np.array(taken), rng.integers(-99, 99, 3).astype("i4"), whole(step))
                for taken, step in ((True, 1), (False, 4), (True, 2), (True, 3), (False, 5))
            ],
        ),
    }


@pytest.mark.parametrize("name", run_time_frames(np.random.default_rng(0)))
def test_a_loop_with_computed_trips(name: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    file, frames = run_time_frames(np.random.default_rng(11))[name]
    ours, theirs = answers(file, frames, tmp_path)
    assert ours == theirs


def swapping() -> TfliteFile:
    """A loop that swaps two values in each trip."""
    file = TfliteFile()
    given = file.input((), "int32"), file.input((3,), "float32"), file.input((3,), "float32")
    outputs = file.tensor((), "int32"), file.output((3,), "float32"), file.output((3,), "float32")
    file.operator("WHILE", list(given), list(outputs), WHILE)
    for _ in range(2):
        inner = file.subgraph()
        i, x, y = inner.input((), "int32"), inner.input((3,), "float32"), inner.input((3,), "float32")
        one = inner.tensor((), "int32", data=np.array(1))
        if inner is file.subgraphs[0]:
            inner.operator("LESS", [i, one], [inner.output((), "bool")], LESS)
        else:
            inner.operator("ADD", [i, one], [inner.output((), "int32")], ADD)
            inner._graph.outputs += [y, x]
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
        "where it may not run there is `GATHER`, which some values do not allow",
    ),
    "WHILE that swaps": (swapping, "its body returns an input in place of a later one"),
    "IF of many branches": (doubling, "subgraphs would become more than 50 operators"),
    "WHILE in itself": (recursive, "a subgraph runs itself"),
    "WHILE without an end": (lambda: looping(2**31 - 1), "subgraphs would become more than 50 operators"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subgraphs, "MOST_OPERATORS", 50)
    made, why = REFUSED[name]
    assert why in reasons(made().content(), tmp_path)[0]
