"""Divided models that do not compute what the imported model computes."""

from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve

from target_arch.plan.division import Cut, Share, SliceOf
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.check.meaning.check import check_imported
from target_arch.stages.errors import CheckError
from tests.stages.division.random_divisions import divided_at

_GRID = Quantization(scale=(0.5,), zero_point=(3,))


def _constant(name: str, shape: tuple[int, ...], dtype: str) -> Tensor:
    draw = np.random.default_rng(len(name))
    values = draw.integers(-9, 9, shape).astype(dtype)
    grid = Quantization(scale=(0.25,) * shape[0], zero_point=(0,), axis=0)
    return Tensor(name=name, shape=shape, dtype=dtype, quantization=grid, data=values.tobytes())


def _image(name: str, *shape: int) -> Tensor:
    return Tensor(name=name, shape=shape, dtype="int8", quantization=_GRID)


def _model() -> Model:
    """An image of eight rows, a convolution 3x3, a pool 2x2, and a dense layer of its four by four places."""
    tensors = (
        _image("x", 1, 8, 4, 2),
        _constant("w", (4, 3, 3, 2), "int8"),
        _constant("b", (4,), "int32"),
        _image("y", 1, 8, 4, 4),
        _image("z", 1, 4, 2, 4),
        _constant("dw", (6, 32), "int8"),
        _constant("db", (6,), "int32"),
        _image("out", 1, 6),
    )
    step = {"strides": (1, 1), "padding": (1, 1, 1, 1), "dilation": (1, 1), "groups": 1}
    pool = {"kernel": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}
    rows = (
        ("conv", OperatorKind.CONV2D, ("x",), ("w", "b"), "y", step),
        ("pool", OperatorKind.MAX_POOL2D, ("y",), (), "z", pool),
        ("dense", OperatorKind.DENSE, ("z",), ("dw", "db"), "out", {"in_features": 32}),
    )
    return Model(
        name="three",
        source="made",
        inputs=("x",),
        outputs=("out",),
        tensors={tensor.name: tensor for tensor in tensors},
        operators=tuple(
            Operator(
                id=id,
                kind=kind,
                arithmetic=Arithmetic.TFLITE,
                inputs=inputs,
                constants=constants,
                output=output,
                attributes=attributes,
            )
            for id, kind, inputs, constants, output, attributes in rows
        ),
    )


def _cut(operator: str, axis: int, *ends: int) -> Cut:
    pairs = zip((0, *ends), ends, strict=False)
    shares = tuple(Share(instance="host_cpu", start=a, stop=b) for a, b in pairs)
    return Cut(operator=operator, axis=axis, shares=shares)


IMPORTED = _model()
DIVIDED = divided_at(
    IMPORTED,
    {"conv": _cut("conv", 1, 3, 8), "pool": _cut("pool", 1, 2, 4), "dense": _cut("dense", 1, 2, 6)},
).model


def said(model: Model) -> str:
    """The faults of a model in place of the imported one."""
    with pytest.raises(CheckError) as error:
        check_imported(IMPORTED, PartitionGraph(model=model, partitions=(), choices=()))
    return str(error.value)


def operator(id: str, change: Callable[[Operator], Operator]) -> Model:
    """The divided model with another operator in the place of one."""
    return evolve(
        DIVIDED, operators=tuple(change(each) if each.id == id else each for each in DIVIDED.operators)
    )


def padded(each: Operator, *padding: int) -> Operator:
    return evolve(each, attributes={**each.attributes, "padding": padding})


def test_the_divided_model_is_accepted() -> None:
    check_imported(IMPORTED, PartitionGraph(model=DIVIDED, partitions=(), choices=()))
    assert [each.id for each in DIVIDED.operators] == [
        "conv_slice0_view0",
        "conv_slice1_view0",
        "conv_slice0",
        "conv_slice1",
        "conv_join",
        "pool_slice0_view0",
        "pool_slice1_view0",
        "pool_slice0",
        "pool_slice1",
        "pool_join",
        "dense_slice0",
        "dense_slice1",
        "dense_join",
    ]


def test_a_halo_that_is_one_row_short() -> None:
    short = DIVIDED.tensors["x.0to4"].with_extent(1, 3)
    model = operator("conv_slice0", lambda each: padded(each, 1, 1, 1, 1))
    assert said(evolve(model, tensors={**model.tensors, "x.0to4": short})) == (
        "operator conv_slice0: error: places conv[0:3] are not computed from `x` [0:3] with its padding "
        "[wrong-slice]"
    )


def test_padding_in_place_of_rows() -> None:
    model = operator("conv_slice1", lambda each: padded(each, 1, 1, 1, 1))
    assert said(model) == (
        "operator conv_slice1: error: places conv[3:8] are not computed from `x` [2:8] with its padding "
        "[wrong-slice]"
    )


