"""A million frames in flight on the host port while random faults happen, under ASan and UBSan.

    python -m conformance.soak_frames [--frames N] [--seed N]

A small model on the DSP of `zynq_edge`, whose copies go on beside it. Needs a C compiler with sanitizers.
Prints what `tests/e2e/soak_frames.c` prints at 1,000 frames and ten times on the way: frames, faults, frames
that failed, what was wrong, memory and descriptors. Exit code 1 where something was wrong.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.fuzz_c import SANITIZERS
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run import write_bundle
from target_arch.soc import read_soc

SOURCE = Path(__file__).parents[1] / "tests" / "e2e" / "soak_frames.c"
SIDE = 16


def small_model(path: Path) -> Path:
    """Two products with a Relu between them, written to a file."""
    weights = np.linspace(-1, 1, SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)
    nodes = [
        helper.make_node("MatMul", ["x", "weights"], ["first"]),
        helper.make_node("Relu", ["first"], ["rectified"]),
        helper.make_node("MatMul", ["rectified", "weights"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, SIDE]) for name in ("x", "y")]
    graph = helper.make_graph(
        nodes, "soak", ends[:1], ends[1:], [numpy_helper.from_array(weights, "weights")]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def build(folder: Path) -> Path:
    """Compile the model, its bundle and the program under the sanitizers."""
    request = CompileRequest(
        model_path=small_model(folder / "soak.onnx"),
        soc=read_soc("zynq_edge"),
        frames="auto",
        prefer={"*": "dsp_cpu"},
    )
    made = compile_model(request)
    assert made.frames is not None
    assert made.frames.frames > 1
    bundle, program = folder / "bundle", folder / "soak_frames"
    write_bundle(made.bundle, bundle)
    sources = sorted(str(path) for path in bundle.rglob("*.c") if path.stem not in ("runner", "selftest"))
    flags = ("-std=c99", "-g", "-O1", SANITIZERS, "-fno-sanitize-recover=all")
    paths = (f"-I{bundle}/include", f"-I{bundle}/runtime", str(SOURCE), *sources)
    subprocess.run(("cc", *flags, "-pthread", *paths, "-o", str(program), "-lm"), check=True)
    return program


def main() -> int:
    parser = argparse.ArgumentParser(description="a million frames in flight with random faults")
    parser.add_argument("--frames", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        command = (str(program), str(wanted.frames), str(wanted.seed))
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
