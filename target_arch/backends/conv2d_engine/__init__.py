"""A behavioural int8 conv2d engine: convolution, bias, requantization and clamping of one tile per command.

The engine sees one block RAM and nothing else. Everything it works on is moved there first, tile by tile; see
`tiles.py` for how a layer is cut, `registers.py` for the fields of a command.
"""

from target_arch.backend.contract import Backend, DefaultArch, LoweringRequest, RuntimeSources
from target_arch.backends.conv2d_engine.support import OPTIONS, cost, describe, parts, supports
from target_arch.backends.sources import driver_files, simulator_files
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.soc.model import Memory


def _lower(request: LoweringRequest) -> Kernel:
    from target_arch.backends.conv2d_engine.lower import lower

    return lower(request, describe(request.soc, request.instance))


backend = Backend(
    name="conv2d_engine",
    description="int8 conv2d with bias, requantization and clamping, tiled through one block RAM",
    codegen=Codegen.COMMAND_STREAM,
    patterns=(),
    supports=supports,
    cost=cost,
    work=parts,
    lower=_lower,
    options=OPTIONS,
    runtime=RuntimeSources(
        driver="ta_conv2d_engine_driver",
        simulator_symbol="ta_conv2d_engine_simulator",
        files=lambda: driver_files("conv2d_engine"),
        simulator=lambda: simulator_files("conv2d_engine"),
    ),
    default_arch=DefaultArch(
        clock=100e6,
        memories=(Memory(name="bram", size=64 << 10, read_bandwidth=1.6e9, write_bandwidth=1.6e9),),
    ),
    contract=2,
)
