"""Variables of TFLite models: sequences of frames against LiteRT, which keeps its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.run import Verification, verify, write_bundle
from target_arch.soc import read_soc

SIZE = 8


def accumulator(path: Path) -> Path:
    """A resource variable that starts with constants: every run adds the input to it."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    flatbuffers = pytest.importorskip("flatbuffers")
    start = np.arange(SIZE, dtype=np.float32)
    codes = schema.BuiltinOperator

    def tensor(kind: int, shape: tuple[int, ...], buffer: int = 0) -> Any:
        made = schema.TensorT()
        made.type, made.shape, made.buffer = kind, list(shape), buffer
        return made

    def operator(index: int, inputs: list[int], outputs: list[int], **options: Any) -> Any:
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = index, inputs, outputs
        for name, values in options.items():
            made.builtinOptionsType = getattr(schema.BuiltinOptions, name)
            made.builtinOptions = getattr(schema, f"{name}T")()
            for key, value in values.items():
                setattr(made.builtinOptions, key, value)
        return made

    def graph(tensors: list[Any], operators: list[Any], inputs: list[int], outputs: list[int]) -> Any:
        made = schema.SubGraphT()
        made.tensors, made.operators, made.inputs, made.outputs = tensors, operators, inputs, outputs
        return made

    handle: dict[str, Any] = {"VarHandleOptions": {"sharedName": b"sum", "container": b""}}
    kinds, real = schema.TensorType, (1, SIZE)
    model = schema.ModelT()
    model.version = 3
    model.operatorCodes = []
    for code in (codes.VAR_HANDLE, codes.READ_VARIABLE, codes.ASSIGN_VARIABLE, codes.CALL_ONCE, codes.ADD):
        entry = schema.OperatorCodeT()
        entry.builtinCode, entry.deprecatedBuiltinCode, entry.version = code, min(code, 127), 1
        model.operatorCodes.append(entry)
    model.buffers = [schema.BufferT(), schema.BufferT()]
    model.buffers[1].data = start.view(np.uint8)
    model.subgraphs = [
        graph(
            [
                tensor(kinds.RESOURCE, ()),
                *(tensor(kinds.FLOAT32, real) for _ in range(3)),
            ],
            [
                operator(3, [], [], CallOnceOptions={"initSubgraphIndex": 1}),
                operator(0, [], [0], **handle),
                operator(1, [0], [2]),
                operator(4, [2, 1], [3], AddOptions={}),
                operator(2, [0, 3], []),
            ],
            [1],
            [3],
        ),
        graph(
            [tensor(kinds.RESOURCE, ()), tensor(kinds.FLOAT32, real, 1)],
            [operator(0, [], [0], **handle), operator(2, [0, 1], [])],
            [],
            [],
        ),
    ]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


def verified(model: Path, folder: Path) -> tuple[Any, Verification]:
    pytest.importorskip("ai_edge_litert", reason="pip install 'target-arch[verify]'")
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("mcu_m7")))
    write_bundle(made.bundle, folder)
    return made, verify(model, folder, count=12)


def test_a_resource_variable(tmp_path: Path) -> None:
    made, found = verified(accumulator(tmp_path / "sum.tflite"), tmp_path / "out")
    (state,) = made.model.states
    assert np.frombuffer(made.model.tensors[state.initial].data, np.float32).tolist() == list(range(SIZE))
    assert (found.equal, found.passed) == (12, True)


def test_svdf_in_integers(shared: Path, tmp_path: Path) -> None:
    source = shared / "real_models" / "tflm" / "keyword_scrambled.tflite"
    made, found = verified(source, tmp_path / "out")
    assert len(made.model.states) == 7
    assert made.plan.peaks[Arena("sram", state=True)] >= 2 * (4 * 512 + 3 * 1024)
    assert (found.rule, found.equal) == ("every bit equal", 12)


@pytest.mark.parametrize(
    ("name", "dtypes"), [("trained_lstm", ["float32"] * 2), ("trained_lstm_int8", ["int8", "int16"])]
)
def test_an_lstm_that_keeps_its_state(name: str, dtypes: list[str], shared: Path, tmp_path: Path) -> None:
    made, found = verified(shared / "real_models" / "tflm" / f"{name}.tflite", tmp_path / "out")
    states = [made.model.tensors[state.tensor] for state in made.model.states]
    assert [(state.shape, state.dtype) for state in states] == [((1, 20), dtype) for dtype in dtypes]
    assert found.passed
