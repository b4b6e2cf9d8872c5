"""The runtime that a model came from, whose answers are compared with those of bundles."""

from pathlib import Path

from target_arch.run import reference_for
from target_arch.run.references.reference import Reference


def reference(model: str | Path) -> Reference:
    """The reference of a model file: its `answer` to a tuple of arrays is the tuple of its outputs.
    DiagnosticError for a file that it cannot read; ToolMissing without its package.
    """
    return reference_for(Path(model))
