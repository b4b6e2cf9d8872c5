"""Variables and custom operators in the subgraphs of IF and WHILE: sequences of frames, every bit as those of
an interpreter, which runs one branch alone.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from benchmarks.tflite_files import Array, TfliteFile
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.importer import import_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.run.references.reference import Reference
from target_arch.run.references.tflite_micro import tflite_micro
from target_arch.soc.files.soc_file import read_soc

IF = ("IfOptions", {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2})
WHILE = ("WhileOptions", {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})
ADD, LESS = ("AddOptions", {}), ("LessOptions", {})
SVDF = ("SVDFOptions", {"rank": 1, "fusedActivationFunction": 1})
SUM = ("VarHandleOptions", {"sharedName": "sum", "container": ""})
SIZE = 4


def assigned(graph: TfliteFile, handle: int, x: int) -> int:
    """The variable, after x was added to it."""
    before, after = graph.tensor((SIZE,), "float32"), graph.tensor((SIZE,), "float32")
    graph.operator("READ_VARIABLE", [handle], [before])
    graph.operator("ADD", [before, x], [after], ADD)
    graph.operator("ASSIGN_VARIABLE", [handle, after], [])
    return after


def given(file: TfliteFile) -> int:
    """A variable with an initial value, by CALL_ONCE."""
    handle = file.tensor((), "resource")
    once = ("CallOnceOptions", {"initSubgraphIndex": len(file.subgraphs) + 1})
    file.operator("CALL_ONCE", [], [], once)
    file.operator("VAR_HANDLE", [], [handle], SUM)
    graph = file.subgraph()
    own, first = graph.tensor((), "resource"), graph.tensor((SIZE,), "float32", data=np.arange(SIZE))
    graph.operator("VAR_HANDLE", [], [own], SUM)
    graph.operator("ASSIGN_VARIABLE", [own, first], [])
    return handle


def counting() -> TfliteFile:
    """Where the condition holds, a variable adds up the input; the other branch reads it, and the model does
    after both.
    """
    file = TfliteFile()
    condition, x = file.input((), "bool"), file.input((SIZE,), "float32")
    branches = file.subgraph(), file.subgraph()
    handle, y = given(file), file.output((SIZE,), "float32")
    file.operator("IF", [condition, handle, x], [y], IF)
    file.operator("READ_VARIABLE", [handle], [file.output((SIZE,), "float32")])
    for number, inner in enumerate(branches):
        own, value = inner.input((), "resource"), inner.input((SIZE,), "float32")
        if number == 0:
            again = inner.tensor((), "resource")
            inner.operator("VAR_HANDLE", [], [again], SUM)
            value = assigned(inner, again, assigned(inner, own, value))
            inner.operator("NEG", [value], [inner.output((SIZE,), "float32")], ("NegOptions", {}))
        else:
            inner.operator("READ_VARIABLE", [own], [inner.output((SIZE,), "float32")])
    return file


def repeated(*, counted: bool = True) -> TfliteFile:
    """Trips that each add the input to a variable: three, or as many as an input is less than three."""
    file = TfliteFile()
    x = file.input((SIZE,), "float32")
    first = file.tensor((), "int32", data=np.array(0)) if counted else file.input((), "int32")
    condition, body = file.subgraph(), file.subgraph()
    handle = given(file)
    after, kept = file.tensor((), "int32"), file.tensor((), "resource")
    file.operator("WHILE", [first, handle, x], [after, kept, file.tensor((SIZE,), "float32")], WHILE)
    file.operator("READ_VARIABLE", [kept], [file.output((SIZE,), "float32")])
    for inner in (condition, body):
        i, own, x = inner.input((), "int32"), inner.input((), "resource"), inner.input((SIZE,), "float32")
        if inner is condition:
            last = inner.tensor((), "int32", data=np.array(3))
            inner.operator("LESS", [i, last], [inner.output((), "bool")], LESS)
        else:
            one, more = inner.tensor((), "int32", data=np.array(1)), inner.output((), "int32")
            inner.operator("ADD", [i, one], [more], ADD)
            inner._graph.outputs.append(own)
            inner._graph.outputs.append(x)
            assigned(inner, own, x)
    return file


def remembering() -> TfliteFile:
    """An SVDF with a state, where the condition holds."""
    rng = np.random.default_rng(4)
    file = TfliteFile()
    condition, x = file.input((), "bool"), file.input((1, 3), "int8", 0.1, 3)
    file.operator("IF", [condition, x], [file.output((1, 2), "int8", 0.2, -4)], IF)
    inner, other = file.subgraph(), file.subgraph()
    x, y = inner.input((1, 3), "int8", 0.1, 3), inner.output((1, 2), "int8", 0.2, -4)
    feature = inner.tensor((2, 3), "int8", 0.02, data=rng.integers(-127, 128, (2, 3)))
    time = inner.tensor((2, 5), "int16", 0.001, data=rng.integers(-900, 900, (2, 5)))
    bias = inner.tensor((2,), "int32", 1e-5, data=rng.integers(-50000, 50000, 2))
    state = inner.variable((1, 10), "int16", 0.01)
    inner.operator("SVDF", [x, feature, time, bias, state], [y], SVDF, 3)
    x, y = other.input((1, 3), "int8", 0.1, 3), other.output((1, 2), "int8", 0.2, -4)
    value = other.tensor((1, 2), "int8", 0.2, -4, data=rng.integers(-128, 128, (1, 2)))
    other.operator("ADD", [value, value], [y], ADD, 2)
    return file


def delayed() -> TfliteFile:
    """TFLite Micro's delay, with a state of its own, where the condition holds."""
    file = TfliteFile()
    condition, x = file.input((), "bool"), file.input((1, 3), "int16")
    file.operator("IF", [condition, x], [file.output((1, 3), "int16")], IF)
    inner, other = file.subgraph(), file.subgraph()
    inner.operator(
        "SignalDelay",
        [inner.input((1, 3), "int16")],
        [inner.output((1, 3), "int16")],
        custom={"delay_length": 5},
    )
    window = other.numbers(1, 2), other.tensor((3,), "int16", data=np.array([300, -200, 100]))
    x, y = other.input((1, 3), "int16"), other.output((1, 3), "int16")
    other.operator("SignalWindow", [x, window[1]], [y], custom={"shift": 4})
    return file


