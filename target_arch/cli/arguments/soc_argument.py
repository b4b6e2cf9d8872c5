"""SoC files as the commands take them: read, and joined with backends."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from target_arch.cli.text.output import failure
from target_arch.diagnostics import Diagnostic, DiagnosticError, in_order, name_hint
from target_arch.registry import Backends
from target_arch.resources import soc_configs
from target_arch.soc import SoC, read_soc, shipped_socs
from target_arch.soc.faults import Fault
from target_arch.soc.files.positions import Positions

_PLACE = "command line"


def found(options: argparse.Namespace) -> Backends:
    """The backends that are installed, and those of every `--backend-dir`, which are checked at once."""
    return Backends.discover(options.backend_dir).load_folders()


def described(name_or_file: str, backends: Backends) -> SoC:
    """The SoC of a file, whose backends are all there and get what they need. Raises DiagnosticError."""
    soc = read_soc(name_or_file)
    faults = backends.faults(soc)
    if faults:
        raise DiagnosticError(_placed(faults, name_or_file))
    return soc


def target_of(soc: SoC, name: str) -> str:
    """The name of a target_arch or of one of its instances, known to the SoC. Raises DiagnosticError."""
    known = {*(arch.name for arch in soc.archs), *(instance.name for instance in soc.instances)}
    if name not in known:
        text = f"SoC `{soc.name}` has no target_arch `{name}`"
        raise failure("unknown-target-arch", _PLACE, text, name_hint(name, known, "there are"))
    return name


def _placed(faults: Iterable[Fault], name_or_file: str) -> tuple[Diagnostic, ...]:
    """The faults at their places in the file. It was read a moment ago, so it is there and is TOML."""
    path = Path(name_or_file)
    shown = str(path)
    if name_or_file in shipped_socs() and not path.is_file():
        path, shown = soc_configs() / f"{name_or_file}.toml", f"soc_configs/{name_or_file}.toml"
    positions = Positions(shown, path.read_text(encoding="utf-8-sig"))
    return in_order(
        Diagnostic(
            rule=fault.rule,
            place=positions.key(fault.path) if fault.at_key else positions.value(fault.path),
            message=fault.message,
            hint=fault.hint,
        )
        for fault in faults
    )
