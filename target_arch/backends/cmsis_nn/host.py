"""The library on the computer that compiles models: asked for sizes of scratch and for constants.

It is compiled by the C compiler of this computer, with `shim.c`, and loaded. A copy of its size functions in
Python could silently become wrong when the library changes, and too little scratch means overwritten memory.
"""

import ctypes
import os
import shlex
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from attrs import frozen

from target_arch.backend.contract import NotInstalled
from target_arch.backends.cmsis_nn.folder import NAME, Folder, folder_at
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.arithmetic import Rounding
from target_arch.plan.operators.kinds import OperatorKind

CORES = ("plain", "dsp", "mve")
"""Variants of size functions: compiled as it stands, for DSP extensions, for MVE."""
FUNCTIONS: Mapping[str, str] = {
    OperatorKind.CONV2D: "arm_convolve_wrapper_s8",
    OperatorKind.DEPTHWISE_CONV2D: "arm_depthwise_conv_wrapper_s8",
    OperatorKind.DENSE: "arm_fully_connected_s8",
    OperatorKind.AVG_POOL2D: "arm_avgpool_s8",
    OperatorKind.MAX_POOL2D: "arm_max_pool_s8",
}
"""The function of the convention for each kind of operator of int8 values."""
WIDE_FUNCTIONS: Mapping[str, str] = {
    OperatorKind.CONV2D: "arm_convolve_wrapper_s16",
    OperatorKind.DEPTHWISE_CONV2D: "arm_depthwise_conv_wrapper_s16",
    OperatorKind.DENSE: "arm_fully_connected_s16",
    OperatorKind.AVG_POOL2D: "arm_avgpool_s16",
    OperatorKind.MAX_POOL2D: "arm_max_pool_s16",
}
"""The same of int16 values with int8 weights and int64 biases; a library may be without them."""
MATRICES = "arm_batch_matmul_s8"
"""The function that multiplies two matrices of activations; a library may be without it."""
SUMS = "arm_vector_sum_s8"
_SIZES, _WIDE_SIZES = (
    tuple(f"{name}_get_buffer_size" for kind, name in table.items() if kind is not OperatorKind.MAX_POOL2D)
    for table in (FUNCTIONS, WIDE_FUNCTIONS)
)
_SHIM = Path(__file__).with_name("shim.c")
_COMPILERS = ("cc", "gcc", "clang")
_SHOWN_LINES = 8


class CompilerMissingError(NotInstalled):
    """There is no C compiler on this computer."""


