"""MediaPipe's transposed convolution with a bias, by its definition and by LiteRT's later operator."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

from conformance.tflite_files import Array, TfliteFile
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run import verify, write_bundle
from target_arch.run.references.litert import litert
from target_arch.soc.files.soc_file import read_soc
from tests.relax.readers.tflite_operators.refusals import reasons
from tests.slow import slow_except

CODE = "Convolution2DTransposeBias"
SAME, VALID = 1, 2
Pair = tuple[int, int]


def options(padding: int, strides: Pair) -> bytes:
    """As MediaPipe's converter writes them: the padding, then columns before rows."""
    return struct.pack("<3i", padding, strides[1], strides[0])


def file(weights: Array, bias: Array, image: Pair, out: Pair, given: bytes) -> bytes:
    made = TfliteFile()
    outputs, _, _, inputs = weights.shape
    x = made.input((1, *image, inputs), "float32")
    constants = [made.tensor(each.shape, "float32", data=each) for each in (weights, bias)]
    made.operator(CODE, [x, *constants], [made.output((1, *out, outputs), "float32")], custom=given)
    return made.content()


def extents(image: Pair, kernel: Pair, padding: int, strides: Pair) -> Pair:
    rows, columns = (
        n * step if padding == SAME else (n - 1) * step + size
        for n, size, step in zip(image, kernel, strides, strict=True)
    )
    return rows, columns


def defined(x: Array, weights: Array, bias: Array, out: Pair, strides: Pair) -> Array:
    """Every element of the image, times the kernel, added where it belongs."""
    _, *image, _ = x.shape
    kernel = weights.shape[1:3]
    whole = [max((n - 1) * s + k, o) for n, s, k, o in zip(image, strides, kernel, out, strict=True)]
    total = np.zeros((*whole, weights.shape[0]))
    for row, column in np.ndindex(*image):
        at = slice(row * strides[0], None), slice(column * strides[1], None)
        total[at][: kernel[0], : kernel[1]] += np.einsum("i,ohwi->hwo", x[0, row, column], weights)
    reach = [(n - 1) * s + k - o for n, s, k, o in zip(image, strides, kernel, out, strict=True)]
    top, left = (max(each, 0) // 2 for each in reach)
    return total[top : top + out[0], left : left + out[1]] + bias


@pytest.mark.parametrize("seed", slow_except([0], range(6)))
def test_it_computes_the_definition(seed: int, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    rng = np.random.default_rng(seed)
    padding, strides = (SAME, VALID)[seed % 2], (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    image, kernel = (int(rng.integers(2, 6)), 5), (int(rng.integers(1, 5)), 3)
    weights = rng.normal(size=(int(rng.integers(1, 4)), *kernel, 3)).astype("f4")
    bias = rng.normal(size=(weights.shape[0],)).astype("f4")
    out, path = extents(image, kernel, padding, strides), tmp_path / "m.tflite"
    path.write_bytes(file(weights, bias, image, out, options(padding, strides)))
    ((frame,),) = litert(path).frames(1, seed)
    (theirs,) = litert(path).answer((frame,))[0]
    np.testing.assert_allclose(theirs[0], defined(frame, weights, bias, out, strides), atol=1e-5)
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, tmp_path / "bundle")
    verification = verify(path, tmp_path / "bundle", count=3)
    assert verification.passed, str(verification)
    assert verification.largest < 1e-5


@pytest.mark.parametrize(
    ("given", "out", "why"),
    [
        (b"", (6, 6), "its options are damaged"),
        (options(0, (2, 2)), (6, 6), "its options are damaged"),
        (options(SAME, (0, 2)), (6, 6), "its options are damaged"),
        (options(SAME, (2, 2)), (6, 7), "an output of (1, 6, 7, 1) where its options make (6, 6)"),
    ],
)
def test_other_forms_are_refused(given: bytes, out: Pair, why: str, tmp_path: Path) -> None:
    weights = np.ones((1, 2, 2, 1), np.float32)
    content = file(weights, np.ones(1, np.float32), (3, 3), out, given)
    assert reasons(content, tmp_path) == [f"`{CODE}` once, at `t3`: {why}"]
