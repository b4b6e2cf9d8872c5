"""SoC files as the commands take them: read, and joined with backends."""

import argparse

from target_arch.diagnostics import name_hint, refusal
from target_arch.registry import PlugIns
from target_arch.soc import SoC

_PLACE = "command line"


def found(options: argparse.Namespace) -> PlugIns:
    """The plug-ins that are installed, and those of every `--backend-dir`, which are checked at once."""
    return PlugIns.discover(options.backend_dir).load_folders()


def target_of(soc: SoC, name: str) -> str:
    """The name of a target_arch or of one of its instances, known to the SoC. Raises DiagnosticError."""
    known = {*(arch.name for arch in soc.archs), *(instance.name for instance in soc.instances)}
    if name not in known:
        text = f"SoC `{soc.name}` has no target_arch `{name}`"
        raise refusal("unknown-target-arch", _PLACE, text, name_hint(name, known, "there are"))
    return name
