"""NS-TIR with thread bindings as CUDA C, by TVM's own generator.

TVM prints a whole translation unit with headers that a run-time compiler lacks; the kernels need none of
them, so that only the definition is kept. Its float constants are hexadecimal, hence exact.

Tests: `tests/backends/cuda`.
"""

import re
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.backend import load

from target_arch.plan.kernels import DeviceFunction
from target_arch.relax.c.printer import walk
from target_arch.relax.tir.passes import pointer_to

AXES = ("blockIdx.x", "threadIdx.x")
_DEFINITION = re.compile(r'^extern "C" __global__ [^;{]*\{.*?^\}', re.MULTILINE | re.DOTALL)
_DEVICE_KERNEL_LAUNCH = 2
_OLDEST = "sm_53"
"""The architecture given to TVM; the text does not depend on it."""


def cuda_function(function: Any, name: str) -> DeviceFunction:
    """The CUDA C of a function whose loops are bound to one block axis and one thread axis.

    ValueError where a buffer in it is neither parameter nor local to a thread, or an extent is not constant.
    """
    extents = dict.fromkeys(AXES, 1)
    for node in walk(function.body):
        if isinstance(node, tirx.AllocBuffer) and str(node.buffer.scope()) != "local":
            raise ValueError(f"buffer `{node.buffer.name}` is shared between threads")
        if _is_launch(node):
            extents[node.node.thread_tag] = int(node.value)
    load("cuda")
    module = tvm_ffi.get_global_func("target.build.cuda")(
        tvm.IRModule({name: _with_pointers(function, name)}), _target()
    )
    found = _DEFINITION.search(module.inspect_source())
    assert found is not None
    return DeviceFunction(text=found[0], blocks=extents[AXES[0]], threads=extents[AXES[1]])


def _is_launch(node: Any) -> bool:
    return isinstance(node, tirx.AttrStmt) and node.attr_key == "thread_extent"


def _target() -> Any:
    return tvm.target.Target({"kind": "cuda", "arch": _OLDEST})


def _with_pointers(function: Any, name: str) -> Any:
    """The function as a device kernel, with pointers as parameters."""
    pointers = {parameter: pointer_to(parameter) for parameter in function.params}
    declared = [tirx.DeclBuffer(parameter, data=pointer) for parameter, pointer in pointers.items()]
    attributes = {
        "global_symbol": name,
        "target": _target(),
        "tirx.noalias": True,
        "calling_conv": _DEVICE_KERNEL_LAUNCH,
    }
    body = tirx.SeqStmt([*declared, function.body])
    return tirx.PrimFunc(list(pointers.values()), body).with_attrs(attributes)
