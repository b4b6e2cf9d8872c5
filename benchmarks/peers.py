"""Programs beside which `benchmarks.latency` measures ours, each on one thread.

LiteRT (XNNPACK) and onnxruntime run in this process. IREE and emx-onnx-cgen are in an environment of their
own (`pip install iree-base-compiler iree-base-runtime emx-onnx-cgen`), whose Python is named; they get
float ONNX models alone. IREE compiles for this processor and runs in a process of its own; the C of
emx-onnx-cgen is compiled like ours.
"""

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.timed import TIMER, Array, Frame, Program, loaded, repeated

NATIVE = "-O3 -march=native"
_IREE = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O3",
)


def peers(model: Path, frame: Frame, python: Path | None, folder: Path) -> Iterator[Program]:
    """The peers that have this model, the main one first. One that refuses it is named in a message."""
    if model.suffix == ".tflite":
        yield litert(model, frame)
        return
    yield onnxruntime(model, frame)
    for make in (iree, emx) if python else ():
        assert python is not None
        try:
            yield make(model, frame, python, folder)
        except subprocess.SubprocessError as error:
            print(f"{model.stem}: {make.__name__} fails: {error}", file=sys.stderr)


def litert(model: Path, frame: Frame) -> Program:
    """LiteRT with XNNPACK, on one thread."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(model), num_threads=1)
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    for each, value in zip(inputs, frame, strict=True):
        interpreter.set_tensor(each["index"], value)

    def answer() -> list[Array]:
        interpreter.invoke()
        return [interpreter.get_tensor(each["index"]) for each in outputs]

    return Program(name="LiteRT", outputs=answer, seconds=repeated(interpreter.invoke))


def onnxruntime(model: Path, frame: Frame) -> Program:
    """onnxruntime with all its optimizations, on one thread."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feed = {each.name: value for each, value in zip(session.get_inputs(), frame, strict=True)}

    def answer() -> list[Array]:
        return list(session.run(None, feed))

    return Program(name="onnxruntime", outputs=answer, seconds=repeated(answer))


def iree(model: Path, frame: Frame, python: Path, folder: Path) -> Program:
    """IREE for this processor, in a process of its own. Raises SubprocessError where it does not compile."""
    text, module, given = (folder / f"{model.stem}.{kind}" for kind in ("mlir", "vmfb", "npz"))
    tools = python.parent
    _quiet(tools / "iree-import-onnx", model, "-o", text)
    _quiet(tools / "iree-compile", text, *_IREE, "-o", module)
    np.savez(given, *frame)
    runner = Path(__file__).with_name("iree_runner.py")
    child = subprocess.Popen(
        [python, runner, module, given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def asked(question: str) -> str:
        assert child.stdin is not None
        assert child.stdout is not None
        print(question, file=child.stdin, flush=True)
        answer = child.stdout.readline()
        if not answer:
            raise subprocess.CalledProcessError(child.wait(), child.args)
        return answer

    def answer() -> list[Array]:
        with np.load(asked("outputs").strip()) as found:
            return [found[name] for name in found.files]

    answer()
    return Program(name="IREE", outputs=answer, seconds=lambda runs: float(asked(str(runs))))


def emx(model: Path, frame: Frame, python: Path, folder: Path) -> Program:
    """The C of emx-onnx-cgen, compiled for this processor. Raises SubprocessError where there is none."""
    import onnxruntime as ort

    source, timer = folder / f"{model.stem}.emx.c", folder / f"{model.stem}.emx_timer.c"
    _quiet(python.parent / "emx-onnx-cgen", "compile", model, source, "--large-weight-threshold", "0")
    # The shapes and types of the outputs are onnxruntime's.
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    feed = {each.name: value for each, value in zip(session.get_inputs(), frame, strict=True)}
    outputs = [np.zeros_like(each) for each in session.run(None, feed)]
    arrays = [*(np.ascontiguousarray(each) for each in frame), *outputs]
    pointers = ", ".join(f"p[{number}]" for number in range(len(arrays)))
    types = ", ".join(["void *"] * len(arrays))
    declarations = f"void model({types});\nvoid *p[{len(arrays)}];\n"
    timer.write_text(TIMER.format(declarations=declarations, call=f"model({pointers})"))
    command = (*NATIVE.split(), "-w", str(source), str(timer))
    library = loaded(command, source.with_suffix(".so"))
    table = (ctypes.c_void_p * len(arrays)).in_dll(library, "p")
    table[:] = [each.ctypes.data for each in arrays]

    def answer() -> list[Array]:
        library.timer_seconds(1)
        return [each.copy() for each in outputs]

    seconds: Callable[[int], float] = library.timer_seconds
    return Program(name="emx-onnx-cgen", outputs=answer, seconds=seconds)


def _quiet(*command: Path | str) -> None:
    subprocess.run(command, check=True, capture_output=True)