@frozen(kw_only=True, eq=False)
class HostLibrary:
    """The loaded library. `rounding` gives its rule of `plan.arithmetic` for each kind of operator of int8
    values; `has_wide` says whether it has WIDE_FUNCTIONS, `has_matrices` whether it has MATRICES.
    """

    loaded: ctypes.CDLL
    rounding: Mapping[str, Rounding]
    has_cores: bool
    has_wide: bool
    has_matrices: bool

    def scratch(self, kind: str, numbers: Sequence[int], core: str, *, wide: bool = False) -> int:
        """Bytes of context that a call needs: the larger of the core's and this computer's. `numbers` as in
        `shim.c`.

        DiagnosticError for a core whose sizes the library does not give, and for sizes that it rejects.
        """
        if core != CORES[0] and not self.has_cores:
            functions = f"`{_SIZES[0]}_{core}` and the like"
            raise _refused(f"the library has no {functions}, which tell sizes for core `{core}`", None)
        array = (ctypes.c_int32 * len(numbers))(*numbers)
        asked = getattr(self.loaded, f"ta_{kind}_s16_bytes" if wide else f"ta_{kind}_bytes")
        sizes = [int(asked(array, CORES.index(each))) for each in dict.fromkeys((CORES[0], core))]
        if min(sizes) < 0:
            function = (WIDE_FUNCTIONS if wide else FUNCTIONS)[kind]
            raise _refused(f"`{function}_get_buffer_size` refuses {list(numbers)}", None)
        return max(sizes)

    def sums(self, weights: bytes, bias: bytes, offset: int) -> bytes:
        """The sums that `arm_fully_connected_s8` expects in its context: int32, one for each output."""
        rows = len(bias) // 4
        found = (ctypes.c_int32 * rows)()
        biases = (ctypes.c_int32 * rows)(*struct.unpack(f"<{rows}i", bias))
        if self.loaded.ta_sums(found, len(weights) // rows, rows, weights, offset, biases) != 0:
            raise _refused(f"`{SUMS}` fails", None)
        return struct.pack(f"<{rows}i", *found)


@lru_cache(maxsize=8)
def host_library(path: str) -> HostLibrary:
    """The library in a folder, compiled and loaded once per process.

    CompilerMissingError without a C compiler, DiagnosticError where the library has another convention.
    """
    folder = folder_at(path)
    has_cores = any(folder.mentions(f"{_SIZES[0]}_{core}") for core in CORES[1:])
    has_matrices = folder.mentions(MATRICES)
    has_wide = all(map(folder.mentions, (*WIDE_FUNCTIONS.values(), *_WIDE_SIZES)))
    sizes = (*_SIZES, *_WIDE_SIZES) if has_wide else _SIZES
    cores = tuple(f"{size}_{core}" for size in sizes for core in CORES[1:]) if has_cores else ()
    wide = tuple(WIDE_FUNCTIONS.values()) if has_wide else ()
    sources = folder.needed((*FUNCTIONS.values(), *wide, MATRICES, *sizes, *cores, SUMS))
    found = {"-DTA_CORES": has_cores, "-DTA_WIDE": has_wide, "-DTA_MATRICES": has_matrices}
    switches = tuple(switch for switch, there in found.items() if there)
    with tempfile.TemporaryDirectory() as made:
        output = Path(made) / "library.so"
        _compile(folder, sources, output, switches)
        loaded = ctypes.CDLL(str(output))
    rounding: dict[str, Rounding] = {}
    for kind in (kind for kind in OperatorKind if kind.facts.weighted and kind in FUNCTIONS):
        answer = getattr(loaded, f"ta_{kind}_rounding")()
        if answer not in (0, 1):
            raise _refused(f"`{FUNCTIONS[kind]}` cannot multiply 1 by 1: it answers {answer}", None)
        rounding[kind] = Rounding.TFLITE if answer else Rounding.TFLITE_SINGLE
    return HostLibrary(
        loaded=loaded,
        rounding=rounding,
        has_cores=has_cores,
        has_wide=has_wide,
        has_matrices=has_matrices,
    )


def _compile(folder: Folder, sources: Sequence[str], output: Path, switches: Sequence[str]) -> None:
    root = folder.path.absolute()
    command = (
        *_compiler(), "-std=gnu99", "-O2", "-w", "-fPIC", "-shared", "-Werror=incompatible-pointer-types",
        "-Werror=implicit-function-declaration", "-Werror=int-conversion",
        *switches, "-I", str(root / folder.include), "-o", str(output),
        str(_SHIM), *(str(root / source) for source in sources), "-Wl,-z,defs", "-lm",
    )  # fmt: skip
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if answer.returncode != 0:
        said = "\n".join(answer.stderr.strip().splitlines()[:_SHOWN_LINES])
        message = f"`{folder.path}` has not the calling convention, or does not compile here:\n{said}"
        raise _refused(message, "docs/c-library.md lists the functions that a library has to have")


def _compiler() -> tuple[str, ...]:
    wanted = os.environ.get("CC")
    candidates = [tuple(shlex.split(wanted))] if wanted else [(name,) for name in _COMPILERS]
    for command in candidates:
        if command and shutil.which(command[0]):
            return command
    message = f"backend `{NAME}` asks the library for its sizes, and there is no C compiler to compile it"
    hint = "install gcc or clang (`apt-get install gcc`), or name one in the environment variable CC"
    raise CompilerMissingError(
        [Diagnostic(rule="tool-missing", place="c-compiler", message=message, hint=hint)]
    )


def _refused(message: str, hint: str | None) -> DiagnosticError:
    place = f"option library of backend {NAME}"
    return DiagnosticError([Diagnostic(rule="library-convention", place=place, message=message, hint=hint)])
