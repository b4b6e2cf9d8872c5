"""A behavioural int8 matrix engine with input, weight and accumulator scratchpads.

It serves dense layers and pointwise convolutions. One command multiplies one block; see `tiles.py` for how a
layer is cut, `registers.py` for the fields of a command. Weights and requantization parameters are in the
weight scratchpad, accumulators and int8 results in the accumulator scratchpad.
"""

from target_arch.backend.contract import Backend, DefaultArch, LoweringRequest, RuntimeSources
from target_arch.backends.gemm_npu.support import BUFFERS, OPTIONS, cost, describe, supports
from target_arch.backends.sources import driver_files, simulator_files
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.soc.model import Memory


def _lower(request: LoweringRequest) -> Kernel:
    from target_arch.backends.gemm_npu.lower import lower

    return lower(request, describe(request.soc, request.instance))


backend = Backend(
    name="gemm_npu",
    description="int8 matrix products (dense, pointwise conv2d), tiled through three scratchpads",
    codegen=Codegen.COMMAND_STREAM,
    patterns=(),
    supports=supports,
    cost=cost,
    lower=_lower,
    options=OPTIONS,
    runtime=RuntimeSources(
        driver="ta_gemm_npu_driver",
        simulator_symbol="ta_gemm_npu_simulator",
        files=lambda: driver_files("gemm_npu"),
        simulator=lambda: simulator_files("gemm_npu"),
    ),
    needs_buffers=BUFFERS,
    default_arch=DefaultArch(
        clock=200e6,
        memories=tuple(
            Memory(name=name, size=32 << 10, read_bandwidth=speed, write_bandwidth=speed)
            for name, speed in (("inp", 3.2e9), ("wgt", 3.2e9), ("acc", 12.8e9))
        ),
        buffers={name: name for name in BUFFERS},
    ),
    contract=2,
)
