"""The best elements of ONNX models in their order: those that a stable sort finds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import target_arch
from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.relax.models import Array, helper, onnx_model, save

SHAPE = (3, 7, 23)
CHOICES = [(2, 1, 1), (2, 2, 0), (2, 5, 1), (2, 23, 1), (2, 22, 0), (1, 7, 0), (1, 3, 1), (0, 2, 1)]
"""Of each choice the dimension, how many elements, and whether the largest."""


@pytest.mark.parametrize("values", [3, 1000], ids=["many are equal", "few are equal"])
def test_the_best_elements(values: int, tmp_path: Path) -> None:
    nodes: list[Any] = []
    outputs: dict[str, tuple[int, ...]] = {}
    constants: dict[str, Array] = {}
    for number, (axis, k, largest) in enumerate(CHOICES):
        made, names = [f"v{number}", f"i{number}"], [f"v{number}", f"p{number}"]
        nodes += [
            helper.make_node("TopK", ["x", f"k{number}"], made, axis=axis, largest=largest),
            helper.make_node("Cast", made[1:], names[1:], to=1),
        ]
        constants[f"k{number}"] = np.array([k])
        outputs |= {name: tuple(k if d == axis else n for d, n in enumerate(SHAPE)) for name in names}
    path = save(onnx_model(nodes, {"x": SHAPE}, outputs, constants), tmp_path / "m.onnx")
    x = np.random.default_rng(values).integers(-values, values, SHAPE).astype(np.float32)
    network, program = import_model(path)
    found = iter(evaluate(network, {"x": x}, program))
    for axis, k, largest in CHOICES:
        order = np.argsort(-x if largest else x, axis=axis, kind="stable").take(range(k), axis)
        np.testing.assert_array_equal(next(found), np.take_along_axis(x, order, axis))
        np.testing.assert_array_equal(next(found), order)


def test_the_best_of_one(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """Its C had an array that nothing used, which compilers refuse."""
    needs_tool("cc")
    nodes = [helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("Cast", ["i"], ["p"], to=1)]
    model = onnx_model(nodes, {"x": (1,)}, {"v": (1,), "p": (1,)}, {"k": np.array([1])})
    made = target_arch.compile(save(model, tmp_path / "one.onnx"), "mcu_m7")
    found = made.write(tmp_path / "bundle").run([np.array([3], np.float32)])
    assert [each.tolist() for each in found.values()] == [[3], [0]]
