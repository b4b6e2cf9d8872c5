"""No dead field: whatever a description says is read by something."""

import ast
from pathlib import Path

import attrs
import pytest

from target_arch.soc import model

PACKAGE = Path(__file__).parents[2] / "target_arch"
WRITERS = {PACKAGE / "soc" / name for name in ("model.py", "build.py", "numbering.py")}
VALUES = (
    model.CopyPath,
    model.DLDevice,
    model.Dma,
    model.LoadProcess,
    model.Memory,
    model.MemoryMode,
    model.Port,
    model.SoC,
    model.TargetArch,
)


@pytest.fixture(scope="module")
def read() -> set[str]:
    """Every attribute that is read outside of what makes the values."""
    files = (file for file in PACKAGE.rglob("*.py") if file not in WRITERS)
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
def test_every_field_is_read(value: type[attrs.AttrsInstance], read: set[str]) -> None:
    assert [field.name for field in attrs.fields(value) if field.name not in read] == []
