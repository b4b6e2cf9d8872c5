"""CUDA devices: one kernel per operator through TVM's CUDA code generator, a thread per output.

The image of a module is CUDA C, which the port `cuda` hands to the run-time compiler; the port `host` runs
the plain C of the same definitions, in a memory of the device's own.
"""

from collections.abc import Mapping
from typing import Any

from target_arch.backend.contract import Backend, DefaultArch, LoweringRequest, Question, WorkPart
from target_arch.backend.hooks import Hooks, TirFunction, TirPass
from target_arch.backends.cuda.cost import CLOCK, parts, seconds
from target_arch.backends.cuda.support import OPTIONS, refusal
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.soc.model import CopyPath, LoadProcess, Memory
from target_arch.soc.words import DLDeviceType


def _cost(question: Question) -> float:
    return seconds(question, backend)


def _work(question: Question) -> Mapping[str, WorkPart]:
    return parts(question, backend)


def _schedules(function: TirFunction, request: LoweringRequest) -> Any:
    from target_arch.backends.cuda.lower import bind_threads

    return bind_threads(function)


def _simplify(request: LoweringRequest) -> Any:
    """Flattening divides by zero where a row is one block of threads, unless its indices are simple."""
    from tvm import tirx

    return tirx.transform.StmtSimplify()


def _codegen(functions: tuple[TirFunction, ...], request: LoweringRequest) -> Kernel:
    from target_arch.backends.cuda.lower import cuda_kernel

    return cuda_kernel(functions, request)


backend = Backend(
    name="cuda",
    description="CUDA devices, a thread per output, kernels compiled where they run",
    codegen=Codegen.CUDA,
    patterns=standard_patterns(),
    supports=refusal,
    cost=_cost,
    work=_work,
    hooks=Hooks(
        schedules=_schedules,
        tir_passes=(TirPass(name="simplify_threads", place="compacted", load=_simplify),),
        codegen=_codegen,
    ),
    options=OPTIONS,
    default_arch=DefaultArch(
        device=DLDeviceType.CUDA,
        clock=CLOCK,
        memories=(Memory(name="vram", size=1 << 30, read_bandwidth=100e9, write_bandwidth=100e9),),
        copy=CopyPath(
            source="", target="", engine="dma", bandwidth=10e9, setup=8e-6, alignment=4, dimensions=2
        ),
        channels=2,
        load=LoadProcess(process="module"),
    ),
    contract=2,
)
