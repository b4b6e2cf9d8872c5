"""SoC files as the commands take them: read, and joined with backends."""

import argparse

from target_arch.diagnostics import DiagnosticError, name_hint, refusal
from target_arch.registry import PlugIns
from target_arch.soc import SoC, place_faults, read_soc

_PLACE = "command line"


def found(options: argparse.Namespace) -> PlugIns:
    """The plug-ins that are installed, and those of every `--backend-dir`, which are checked at once."""
    return PlugIns.discover(options.backend_dir).load_folders()


def described(name_or_file: str, plug_ins: PlugIns) -> SoC:
    """The SoC of a file, whose plug-ins are all there and get what they need. Raises DiagnosticError."""
    soc = read_soc(name_or_file)
    faults = plug_ins.faults(soc)
    if faults:
        raise DiagnosticError(place_faults(faults, name_or_file))
    return soc


def target_of(soc: SoC, name: str) -> str:
    """The name of a target_arch or of one of its instances, known to the SoC. Raises DiagnosticError."""
    known = {*(arch.name for arch in soc.archs), *(instance.name for instance in soc.instances)}
    if name not in known:
        text = f"SoC `{soc.name}` has no target_arch `{name}`"
        raise refusal("unknown-target-arch", _PLACE, text, name_hint(name, known, "there are"))
    return name
