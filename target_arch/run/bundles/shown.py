"""The values of a bundle's report, from its folder."""

from pathlib import Path

from target_arch.diagnostics import DiagnosticError
from target_arch.emit.digests import MANIFEST
from target_arch.report import ShownBundle, read_shown
from target_arch.run.bundles.manifest import misformed, read_manifest
from target_arch.run.bundles.report_form import report_faults
from target_arch.soc.files.soc_file import read_soc


def read_report(directory: Path) -> ShownBundle:
    """The facts that the report of the bundle there shows.

    DiagnosticError as `read_manifest`, where the manifest lacks something, and where the bundle's SoC file is
    missing or wrong.
    """
    manifest = read_manifest(directory)
    faults = report_faults(manifest)
    if faults:
        path = directory / MANIFEST
        raise DiagnosticError(misformed(faults, str(path), path.read_text(encoding="utf-8")))
    return read_shown(manifest, read_soc(directory / f"{manifest['soc']}.toml"))
