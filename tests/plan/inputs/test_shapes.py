"""Shapes for open inputs: what is fixed by what, and what is said to wishes that a model cannot have."""

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import AS_IN_FILE, InputShapes, ModelInput, Shape

IMAGE = ModelInput(name="x", extents=("N", 3, "height", None))
MASK = ModelInput(name="m", extents=("N", "height"))
FIXED = ModelInput(name="f", extents=(2, 4))
ANY = ModelInput(name="a", extents=None)


@pytest.mark.parametrize(
    ("wanted", "inputs", "found"),
    [
        (AS_IN_FILE, (FIXED,), {"f": (2, 4)}),
        (InputShapes(batch=2), (FIXED,), {"f": (2, 4)}),
        (InputShapes(shapes={"x": (1, 3, 8, 9)}), (IMAGE, MASK), {"x": (1, 3, 8, 9), "m": (1, 8)}),
        (InputShapes(shapes={"x": (1, 3, 8, 9)}, batch=1), (IMAGE, FIXED), {"x": (1, 3, 8, 9), "f": (2, 4)}),
        (InputShapes(shapes={"a": ()}), (ANY,), {"a": ()}),
    ],
)
def test_every_input_gets_a_shape(
    wanted: InputShapes, inputs: tuple[ModelInput, ...], found: dict[str, Shape]
) -> None:
    assert wanted.fixed("m.onnx", inputs) == found


@pytest.mark.parametrize(
    ("wanted", "inputs", "message"),
    [
        (
            AS_IN_FILE,
            (ModelInput(name="x", extents=("N", 3)), FIXED, ModelInput(name="scalar", extents=())),
            "m.onnx: error: an input has open dimensions: `x` (Nx3) [dynamic-shape]\nhint: add `batch=1`",
        ),
        (
            AS_IN_FILE,
            (IMAGE, MASK),
            "m.onnx: error: 2 inputs have open dimensions: "
            "`x` (Nx3xheightx?), `m` (Nxheight) [dynamic-shape]\n"
            "hint: add `input_shapes={'x': (1, 3, HEIGHT, D3), 'm': (1, HEIGHT)}`, with a number for `D3`, "
            "`HEIGHT`",
        ),
        (
            AS_IN_FILE,
            (ANY,),
            "m.onnx: error: an input has open dimensions: `a` (of any rank) [dynamic-shape]\n"
            "hint: add `input_shapes={'a': SHAPE}`, with a number for `SHAPE`",
        ),
        (
            InputShapes(shapes={"y": (1,), "f": (2, 5)}, batch=3),
            (FIXED,),
            "m.onnx: error: the model has no input `y` [input-shape]\nhint: it has: `f`\n\n"
            "m.onnx: error: dimension 1 of input `f` is 4, not 5 [input-shape]\n\n"
            "m.onnx: error: no input has an open first dimension that could become 3 [input-shape]",
        ),
        (
            InputShapes(shapes={"f": (2,)}),
            (FIXED,),
            "m.onnx: error: input `f` has 2 dimensions (2x4), not 1 [input-shape]",
        ),
        (
            InputShapes(shapes={"x": (1, 3, 8, 9), "m": (1, 7)}),
            (IMAGE, MASK),
            "m.onnx: error: dimension `height` is to be 8 in input `x` and 7 in input `m` [input-shape]",
        ),
    ],
)
def test_messages(wanted: InputShapes, inputs: tuple[ModelInput, ...], message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        wanted.fixed("m.onnx", inputs)
    assert str(caught.value) == message
