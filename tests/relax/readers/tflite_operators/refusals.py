"""Why a `.tflite` file is refused."""

from pathlib import Path

import pytest

from target_arch.backend.operators import Foreign, no_libraries
from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model


def reasons(content: bytes, folder: Path, foreign: Foreign = no_libraries) -> list[str]:
    """A line for each operator that is refused: its name, how often, where, and why."""
    path = folder / "refused.tflite"
    path.write_bytes(content)
    with pytest.raises(DiagnosticError) as caught:
        import_model(path, foreign=foreign)
    (diagnostic,) = caught.value.diagnostics
    return [note.message for note in diagnostic.notes]
