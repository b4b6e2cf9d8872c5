"""A port's needs on the computer that runs its programs, checked before one is started."""

import ctypes
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from target_arch.diagnostics import Keyword, advice
from target_arch.run.tools.toolchain import missing

DRIVER = ("libcuda.so.1", "libcuda.so")
_NAME_BYTES = 256
_SIMULATED = (Keyword("port", "host"), " simulates the device")
COMPILER = ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2")


def require(needs: Sequence[str]) -> None:
    """ToolMissing where a need is missing: a name in `NEEDS` has a check of its own, any other is a
    program's.
    """
    for name in needs:
        if name in NEEDS:
            NEEDS[name]()
        elif shutil.which(name) is None:
            raise missing(name, f"the port needs the program `{name}`", "install it")


def require_cuda() -> None:
    """ToolMissing without the driver, a device, or the compiler of CUDA C.

    The environment's TA_CUDA_DRIVER and TA_CUDA_COMPILER name other libraries than the usual ones.
    """
    driver = _open("TA_CUDA_DRIVER", DRIVER)
    if driver is None:
        hint = advice("run it where an NVIDIA driver is installed; ", *_SIMULATED)
        raise missing("cuda", f"no CUDA driver: `{DRIVER[0]}` not found", hint)
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        hint = advice("`nvidia-smi` lists what there is; ", *_SIMULATED)
        raise missing("cuda", "the CUDA driver finds no device", hint)
    if _open("TA_CUDA_COMPILER", COMPILER) is None:
        wanted = "install the CUDA toolkit, or nvidia-cuda-nvrtc and set TA_CUDA_COMPILER to its file"
        raise missing("nvrtc", f"no run-time compiler for CUDA C: `{COMPILER[0]}` not found", wanted)


def device_name() -> str:
    """The name of the CUDA device that the port takes, after `require_cuda`."""
    driver, name = _open("TA_CUDA_DRIVER", DRIVER), ctypes.create_string_buffer(_NAME_BYTES)
    if driver is None or driver.cuDeviceGetName(name, _NAME_BYTES, 0) != 0:
        return "a device without a name"
    return name.value.decode(errors="replace")


def _open(variable: str, names: Sequence[str]) -> ctypes.CDLL | None:
    wanted = os.environ.get(variable)
    for name in (wanted,) if wanted else names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


NEEDS: Mapping[str, Callable[[], None]] = MappingProxyType({"cuda": require_cuda})
"""The checks by the names in `target_arch.backend.port.Hosted.needs`."""
