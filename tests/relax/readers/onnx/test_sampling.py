"""Images of ONNX models read between their pixels, as onnxruntime does."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import helper, onnx_model, onnx_reference, save

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")

PADDINGS, CORNERS = ("zeros", "border", "reflection"), (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("image", "places", "modes"),
    [
        ((2, 3, 4, 5), (6, 7), ("nearest", "linear", "cubic")),
        ((1, 2, 3, 4, 5), (3, 2, 6), ("nearest", "linear")),
    ],
    ids=["images", "volumes"],
)
def test_every_rule(
    image: tuple[int, ...], places: tuple[int, ...], modes: tuple[str, ...], tmp_path: Path
) -> None:
    """Half of the places are beside the image, where pixels count nothing, even infinite ones; what is
    padded may be infinite times a weight of zero, in another order.
    """
    rules = [*product(modes, PADDINGS, CORNERS)]
    nodes = [
        helper.make_node(
            "GridSample",
            ["x", "grid"],
            [f"y{number}"],
            mode=mode,
            padding_mode=padding,
            align_corners=corners,
        )
        for number, (mode, padding, corners) in enumerate(rules)
    ]
    grid = (image[0], *places, len(places))
    outputs = {f"y{number}": (*image[:2], *places) for number in range(len(rules))}
    model = onnx_model(nodes, {"x": image, "grid": grid}, outputs)
    model.opset_import[0].version = 20
    path, draw = save(model, tmp_path / "m.onnx"), np.random.default_rng(3)
    x = draw.standard_normal(image).astype(np.float32)
    x[0, 0, 0] = np.inf
    inputs = {"x": x, "grid": draw.uniform(-2, 2, grid).astype(np.float32)}
    network, program = import_model(path)
    for ours, theirs, rule in zip(
        evaluate(network, inputs, program), onnx_reference(path, inputs), rules, strict=True
    ):
        weighed_alike = rule[:2] in (("nearest", "zeros"), ("linear", "zeros"))
        judged = np.ones(ours.shape, bool) if weighed_alike else np.isfinite(ours) & np.isfinite(theirs)
        np.testing.assert_allclose(ours[judged], theirs[judged], rtol=1e-5, atol=1e-5, err_msg=str(rule))
