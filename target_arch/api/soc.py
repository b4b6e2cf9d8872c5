"""SoCs by name or file."""

import sys
from collections.abc import Sequence
from pathlib import Path

from target_arch.api.option_types import typed_arguments
from target_arch.diagnostics import DiagnosticError
from target_arch.registry.plug_ins import PlugIns
from target_arch.soc import SoC, parse_soc, place_faults, read_soc


@typed_arguments
def load_soc(name_or_file: str | Path, *, backend_dirs: Sequence[str | Path] = ()) -> SoC:
    """The SoC of a file, or the shipped one of that name. Its backends, ports and load processes are those
    that are installed, and those in `backend_dirs`.

    DiagnosticError with every mistake in the file, and for a plug-in that is not there or lacks something.
    """
    return described(name_or_file, PlugIns.discover(tuple(map(Path, backend_dirs))))


def described(name_or_file: str | Path, plug_ins: PlugIns) -> SoC:
    """As `load_soc`, with plug-ins that were found before; `-` is standard input."""
    name = str(name_or_file)
    soc = parse_soc(sys.stdin.read(), "stdin") if name == "-" else read_soc(name)
    faults = plug_ins.faults(soc)
    if faults:
        raise DiagnosticError(place_faults(faults, name))
    return soc


def soc_header(soc: SoC) -> str:
    """The C header of a SoC: its target_archs, memories and sizes as numbers."""
    from target_arch.emit.soc.header import soc_header as header

    return header(soc)


def soc_picture(soc: SoC) -> str:
    """The picture of a SoC, as a file of SVG that stands alone."""
    from target_arch.report import chip_picture

    return chip_picture(soc).alone()
