"""The port `cuda`: a computer with an NVIDIA device, through the driver's library."""

from target_arch.backend.port import Hosted, PortKind
from target_arch.ports.sources import sources

port = PortKind(
    name="cuda",
    description="a computer with a CUDA device, which compiles and runs the kernels",
    files=sources("ports/cuda"),
    system=Hosted(libraries=("m", "dl"), modules=True, complains=True, needs=("cuda",)),
    prefix="ta_cuda",
    header="ports/cuda/cuda.h",
)
