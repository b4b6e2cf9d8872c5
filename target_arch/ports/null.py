"""The port `null`: a system that consists of its host alone; the folder to clone for a port of your own."""

from target_arch.backend.port import Hosted, PortKind
from target_arch.ports.sources import sources

port = PortKind(
    name="null",
    description="any C99 environment, for models that are on the host alone; the one to clone",
    files=sources("ports/null"),
    system=Hosted(),
)
