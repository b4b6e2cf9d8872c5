"""The port `twin`: a bare host, as a stranger brings it, one folder of C and this value."""

from pathlib import Path

from target_arch.backend.port import Hosted, PortKind
from target_arch.resources import c_files

port = PortKind(
    name="twin",
    description="a computer that is nothing but its host",
    files=lambda: c_files(Path(__file__).parent, "ports/twin"),
    system=Hosted(complains=True),
    prefix="twin",
    header="ports/twin/twin.h",
)
