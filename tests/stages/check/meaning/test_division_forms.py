"""Forms of a divided model that the rewriting never makes: what is said of each."""

from collections.abc import Mapping, Sequence

import pytest
from attrs import evolve

from target_arch.plan.division import SliceOf
from target_arch.plan.model import Model, Operator, Quantization, State, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.check.meaning.division import division_faults

K = OperatorKind


def _image(name: str, *shape: int) -> Tensor:
    grid = Quantization(scale=(0.5,), zero_point=(3,))
    return Tensor(name=name, shape=shape, dtype="int8", quantization=grid)


def _of(operators: Sequence[Operator], tensors: Sequence[Tensor], slices: Mapping[str, SliceOf]) -> list[str]:
    """What is said of operators in the place of a sum, which two others read, as second and first operand."""
    shape = (5,)
    named = {name: _image(name, *shape) for name in ("x", "a", "y", "z")}

    first = _operator("first", K.ADD, ("x", "x"), "y")
    last, other = _operator("last", K.ADD, ("x", "y"), "z"), _operator("o", K.ADD, ("y", "x"), "a")
    whole = Model(
        name="m",
        source="made",
        inputs=("x",),
        outputs=("z", "a"),
        tensors=named,
        operators=(first, last, other),
    )
    divided = evolve(
        whole,
        operators=(*operators, last, other),
        tensors={**named, **{each.name: each for each in tensors}},
        slices=dict(slices),
    )
    return [f"{each.place}: {each.message}" for each in division_faults(whole, divided)]


def _operator(
    id: str, kind: OperatorKind, inputs: tuple[str, ...], output: str, **attributes: object
) -> Operator:
    return Operator(
        id=id,
        kind=kind,
        arithmetic=Arithmetic.TFLITE,
        inputs=inputs,
        constants=(),
        output=output,
        attributes=attributes,
    )


def test_places_in_the_place_of_the_whole() -> None:
    """All places, but not joined: as each of the operands of what reads them."""
    every = SliceOf(operator="first", axis=0, start=0, stop=5)
    assert _of([_operator("s", K.ADD, ("x", "x"), "y")], [], {"s": every}) == [
        "operator last: it reads `y` [0:5] for the whole",
        "operator o: it reads `y` [0:5] for the whole",
    ]


def test_no_places_at_all() -> None:
    none = SliceOf(operator="first", axis=0, start=2, stop=2)
    view = _operator("v", K.SLICE, ("x",), "n", begin=(2,), step=(1,))
    found = _of([view, _operator("s", K.ADD, ("n", "n"), "e")], [_image("n", 0), _image("e", 0)], {"s": none})
    assert "operator s: `e` is not first[2:2]" in found


def test_a_view_that_says_no_place() -> None:
    view = _operator("v", K.SLICE, ("x",), "n", step=(1,))
    found = _of([view], [_image("n", 2)], {})
    assert found[0] == "operator v: it has places -1 to 1 of `x`"
    assert found[-2:] == ["the divided model: `z` is not whole", "the divided model: `a` is not whole"]


def test_a_view_beyond_the_end_is_no_part() -> None:
    view = _operator("v", K.SLICE, ("x",), "n", begin=(4,), step=(1,))
    again = _operator("w", K.SLICE, ("n",), "o1", begin=(0,), step=(1,))
    found = _of([view, again], [_image("n", 2), _image("o1", 1)], {})
    assert found[:2] == [
        "operator v: it has places 4 to 6 of `x`",
        "operator w: `n` is no part of a tensor of the model",
    ]


@pytest.mark.parametrize("axis", [{"axis": 0}, {}])
@pytest.mark.parametrize("name", ["y", "unknown"])
def test_a_concatenation_of_nothing(axis: dict[str, object], name: str) -> None:
    found = _of([_operator("j", K.CONCAT, (), name, **axis)], [_image(name, 5)], {})
    assert found[0] == f"operator j: `{name}` ends with place 0"


def test_a_view_of_a_view_along_another_axis() -> None:
    whole = Model(
        name="m", source="made", inputs=("x",), outputs=("x",), tensors={"x": _image("x", 5, 5)}, operators=()
    )
    rows = _operator("rows", K.SLICE, ("x",), "r", begin=(1, 0), step=(1, 1))
    both = _operator("both", K.SLICE, ("r",), "c", begin=(0, 1), step=(1, 1))
    tensors = {**whole.tensors, "r": _image("r", 3, 5), "c": _image("c", 3, 3)}
    divided = evolve(whole, operators=(rows, both), tensors=tensors)
    assert [f"{each.place}: {each.message}" for each in division_faults(whole, divided)] == [
        "operator both: it has places 1 to 4 of `x` [1:4]"
    ]


def test_places_of_another_tensor_in_its_place() -> None:
    views = [
        _operator("v", K.SLICE, ("x",), "n", begin=(0,), step=(1,)),
        _operator("w", K.SLICE, ("x",), "m", begin=(3,), step=(1,)),
        _operator("j", K.CONCAT, ("n", "m"), "a", axis=0),
    ]
    found = _of(views, [_image("n", 3), _image("m", 2)], {})
    assert found[0] == "operator j: `a` is not `x` [0:3], `x` [3:5] along axis 0, one after the other"


def test_other_states() -> None:
    whole = Model(
        name="m", source="made", inputs=("x",), outputs=("x",), tensors={"x": _image("x", 5)}, operators=()
    )
    other = evolve(whole, states=(State(tensor="x", next="x"),))
    assert [each.message for each in division_faults(whole, other)] == [
        "its inputs, outputs or states are not those of the model"
    ]


@pytest.mark.parametrize(("padding", "right"), [(1, True), (0, False)])
def test_a_place_that_reads_padding_alone(padding: int, right: bool) -> None:
    """The first row of a kernel of one place lies before the image: there is no row of the image for it."""
    weights = Tensor(name="w", shape=(4, 1, 1, 3), dtype="int8", data=bytes(range(12)))
    window = {"strides": (1, 1), "dilation": (1, 1), "groups": 1}
    whole = Model(
        name="m",
        source="made",
        inputs=("x",),
        outputs=("y",),
        tensors={"x": _image("x", 1, 5, 1, 3), "y": _image("y", 1, 7, 1, 4), "w": weights},
        operators=(_conv("it", "x", "y", padding=(1, 0, 1, 0), **window),),
    )
    row = _operator("v", K.SLICE, ("x",), "n", begin=(0, 0, 0, 0), step=(1, 1, 1, 1))
    own = _conv("s", "n", "e", padding=(padding, 0, 0, 0), **window)
    divided = evolve(
        whole,
        operators=(row, own),
        tensors={**whole.tensors, "n": _image("n", 1, 1, 1, 3), "e": _image("e", 1, 1, 1, 4)},
        slices={"s": SliceOf(operator="it", axis=1, start=0, stop=1)},
    )
    found = [str(each.place) for each in division_faults(whole, divided)]
    assert ("operator s" not in found) == right


def _conv(id: str, x: str, y: str, **attributes: object) -> Operator:
    return evolve(_operator(id, K.CONV2D, (x,), y, **attributes), constants=("w",))
