"""Other weights for a program that there is already."""

from collections.abc import Mapping
from pathlib import Path

from target_arch.diagnostics import listed, refusal
from target_arch.emit.digests import MANIFEST, digest
from target_arch.emit.model.weights import FOLDER
from target_arch.emit.packages.supply import SBOM, TRACE
from target_arch.emit.programs.test_vectors import VECTORS
from target_arch.plan.bundle import BundleFiles
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.weights import WeightsEntry
from target_arch.run.bundles.manifest import read_manifest, unchanged
from target_arch.run.bundles.write import write_bundle

_SHOWN = 3
_OF_THE_MODEL = frozenset({MANIFEST, VECTORS, SBOM, TRACE})
"""The files beside the weights that say which model, or what its outputs are, and that no library reads."""


def weights_in(directory: Path) -> WeightsEntry:
    """The weights files of the bundle in that folder. DiagnosticError where its constants are C."""
    weights = read_manifest(directory).weights
    if weights is None:
        text = "its constants are C, and it has no weights files"
        raise refusal("no-weights", directory, text, "compile it with `constants` as `section` or `file`")
    return weights


def replace_weights(directory: Path, new: Mapping[str, bytes]) -> None:
    """Put the weights of another bundle, with these files, into the bundle in `directory`, whose program
    stays; its self-test becomes that of the other model.

    DiagnosticError, and nothing is changed, where the other bundle has another program: tensors of other
    shapes, scales that its code computes with, another model or other options.
    """
    weights_in(directory)
    with unchanged(directory) as manifest:
        other = _other_program(manifest, new)
        if other:
            more = f" and {len(other) - _SHOWN} more" if len(other) > _SHOWN else ""
            text = f"these weights are for another program: it has other {listed(other[:_SHOWN])}{more}"
            raise refusal(
                "another-program", directory, text, "compile the new model into a bundle of its own"
            )
    write_bundle(BundleFiles(name=manifest.name, files=new), directory)


def _other_program(manifest: Manifest, new: Mapping[str, bytes]) -> list[str]:
    """The files that differ, of those that do not follow from the values of weights alone."""
    files = {path: digest(content) for path, content in new.items()}
    own = sorted({*files, *manifest.files} - _OF_THE_MODEL)
    return [
        path
        for path in own
        if files.get(path) != manifest.files.get(path) and not path.startswith(f"{FOLDER}/")
    ]
