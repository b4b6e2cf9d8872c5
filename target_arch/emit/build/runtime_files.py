"""The files of the C runtime that a bundle carries: headers, core, kernels, a port, drivers, simulators."""

from collections.abc import Mapping

from target_arch.backend.contract import Backend
from target_arch.emit.build.kernel_headers import kernel_headers
from target_arch.emit.model.deadline import has_deadlines
from target_arch.emit.model.inputs import EmitInputs
from target_arch.plan.constants_form import ConstantsForm
from target_arch.resources import c_files, runtime_c


def runtime_files(inputs: EmitInputs) -> Mapping[str, str]:
    """Path in the bundle → text; several models bring the part that runs them in turn, inputs and outputs in
    memory of the caller the part that knows their addresses, constants as bytes the part that checks them,
    frames in flight and workloads theirs.
    """
    root = runtime_c()
    files = c_files(root / "include", "include")
    files |= c_files(root / "core", "runtime/core")
    files |= c_files(root / "integrity", "runtime/integrity")
    if has_deadlines(inputs):
        files |= c_files(root / "deadline", "runtime/deadline")
    files = _without_unused(inputs, files)
    if inputs.several:
        files |= c_files(root / "models", "runtime/models")
    if inputs.lends:
        files |= c_files(root / "lent", "runtime/lent")
    if inputs.constants is not ConstantsForm.TEXT:
        files |= c_files(root / "weights", "runtime/weights")
        if inputs.port.hosted.simulates and inputs.constants is ConstantsForm.FILE:
            files |= c_files(root / "mapped", "runtime/mapped")
    for name, there in (("frames", inputs.has_frames), ("workload", inputs.timed is not None)):
        files |= c_files(root / name, f"runtime/{name}") if there else {}
    files |= {f"runtime/{path}": text for path, text in kernel_headers(inputs).items()}
    files |= {f"runtime/{path}": text for path, text in inputs.port.files().items()}
    for backend in _backends(inputs):
        files |= {f"runtime/{path}": text for path, text in backend.runtime.files().items()}
        if inputs.port.hosted.simulates:
            files |= {f"runtime/{path}": text for path, text in backend.runtime.simulator().items()}
    if inputs.port.hosted.simulates:
        for process in inputs.processes.values():
            files |= {f"runtime/{path}": text for path, text in process.files().items()}
    return files


def _without_unused(inputs: EmitInputs, files: Mapping[str, str]) -> dict[str, str]:
    """The files without headers of parts that the bundle does not have, and without what fills residents
    where there are none and no part for several models asks for it.
    """
    frames, workload = inputs.has_frames, inputs.timed is not None
    unused = [
        ("frames", frames),
        ("workload", workload),
        ("lending", frames or workload or inputs.lends),
    ]
    without = {f"include/target_arch/{name}.h" for name, there in unused if not there}
    if not (inputs.several or inputs.has_residents):
        without.add("runtime/core/fill.c")
    return {path: text for path, text in files.items() if path not in without}


def _backends(inputs: EmitInputs) -> tuple[Backend, ...]:
    """Each backend once, in the order of the target_archs."""
    return tuple({backend.name: backend for _, backend in sorted(inputs.backends.items())}.values())
