"""LSTMs of int16, which LiteRT does not have: every bit as TFLite Micro's answers, by digests."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_cases import Draw
from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_recurrent import lstm
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.run.references.tflite_facts import needs_tflite_micro
from target_arch.soc.files.soc_file import read_soc

DIGESTS = {1: "a182b286d589b617", 2: "b33bae6f86a3cc04"}
"""By seed, of tflite-micro 0.dev20261023182759."""


def layer(seed: int) -> tuple[bytes, list[Array]]:
    """A random layer, and eight frames of it."""
    file, rng = TfliteFile(), np.random.default_rng(seed)
    lstm(Draw(file=file, rng=rng, dtype="int16"))
    shape = tuple(file._graph.tensors[file._graph.inputs[0]].shape)
    return file.content(), [rng.integers(-30000, 30000, shape).astype(np.int16) for _ in range(8)]


def digest(answers: list[bytes]) -> str:
    return hashlib.sha256(b"".join(answers)).hexdigest()[:16]


@pytest.mark.parametrize("seed", DIGESTS)
def test_answers_are_bit_equal(seed: int, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    content, frames = layer(seed)
    assert needs_tflite_micro(content)
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, tmp_path / "bundle")
    given = tuple(frame.tobytes() for frame in frames)
    assert digest(list(run_frames(build(tmp_path / "bundle"), given))) == DIGESTS[seed]


@pytest.mark.long
@pytest.mark.parametrize("seed", DIGESTS)
def test_digests_are_those_of_tflite_micro(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro: pip install tflite-micro")
    content, frames = layer(seed)
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    reference = litert(path)
    assert digest([reference.answer((frame,))[0][0].tobytes() for frame in frames]) == DIGESTS[seed]
