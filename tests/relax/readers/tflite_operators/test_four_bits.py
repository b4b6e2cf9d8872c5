"""Weights of 4 bits: every bit as the interpreters', or a refusal."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_cases import CASES, Draw
from conformance.tflite_files import TfliteFile
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.importer import import_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.soc.files.soc_file import read_soc
from tests.relax.readers.tflite_operators.refusals import reasons

VERSION = 7


def packed(code: str, dtype: str, seed: int) -> TfliteFile:
    """A random layer whose weights have 4 bits."""
    file = TfliteFile()
    CASES[code](Draw(file=file, rng=np.random.default_rng(seed), dtype=dtype))
    file.pack(file._graph.operators[-1].inputs[1])
    file._model.operatorCodes[0].version = VERSION
    return file


def check(code: str, dtype: str, folder: Path) -> None:
    """Four layers, each on a frame of all values."""
    for seed in range(4):
        path, rng = folder / "m.tflite", np.random.default_rng(seed)
        path.write_bytes(packed(code, dtype, seed).content())
        reference, least = litert(path), np.iinfo(dtype).min
        frame = tuple(rng.integers(least, -least, each.shape).astype(dtype) for each in reference.inputs)
        made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
        write_bundle(made.bundle, folder / f"bundle{seed}")
        given = (b"".join(value.tobytes() for value in frame),)
        assert list(run_frames(build(folder / f"bundle{seed}"), given)) == [
            reference.answer(frame)[0][0].tobytes()
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        pytest.param("FULLY_CONNECTED", "int8", marks=pytest.mark.long),
        ("FULLY_CONNECTED", "int16"),
        ("CONV_2D", "int8"),
    ],
)
def test_weights_of_4_bits(code: str, dtype: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    check(code, dtype, tmp_path)


@pytest.mark.long
def test_depthwise_weights_of_4_bits(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """By hand, since LiteRT has none, and no extra has TFLite Micro's interpreter."""
    needs_tool("gcc")
    pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install tflite-micro")
    check("DEPTHWISE_CONV_2D", "int8", tmp_path)


def test_others_are_refused(tmp_path: Path) -> None:
    assert reasons(packed("CONV_2D", "int16", 0).content(), tmp_path)[0] == (
        "`CONV_2D` once, at `t3`: constant `t1` of 4 bits, with activations of int16"
    )


def test_a_constant_of_another_size_is_refused(tmp_path: Path) -> None:
    file, path = packed("FULLY_CONNECTED", "int8", 0), tmp_path / "m.tflite"
    weight = file._graph.tensors[file._graph.operators[-1].inputs[1]]
    file._model.buffers[weight.buffer].data = np.zeros(1, np.uint8)
    path.write_bytes(file.content())
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert caught.value.diagnostics[0].rule == "model-damaged"
