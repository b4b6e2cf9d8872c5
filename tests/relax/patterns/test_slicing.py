"""Slices: of floats, of stored values, and between dequantize and quantize of one grid."""

from pathlib import Path

import numpy as np
import pytest

from target_arch.relax.importer import import_model
from target_arch.run.exact.oracle import exact
from tests.relax.emulate import Array
from tests.relax.models import helper, onnx_model, save

Bounds = dict[str, list[int]]

SLICES: tuple[tuple[Bounds, Array], ...] = (
    ({"starts": [1], "ends": [3], "axes": [2]}, np.s_[:, :, 1:3]),
    ({"starts": [-3, 0], "ends": [100, 2], "axes": [1, 2]}, np.s_[:, -3:, 0:2]),
    ({"starts": [4, 3], "ends": [-100, 0], "axes": [1, 2], "steps": [-2, -1]}, np.s_[:, 4::-2, 3:0:-1]),
)


@pytest.mark.parametrize(("bounds", "place"), SLICES, ids=["inside", "clamped", "backwards"])
@pytest.mark.parametrize("stored", [False, True])
def test_the_elements_are_those_of_numpy(
    bounds: Bounds, place: tuple[slice, ...], stored: bool, tmp_path: Path
) -> None:
    names = [name if name in bounds else "" for name in ("starts", "ends", "axes", "steps")]
    x = np.arange(40).reshape(1, 5, 8)[:, :, :4].copy()
    must = x[place]
    around = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("Slice", ["d", *names], ["p"]),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "s", "z"], ["y"]),
    ]
    nodes = around if stored else [helper.make_node("Slice", ["x", *names], ["y"])]
    grid = {"s": np.array(0.5, np.float32), "z": np.array(3, np.int8)} if stored else {}
    constants = {name: np.array(values, np.int64) for name, values in bounds.items()}
    model, _ = import_model(
        save(onnx_model(nodes, {"x": x.shape}, {"y": must.shape}, {**grid, **constants}), tmp_path / "m.onnx")
    )
    kinds = [operator.kind for operator in model.operators]
    assert kinds == (["quantize", "slice", "dequantize"] if stored else ["slice"])
    (cut,) = (operator for operator in model.operators if operator.kind == "slice")
    (read,) = cut.inputs
    values = x.astype(model.tensors[read].dtype)
    np.testing.assert_array_equal(exact(cut, model, {read: values}), must)
