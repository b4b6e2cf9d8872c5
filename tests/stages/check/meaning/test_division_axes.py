"""Slices of every kind of operator along every axis, with operands that are whole or cut along any axis: what
is accepted is listed, and computes the places that it claims.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pytest
from attrs import evolve

from target_arch.plan.division import SliceOf
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import is_hybrid
from target_arch.stages.check.meaning.division import division_faults
from target_arch.stages.division.axes import axis_of
from tests.conftest import GoldenCheck
from tests.stages.check.meaning.test_division_faults import CASES, MATRIX, POOL, Case, Shape, _window

K = OperatorKind
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
START, STOP = 1, 3
"""The places of each slice."""
ONE = _window(0, 0, 0, 0)

OTHERS = (
    Case(name="rows of convolutions", kind=K.CONV2D, inputs=((1, 6, 4, 3),), output=(1, 6, 4, 4),
         constants=((4, 1, 1, 3), (4,)), attributes=ONE),
    Case(name="transposed", kind=K.CONV2D_TRANSPOSE, inputs=((1, 5, 4, 3),), output=(1, 5, 4, 4),
         constants=((4, 1, 1, 3), (4,)), attributes=ONE),
    Case(name="pointwise depthwise", kind=K.DEPTHWISE_CONV2D, inputs=((1, 5, 4, 4),), output=(1, 5, 4, 4),
         constants=((1, 1, 4, 1), (4,)), attributes=ONE),
    Case(name="pool of one", kind=K.MAX_POOL2D, inputs=((1, 5, 4, 4),), output=(1, 5, 4, 4),
         attributes={**POOL, "kernel": (1, 1), "strides": (1, 1), "padding": (0, 0, 0, 0)}),
    Case(name="dense of rows in one", kind=K.DENSE, inputs=((4, 5, 8),), output=(20, 6), constants=MATRIX,
         attributes={"in_features": 8}),
    Case(name="dense into heads", kind=K.DENSE, inputs=((1, 5, 8),), output=(1, 5, 2, 3), constants=MATRIX,
         attributes={"in_features": 8}),
    Case(name="dense of heads", kind=K.DENSE, inputs=((1, 5, 2, 4),), output=(1, 5, 6), constants=MATRIX,
         attributes={"in_features": 8}),
    Case(name="dense of halves of rows", kind=K.DENSE, inputs=((6, 4),), output=(6, 3), constants=MATRIX,
         attributes={"in_features": 8}),
    Case(name="dense of halves in an image", kind=K.DENSE, inputs=((1, 6, 4),), output=(1, 6, 3),
         constants=MATRIX, attributes={"in_features": 8}),
    Case(name="square sum", kind=K.ADD, inputs=((4, 4), (4, 4)), output=(4, 4)),
    Case(name="sum with a column", kind=K.ADD, inputs=((4, 4), (4, 1)), output=(4, 4)),
    Case(name="sum with one number", kind=K.ADD, inputs=((4, 5), (1, 1)), output=(4, 5)),
    Case(name="square exponentials", kind=K.SOFTMAX, inputs=((4, 4, 4),), output=(4, 4, 4),
         attributes={"axis": -1}),
    Case(name="square matrices", kind=K.MATMUL, inputs=((4, 4, 4), (4, 4, 4)), output=(4, 4, 4)),
    Case(name="one row by matrices", kind=K.MATMUL, inputs=((4, 1, 4), (1, 4, 4)), output=(4, 1, 4)),
    Case(name="matrices by constants", kind=K.MATMUL, inputs=((4, 5, 3),), output=(4, 5, 6),
         constants=((4, 3, 6),)),
    Case(name="matrices that do not fit", kind=K.MATMUL, inputs=((4, 5, 3), (3, 3, 6)), output=(4, 5, 6)),
    Case(name="sum with a constant", kind=K.ADD, inputs=((4, 5),), output=(4, 5), constants=((4, 5),)),
    Case(name="positive of another shape", kind=K.RELU, inputs=((1, 5, 4),), output=(1, 4, 5)),
    Case(name="positive of the other shape", kind=K.RELU, inputs=((1, 4, 5),), output=(1, 5, 4)),
    Case(name="more matrices than fit", kind=K.MATMUL, inputs=((6, 5, 3), (4, 3, 6)), output=(4, 5, 6)),
    Case(name="normalized", kind=K.NORMALIZE, inputs=((4, 4, 4),), output=(4, 4, 4)),
    Case(name="dense of rows in a column", kind=K.DENSE, inputs=((20, 1, 8),), output=(20, 6),
         constants=MATRIX, attributes={"in_features": 8}),
    Case(name="dense of rows into a column", kind=K.DENSE, inputs=((20, 8),), output=(20, 1, 6),
         constants=MATRIX, attributes={"in_features": 8}),
    Case(name="joined squares", kind=K.CONCAT, inputs=((4, 4), (4, 4)), output=(4, 8),
         attributes={"axis": 1}),
    Case(name="joined cubes", kind=K.CONCAT, inputs=((4, 4, 4), (4, 4, 4)), output=(4, 8, 4),
         attributes={"axis": 1}),
    Case(name="square image of another size", kind=K.RESIZE, inputs=((4, 4, 4, 4),), output=(4, 4, 4, 4),
         constants=((4,), (4,)), attributes={"operator": "nearest"}),
    Case(name="image weighed", kind=K.RESIZE, inputs=((1, 4, 4, 2),), output=(1, 4, 4, 2),
         constants=((4, 2), (4, 2), (4, 2), (4, 2)), attributes={"operator": "weighed"}),
    Case(name="image resized by a call", kind=K.RESIZE, inputs=((4, 4, 4, 4),), output=(4, 4, 4, 4),
         attributes={"relax_op": "image.resize2d"}),
    Case(name="square table", kind=K.LOOKUP, inputs=((4, 4),), output=(4, 4), constants=((4, 4),)),
)  # fmt: skip
"""Operands of equal extents, where a wrong axis has the right shape, and operators without slices."""


def _tensor_cut(tensor: Tensor, name: str, axis: int) -> Tensor:
    shape = (*tensor.shape[:axis], STOP - START, *tensor.shape[axis + 1 :])
    if tensor.data is None:
        return evolve(tensor, name=name, shape=shape)
    values = np.frombuffer(tensor.data, tensor.dtype).reshape(tensor.shape)
    grid = tensor.quantization
    if grid is not None and grid.axis == axis and len(grid.scale) > 1:
        zeros = grid.zero_point if len(grid.zero_point) == 1 else grid.zero_point[START:STOP]
        grid = evolve(grid, scale=grid.scale[START:STOP], zero_point=zeros)
    data = values.take(range(START, STOP), axis=axis).tobytes()
    return evolve(tensor, name=name, shape=shape, data=data, quantization=grid)


def _divided(model: Model, axis: int, cuts: Sequence[int | None]) -> Model:
    """The model with one slice of its first operator, whose operands are whole or cut along these axes."""
    it = model.operator("it")
    operators: list[Operator] = []
    tensors, names = dict(model.tensors), list[str]()
    for operand, cut in zip((*it.inputs, *it.constants), cuts, strict=True):
        if cut is None:
            names.append(operand)
            continue
        made = _tensor_cut(model.tensors[operand], f"{operand}.cut", cut)
        tensors[made.name] = made
        names.append(made.name)
        if made.data is None:
            begin = tuple(START if each == cut else 0 for each in range(len(made.shape)))
            operators.append(
                Operator(
                    id=f"{operand}_view",
                    kind=K.SLICE,
                    arithmetic=Arithmetic.TFLITE,
                    inputs=(operand,),
                    constants=(),
                    output=made.name,
                    attributes={"begin": begin, "step": (1,) * len(begin)},
                )
            )
    own = _tensor_cut(model.tensors["y"], "y.slice", axis)
    inputs = len(it.inputs)
    sliced = evolve(
        it, id="slice", inputs=tuple(names[:inputs]), constants=tuple(names[inputs:]), output=own.name
    )
    return evolve(
        model,
        tensors={**tensors, own.name: own},
        operators=(*operators, sliced),
        slices={"slice": SliceOf(operator="it", axis=axis, start=START, stop=STOP)},
    )


def _ways(shape: Shape) -> list[int | None]:
    return [None, *(axis for axis, extent in enumerate(shape) if extent >= STOP)]


def accepted(model: Model) -> Iterator[tuple[int, tuple[int | None, ...]]]:
    """Every axis of the result, with the cuts of operands that the checker takes for a slice of it."""
    it = model.operator("it")
    shapes = [model.tensors[name].shape for name in (*it.inputs, *it.constants)]
    for axis, extent in enumerate(model.tensors[it.output].shape):
        if extent < STOP:
            continue
        for cuts in product(*map(_ways, shapes)):
            faults = division_faults(model, _divided(model, axis, cuts))
            if not [each for each in faults if str(each.place) == "operator slice"]:
                yield axis, cuts


def _softmax(x: Values) -> Values:
    powers = np.exp(x - x.max())
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _resized(x: Values, *tables: Values) -> Values:
    rows, columns = tables[: len(tables) // 2], tables[len(tables) // 2 :]
    for axis, (places, *weights) in ((1, rows), (2, columns)):
        taken = x.take(np.abs(places).astype(int) % x.shape[axis], axis=axis)
        inner = (1,) * (taken.ndim - axis - places.ndim)
        x = (taken * weights[0].reshape(places.shape + inner)).sum(axis=axis + 1) if weights else taken
    return x


COMPUTE: Mapping[OperatorKind, Callable[..., Values]] = {
    K.ADD: lambda one, other: one + other,
    K.CONCAT: lambda *parts: np.concatenate(parts, axis=1),
    K.RESIZE: _resized,
    K.MATMUL: lambda one, other: one @ other,
    K.RELU: lambda x: np.maximum(x, 0.0),
    K.SOFTMAX: _softmax,
    K.DENSE: lambda x, w, b: x.reshape(-1, w.shape[1]) @ w.T + b,
    K.LOOKUP: lambda x, table: table.reshape(-1)[np.abs(x).astype(int) % table.size],
}
"""What kinds compute whose slices the test computes."""


def _is_computed(case: Case, axis: int, cuts: Sequence[int | None]) -> bool:
    draw = np.random.default_rng(1)
    shapes = (*case.inputs, *case.constants)
    values = [draw.integers(-9, 9, shape).astype(float) for shape in shapes]
    places = range(START, STOP)
    parts = [
        each if cut is None else each.take(places, axis=cut) for each, cut in zip(values, cuts, strict=True)
    ]
    compute = COMPUTE[case.kind]
    made = compute(*parts)
    wanted = compute(*values).reshape(case.output).take(places, axis=axis)
    return made.size == wanted.size and bool(np.allclose(made.reshape(wanted.shape), wanted))


@pytest.mark.parametrize("case", [*CASES, *OTHERS], ids=lambda case: case.name)
def test_slices_along_every_axis(case: Case) -> None:
    """What is accepted is right, where the test computes it."""
    found = list(accepted(case.model))
    if case.kind in COMPUTE and not case.name.endswith("fit"):
        assert [each for each in found if not _is_computed(case, *each)] == []


def test_a_pool_of_one_place_is_not_divided() -> None:
    """The checker accepts no slices along its channels, so the search asks for none."""
    attributes = {**POOL, "kernel": (1, 1), "strides": (1, 1), "padding": (0, 0, 0, 0)}
    shape = (1, 1, 1, 8)
    case = Case(name="", kind=K.MAX_POOL2D, inputs=(shape,), output=shape, attributes=attributes)
    assert not list(accepted(case.model))
    assert axis_of(case.model.operator("it"), case.model) is None


def _printed(cuts: Sequence[int | None]) -> str:
    return ", ".join("-" if cut is None else str(cut) for cut in cuts)


@pytest.mark.parametrize("name", ["dense of rows", "conv of channels", "sum with a constant"])
@pytest.mark.parametrize("grid", [None, Quantization(scale=(0.5,), zero_point=(0,), axis=0)])
def test_constants_without_scales_of_their_places(name: str, grid: Quantization | None) -> None:
    model = next(case.model for case in (*CASES, *OTHERS) if case.name == name)
    plain = {each.name: evolve(each, quantization=grid) for each in model.tensors.values() if each.data}
    assert list(accepted(evolve(model, tensors={**model.tensors, **plain}))) == list(accepted(model))


def test_scales_along_the_last_axis_stay_in_a_cut_along_the_first_one() -> None:
    model = next(case.model for case in OTHERS if case.name == "sum with a constant")
    grid = Quantization(scale=(0.5, 1.0, 1.5, 2.0, 2.5), zero_point=(0,), axis=1)
    changed = evolve(model.tensors["w0"], quantization=grid)
    found = list(accepted(evolve(model, tensors={**model.tensors, "w0": changed})))
    assert found == list(accepted(model)) == [(0, (0, 0)), (1, (1, 1))]


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
def test_a_constant_of_another_type_with_the_same_bytes(dtype: str) -> None:
    model = next(case.model for case in CASES if case.name == "dense of rows")
    divided = _divided(model, 1, (None, 0, 0))
    other = evolve(divided.tensors["w0.cut"], dtype=dtype)
    faults = division_faults(model, evolve(divided, tensors={**divided.tensors, "w0.cut": other}))
    assert "`w0.cut` is not `w0` [1:3]" in [each.message for each in faults]


@pytest.mark.parametrize("name", ["dense of rows", "rows of convolutions", "dense of rows in one"])
def test_floats_with_integer_weights_have_no_slices(name: str) -> None:
    """Their values get one scale for all places, which a slice does not know."""
    model = next(case.model for case in (*CASES, *OTHERS) if case.name == name)
    floats = {
        each.name: evolve(each, dtype="float32", quantization=None)
        for each in model.tensors.values()
        if each.data is None
    }
    operators = tuple(evolve(each, arithmetic=Arithmetic.FLOAT) for each in model.operators)
    hybrid = evolve(model, tensors={**model.tensors, **floats}, operators=operators)
    assert is_hybrid(hybrid.operator("it"), hybrid)
    assert list(accepted(hybrid)) == []


@pytest.mark.parametrize("kind", [K.ADD, K.RELU])
def test_scales_of_places_are_of_no_slice(kind: OperatorKind) -> None:
    """Values on a grid for each place mean something else in a slice that has the first ones."""
    model = next(case.model for case in (*CASES, *OTHERS) if case.kind is kind)
    extent = model.tensors["y"].shape[-1]
    grid = Quantization(scale=tuple(0.5 + n for n in range(extent)), zero_point=(0,) * extent, axis=1)
    many = evolve(model, tensors={**model.tensors, "y": evolve(model.tensors["y"], quantization=grid)})
    assert list(accepted(many)) == []


def test_what_is_accepted(golden: GoldenCheck) -> None:
    lines = [
        f"{case.name}: axis {axis} of operands cut along {_printed(cuts)}"
        for case in (*CASES, *OTHERS)
        for axis, cuts in accepted(case.model)
    ]
    golden("division_axes", "\n".join(lines) + "\n")