def test_a_slice_written_twice() -> None:
    model = operator(
        "conv_join", lambda each: evolve(each, inputs=(each.inputs[0], each.inputs[0], each.inputs[1]))
    )
    assert said(model).splitlines()[0] == (
        "operator conv_join: error: `y` is not `y` [0:3], `y` [0:3], `y` [3:8] along axis 1, one after the "
        "other [wrong-join]"
    )


def test_a_slice_left_out() -> None:
    model = operator("dense_join", lambda each: evolve(each, inputs=each.inputs[:1]))
    assert said(model).splitlines() == [
        "operator dense_join: error: `out` ends with place 2 [wrong-join]",
        "",
        "the divided model: error: `out` is not whole [wrong-join]",
    ]


def test_a_tensor_of_two_operators() -> None:
    join = DIVIDED.operator("dense_join")
    model = evolve(DIVIDED, operators=(*DIVIDED.operators, evolve(join, id="again")))
    assert said(model) == "operator again: error: `out` is written twice [wrong-join]"


def test_slices_in_another_order() -> None:
    model = operator("dense_join", lambda each: evolve(each, inputs=each.inputs[::-1]))
    assert said(model).splitlines()[0] == (
        "operator dense_join: error: `out` is not `out` [2:6], `out` [0:2] along axis 1, one after the other "
        "[wrong-join]"
    )


def test_weights_of_other_channels() -> None:
    wrong = evolve(DIVIDED.tensors["dw.2to6"], data=DIVIDED.tensors["dw.2to6"].data[::-1])  # type: ignore[index]
    model = evolve(DIVIDED, tensors={**DIVIDED.tensors, "dw.2to6": wrong})
    assert said(model) == "operator dense_slice1: error: `dw.2to6` is not `dw` [2:6] [wrong-slice]"


def test_scales_of_other_channels() -> None:
    grid = Quantization(scale=(0.125,) * 4, zero_point=(0,), axis=0)
    model = evolve(
        DIVIDED, tensors={**DIVIDED.tensors, "dw.2to6": evolve(DIVIDED.tensors["dw.2to6"], quantization=grid)}
    )
    assert said(model) == "operator dense_slice1: error: `dw.2to6` is not `dw` [2:6] [wrong-slice]"


def test_another_stride() -> None:
    model = operator(
        "pool_slice0", lambda each: evolve(each, attributes={**each.attributes, "strides": (1, 2)})
    )
    assert said(model) == (
        "operator pool_slice0: error: it is not of the kind of `pool`, or has other attributes [wrong-slice]"
    )


def test_a_claim_of_other_places() -> None:
    claim = SliceOf(operator="pool", axis=1, start=1, stop=3)
    model = evolve(DIVIDED, slices={**DIVIDED.slices, "pool_slice0": claim})
    assert said(model).splitlines()[0] == (
        "operator pool_slice0: error: places pool[1:3] are not computed from `y` [0:4] with its padding "
        "[wrong-slice]"
    )


def test_a_claim_of_an_operator_that_the_model_does_not_have() -> None:
    claim = evolve(DIVIDED.slices["pool_slice0"], operator="pool_slice1")
    model = evolve(DIVIDED, slices={**DIVIDED.slices, "pool_slice0": claim})
    assert said(model).splitlines()[0] == (
        "operator pool_slice0: error: `pool_slice1` is no operator of the model [wrong-slice]"
    )


def test_a_view_of_every_second_row() -> None:
    model = operator(
        "pool_slice1_view0", lambda each: evolve(each, attributes={**each.attributes, "step": (1, 2, 1, 1)})
    )
    assert said(model).splitlines()[0] == (
        "operator pool_slice1_view0: error: it is no view of places along one axis [wrong-slice]"
    )


def test_a_view_beyond_the_end() -> None:
    model = operator(
        "pool_slice1_view0", lambda each: evolve(each, attributes={**each.attributes, "begin": (0, 5, 0, 0)})
    )
    assert said(model).splitlines()[0] == (
        "operator pool_slice1_view0: error: it has places 5 to 9 of `y` [3:8] [wrong-slice]"
    )


def test_a_part_for_the_whole() -> None:
    model = operator("dense_slice0", lambda each: evolve(each, inputs=("z.slice1",)))
    assert said(model) == ("operator dense_slice0: error: it reads `z` [2:4] for the whole `z` [wrong-slice]")


def test_an_operator_that_nobody_knows() -> None:
    model = operator("pool_slice0", lambda each: evolve(each, id="other"))
    assert said(model).splitlines()[0] == (
        "operator other: error: it is neither an operator of the model nor a slice of one [wrong-slice]"
    )


def test_another_input() -> None:
    model = evolve(DIVIDED, tensors={**DIVIDED.tensors, "x": DIVIDED.tensors["x"].with_extent(1, 9)})
    assert said(model).splitlines()[0] == (
        "the divided model: error: `x` is another tensor than that of the model [wrong-slice]"
    )
