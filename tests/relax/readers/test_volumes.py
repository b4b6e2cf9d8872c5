"""Convolutions of volumes are sums of those of images, beside onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import helper, onnx_model, onnx_reference, save

FORMS: tuple[tuple[tuple[int, ...], dict[str, Any], int], ...] = (
    ((1, 3, 5, 6, 7), {"pads": [1] * 6}, 3),
    ((2, 2, 6, 5, 5), {"strides": [2, 1, 2], "pads": [1, 0, 2, 0, 1, 0]}, 3),
    ((1, 2, 7, 6, 6), {"dilations": [2, 1, 1]}, 3),
    ((1, 4, 1, 4, 4), {"pads": [1, 1, 1, 1, 1, 1]}, 3),
    ((1, 4, 4, 4, 4), {"group": 2}, 0),
)
"""Shapes, attributes, and how many convolutions of images they are."""


@pytest.mark.parametrize(("shape", "attributes", "images"), FORMS)
def test_a_volume_is_images(
    shape: tuple[int, ...], attributes: dict[str, Any], images: int, tmp_path: Path
) -> None:
    """But in groups of channels."""
    draw = np.random.default_rng(1)
    inside = shape[1] // attributes.get("group", 1)
    constants = {
        "w": draw.normal(0, 0.4, (6, inside, 3, 3, 3)).astype(np.float32),
        "b": draw.normal(0, 0.4, 6).astype(np.float32),
    }
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    path = save(
        onnx_model([node], {"x": shape}, {"y": extents(shape, attributes)}, constants), tmp_path / "m.onnx"
    )
    model, program = import_model(path)
    assert [str(each.kind) for each in model.operators].count("conv2d") == images
    frame = {"x": draw.normal(0, 1, shape).astype(np.float32)}
    (found,), (wanted,) = evaluate(model, frame, program), onnx_reference(path, frame)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def extents(shape: tuple[int, ...], attributes: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the result of a kernel of 3x3x3."""
    pads = attributes.get("pads", [0] * 6)
    steps, apart = attributes.get("strides", [1] * 3), attributes.get("dilations", [1] * 3)
    places = (
        (extent + pads[axis] + pads[axis + 3] - 2 * apart[axis] - 1) // steps[axis] + 1
        for axis, extent in enumerate(shape[2:])
    )
    return (shape[0], 6, *places)
