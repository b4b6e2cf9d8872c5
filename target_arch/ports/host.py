"""The port `host`: a whole SoC inside one process, threads as DMA engines and devices."""

from target_arch.backend.port import Hosted, PortKind
from target_arch.ports.sources import sources

port = PortKind(
    name="host",
    description="simulates the whole SoC on this computer",
    files=sources("ports/host"),
    system=Hosted(threads=True, simulates=True, joins_calls=True),
    prefix="ta_host",
    header="ports/host/host.h",
)