def drawn(rng: np.random.Generator, reference: Reference) -> tuple[Array, ...]:
    """Values of the inputs; conditions are true in one of two frames."""

    def one(shape: tuple[int, ...], dtype: np.dtype) -> Array:
        if dtype == np.bool_:
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind == "f":
            return rng.uniform(-2, 2, shape).astype(dtype)
        return rng.integers(-100 if shape else -4, 100 if shape else 5, shape).astype(dtype)

    return tuple(one(each.shape, each.dtype) for each in reference.inputs)


def check(file: TfliteFile, read: Callable[[Path], Reference], folder: Path) -> int:
    """Twenty frames, ours and the interpreter's; how many states there are."""
    path = folder / "m.tflite"
    path.write_bytes(file.content())
    reference, rng = read(path), np.random.default_rng(7)
    frames = [drawn(rng, reference) for _ in range(20)]
    theirs = [b"".join(value.tobytes() for value in reference.answer(frame)[0]) for frame in frames]
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, folder / "bundle")
    bytes_of = tuple(b"".join(value.tobytes() for value in frame) for frame in frames)
    assert list(run_frames(build(folder / "bundle"), bytes_of)) == theirs
    return len(made.model.states)


@pytest.mark.parametrize("made", [counting, repeated, lambda: repeated(counted=False)])
def test_variables_of_subgraphs(
    made: Callable[[], TfliteFile], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    needs_tool("gcc")
    assert check(made(), litert, tmp_path) == 1


@pytest.mark.long
def test_custom_operators_of_branches(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """By hand, since no extra has TFLite Micro's interpreter."""
    needs_tool("gcc")
    pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install tflite-micro")
    assert check(delayed(), tflite_micro, tmp_path) == 1


def test_variable_tensors_of_branches_are_refused(tmp_path: Path) -> None:
    """TFLite Micro keeps their values, LiteRT does not."""
    path = tmp_path / "m.tflite"
    path.write_bytes(remembering().content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert caught.value.diagnostics[0].notes[0].message == (
        "`SVDF` once, at `t1`: a variable tensor of a subgraph, which LiteRT resets in each run"
    )
