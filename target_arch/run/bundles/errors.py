"""The error for files that cannot be written."""

from pathlib import Path

from target_arch.diagnostics import DiagnosticError, refusal


def unwritable(path: Path, error: OSError) -> DiagnosticError:
    """The error for a file or folder that the system does not let us write."""
    hint = "name a folder that you may write to"
    return refusal("output-unwritable", path, f"cannot be written: {error.strerror}", hint)
