"""The values of a bundle's report, from its folder."""

from pathlib import Path

from target_arch.report import ShownBundle, read_shown
from target_arch.run.bundles.manifest import read_manifest
from target_arch.soc.files.soc_file import read_soc


def read_report(directory: Path) -> ShownBundle:
    """The facts that the report of the bundle there shows.

    DiagnosticError as `read_manifest`, and where the bundle's SoC file is missing or wrong.
    """
    manifest = read_manifest(directory)
    return read_shown(manifest, read_soc(directory / f"{manifest.soc}.toml"))
