"""Variables and custom operators in the subgraphs of IF and WHILE: sequences of frames, every bit as those of
an interpreter, which runs one branch alone.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_cases import Draw
from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_recurrent import lstm, svdf
from conformance.tflite_signal import LIBRARIES
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.registry import PlugIns
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.run.references.reference import Reference
from target_arch.run.references.tflite_micro import tflite_micro
from target_arch.soc.files.soc_file import read_soc
from tests.relax.readers.tflite_operators.refusals import reasons

IF = ("IfOptions", {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2})
WHILE = ("WhileOptions", {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})
ADD, LESS = ("AddOptions", {}), ("LessOptions", {})
SVDF = ("SVDFOptions", {"rank": 1, "fusedActivationFunction": 1})
SUM = ("VarHandleOptions", {"sharedName": "sum", "container": ""})
SIZE = 4
RECURRENT = {
    "SVDF": svdf,
    "SVDF, int8 state": partial(svdf, state="int8"),
    "LSTM": lstm,
    "LSTM without input gate": partial(lstm, coupled=True),
}


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


def drawn_inside(file: TfliteFile, operator: str, dtype: str, seed: int) -> tuple[Any, Any]:
    """A random operator with variable tensors as a subgraph, and its input and output."""
    graph = file.subgraph()
    RECURRENT[operator](Draw(file=graph, rng=np.random.default_rng(seed), dtype=dtype))
    return graph._graph.tensors[graph._graph.inputs[0]], graph._graph.tensors[graph._graph.outputs[0]]


def alike(graph: TfliteFile, tensor: Any, listed: str = "") -> int:
    """A tensor of the same form, listed among the inputs or the outputs of a graph."""
    made = graph.tensor(tuple(tensor.shape), "int8")
    graph._graph.tensors[made].type = tensor.type
    graph._graph.tensors[made].quantization = tensor.quantization
    if listed:
        getattr(graph._graph, listed).append(made)
    return made


def remembering(operator: str, dtype: str, seed: int) -> TfliteFile:
    """An operator with variable tensors, where the condition holds."""
    file = TfliteFile()
    condition = file.input((), "bool")
    x, y = drawn_inside(file, operator, dtype, seed)
    file.operator("IF", [condition, alike(file, x, "inputs")], [alike(file, y, "outputs")], IF)
    other = file.subgraph()
    alike(other, x, "inputs")
    value = alike(other, y)
    data = np.random.default_rng(seed).integers(-128, 128, y.shape).astype(dtype)
    other._model.buffers[other._graph.tensors[value].buffer].data = data.ravel().view(np.uint8)
    shape = ("ReshapeOptions", {})
    other.operator("RESHAPE", [value, other.numbers(*y.shape)], [alike(other, y, "outputs")], shape)
    return file


def remembering_trips(operator: str, dtype: str, seed: int, *, counted: bool) -> TfliteFile:
    """An operator with variable tensors in each trip: of three, or of as many as an input is less than."""
    file = TfliteFile()
    first = file.tensor((), "int32", data=np.array(0)) if counted else file.input((), "int32")
    condition, body = file.subgraph(), TfliteFile(model=file._model, codes=file._codes)
    RECURRENT[operator](Draw(file=body, rng=np.random.default_rng(seed), dtype=dtype))
    (x,), (y,) = (
        [body._graph.tensors[index] for index in listed]
        for listed in (body._graph.inputs, body._graph.outputs)
    )
    held = alike(file, y, "inputs")
    given = [first, alike(file, x, "inputs"), held]
    results = [file.tensor((), "int32"), alike(file, x), alike(file, y, "outputs")]
    file.operator("WHILE", given, results, WHILE)
    i = condition.input((), "int32")
    alike(condition, x, "inputs")
    alike(condition, y, "inputs")
    last = condition.tensor((), "int32", data=np.array(3))
    condition.operator("LESS", [i, last], [condition.output((), "bool")], LESS)
    i, more, one = body.tensor((), "int32"), body.tensor((), "int32"), body.numbers(1)
    one = body.tensor((), "int32", data=np.array(1))
    body.operator("ADD", [i, one], [more], ADD)
    body._graph.inputs = [i, *body._graph.inputs, alike(body, y)]
    body._graph.outputs = [more, body._graph.inputs[1], *body._graph.outputs]
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
    """Twenty frames, ours and the interpreter's, equal but for the last digits of floats; how many states
    there are.
    """
    path = folder / "m.tflite"
    path.write_bytes(file.content())
    reference, rng = read(path), np.random.default_rng(7)
    frames = [drawn(rng, reference) for _ in range(20)]
    theirs = [reference.answer(frame)[0] for frame in frames]
    request = CompileRequest(model_path=path, soc=read_soc("zynq_edge"), plug_ins=PlugIns.discover(LIBRARIES))
    made = compile_model(request)
    write_bundle(made.bundle, folder / "bundle")
    bytes_of = tuple(b"".join(value.tobytes() for value in frame) for frame in frames)
    for ours, answer in zip(run_frames(build(folder / "bundle"), bytes_of), theirs, strict=True):
        ends = np.cumsum([0, *(value.nbytes for value in answer)])
        for value, first, end in zip(answer, ends, ends[1:], strict=False):
            found = np.frombuffer(ours[first:end], value.dtype)
            np.testing.assert_allclose(found, value.ravel(), rtol=0, atol=reference.allowed / 10)
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
    assert check(delayed(), lambda path: tflite_micro(path, path.read_bytes()), tmp_path) == 1


KEPT = (
    ("SVDF", "int8"),
    ("SVDF, int8 state", "int8"),
    ("SVDF", "float32"),
    ("LSTM", "float32"),
    ("LSTM", "int8"),
    ("LSTM", "int16"),
)


@pytest.mark.long
@pytest.mark.parametrize(("operator", "dtype"), KEPT)
def test_variable_tensors_of_branches(
    operator: str, dtype: str, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """TFLite Micro keeps their values; LiteRT, which resets them in each run, is no reference."""
    needs_tool("gcc")
    pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install tflite-micro")
    for seed in range(3):
        assert check(remembering(operator, dtype, seed), litert, tmp_path)
        for counted in (True, False):
            assert check(remembering_trips(operator, dtype, seed, counted=counted), litert, tmp_path)


def test_variable_tensors_of_branches_without_a_reference_are_refused(tmp_path: Path) -> None:
    assert reasons(remembering("LSTM without input gate", "int8", 0).content(), tmp_path)[0] == (
        "`UNIDIRECTIONAL_SEQUENCE_LSTM` once, at `t13`: in a subgraph LiteRT resets its states, and TFLite "
        "Micro computes it otherwise"
    )
