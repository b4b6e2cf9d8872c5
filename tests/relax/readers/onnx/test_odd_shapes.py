"""Shapes and types that no operator has: refused in words."""

from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model
from tests.relax.models import helper, onnx_model, save


def test_boxes_without_three_dimensions(tmp_path: Path) -> None:
    nodes = [helper.make_node("NonMaxSuppression", ["boxes", "scores"], ["y"])]
    model = onnx_model(nodes, {"boxes": (4, 4), "scores": (1, 4)}, {"y": ("n", 3)})
    with pytest.raises(DiagnosticError):
        import_model(save(model, tmp_path / "m.onnx"))
