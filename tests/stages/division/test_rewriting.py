"""A divided model computes what the model computes, whatever the division."""

from math import prod

import numpy as np
import pytest
from attrs import evolve

from conformance.channel_networks import Network, random_network
from target_arch.plan.division import Cut, Share
from target_arch.plan.model import Model
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run.exact.oracle import exact_outputs
from target_arch.stages.check.meaning.division import division_faults
from target_arch.stages.division import axes
from target_arch.stages.division.axes import axis_of, channels_of
from tests.backends.c.one import one_operator, quantized
from tests.stages.division.random_divisions import divided_at, random_cut, random_division


def require_same_bits(draw: np.random.Generator, model: Model, made: Model) -> None:
    """The checker finds nothing in a divided model, and it has the results of the model."""
    assert not tuple(division_faults(model, made))
    frame = [draw.integers(-128, 128, model.tensors[name].shape, dtype=np.int8) for name in model.inputs]
    whole, divided = exact_outputs(model, frame), exact_outputs(made, frame)
    assert whole is not None
    assert divided is not None
    for ours, theirs in zip(divided, whole, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("seed", range(40))
def test_random_divisions_keep_every_bit(seed: int) -> None:
    draw = np.random.default_rng(seed)
    model, _ = random_network(seed)
    made = divided_at(model, random_division(draw, model)).model
    assert made.slices
    require_same_bits(draw, model, made)


MATRICES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((6, 5), (5, 7), (6, 7)),
    ((1, 6, 5), (1, 5, 7), (1, 6, 7)),
    ((4, 3, 5), (4, 5, 2), (4, 3, 2)),
    ((1, 3, 4, 8), (2, 1, 8, 5), (2, 3, 4, 5)),
    ((5, 4, 8), (8, 5), (5, 4, 5)),
    ((4, 8), (5, 8, 3), (5, 4, 3)),
)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shapes", MATRICES, ids=str)
def test_products_of_two_activations_keep_every_bit(shapes: tuple[tuple[int, ...], ...], seed: int) -> None:
    """A matrix that is the same for all slices is read whole; another operand in its place is found."""
    a, b = (quantized(name, shape, 0.05, 3) for name, shape in zip("ab", shapes[:2], strict=True))
    out = quantized("out", shapes[2], 0.11, 17)
    model = one_operator("matmul", "onnx", [a, b], out, macs_per_output=shapes[0][-1])
    draw = np.random.default_rng(seed)
    cut = random_cut(draw, model, model.operators[0])
    assert cut is not None
    made = divided_at(model, {cut.operator: cut}).model
    require_same_bits(draw, model, made)
    for number, operator in enumerate(made.operators):
        if operator.id in made.slices:
            swapped = evolve(operator, inputs=operator.inputs[::-1])
            operators = (*made.operators[:number], swapped, *made.operators[number + 1 :])
            assert tuple(division_faults(model, evolve(made, operators=operators)))


def dense(draw: np.random.Generator, x: tuple[int, ...], out: tuple[int, ...]) -> Model:
    """A dense layer of rows of eight."""
    net = Network(draw)
    source = net.activation(x)
    channels = prod(out) * 8 // prod(x)
    weights = net.constant(draw.integers(-127, 128, (channels, 8), dtype=np.int8), np.array([0.01]))
    bias = net.constant(draw.integers(-99, 99, channels, dtype=np.int32), np.array([0.0005]))
    result = net.activation(out)
    net.add(OperatorKind.DENSE, (source,), result, (weights, bias), {"in_features": 8})
    return net.model((source,), (result,))


@pytest.mark.parametrize(
    ("x", "out"),
    [((6, 8), (6, 5)), ((1, 6, 8), (1, 6, 2, 3)), ((1, 6, 2, 4), (1, 6, 5)), ((3, 2, 8), (3, 2, 2, 2))],
    ids=str,
)
def test_rows_of_a_dense_layer_may_have_several_dimensions(x: tuple[int, ...], out: tuple[int, ...]) -> None:
    draw = np.random.default_rng(0)
    model = dense(draw, x, out)
    cut = random_cut(draw, model, model.operators[0])
    assert cut is not None
    require_same_bits(draw, model, divided_at(model, {cut.operator: cut}).model)


@pytest.mark.parametrize(
    ("x", "out"),
    [
        ((6, 8), (1, 6, 5)),
        ((6, 8), (2, 3, 5)),
        ((1, 6, 8), (1, 2, 3, 5)),
        ((6, 4), (6, 3)),
    ],
    ids=str,
)
def test_parts_of_rows_are_no_slices(
    x: tuple[int, ...], out: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the checker take them for some, where the rewriting does."""
    draw = np.random.default_rng(0)
    model = dense(draw, x, out)
    assert axis_of(model.operators[0], model) is None
    monkeypatch.setattr(axes, "_dense_rows", lambda operator, model, axis: axes._one(0, x[axis], axis))
    cut = random_cut(draw, model, model.operators[0])
    assert cut is not None
    found = tuple(division_faults(model, divided_at(model, {cut.operator: cut}).model))
    assert any("has no slices along axis" in fault.message for fault in found)


@pytest.mark.parametrize("seed", range(4))
def test_channels_keep_every_bit(seed: int) -> None:
    """A convolution by its channels, whose result a window reads, and rows of another one."""
    draw = np.random.default_rng(seed)
    net = Network(draw)
    start = net.activation((1, 3, 3, 16))
    wide = net.conv2d(start, 32, kernel=3, pad=1)
    made = net.conv2d(wide, 32, kernel=3, pad=1)
    model = net.model((start,), (net.conv2d(made, 4),))
    first, second, last = model.operators
    assert [channels_of(each, model) is None for each in model.operators] == [False, False, True]
    halves = tuple(Share(instance="dsp_cpu", start=at, stop=at + 16) for at in (0, 16))
    division = {each.id: Cut(operator=each.id, axis=3, shares=halves) for each in (first, second)}
    cut = random_cut(draw, model, last)
    assert cut is not None
    made_of = divided_at(model, {**division, last.id: cut}).model
    require_same_bits(draw, model, made_of)
    swapped = [evolve(each, inputs=each.inputs[::-1]) for each in made_of.operators if "join" in each.id]
    operators = tuple({each.id: each for each in (*made_of.operators, *swapped)}.values())
    assert tuple(division_faults(model, evolve(made_of, operators=operators)))


def test_channels_are_an_axis_where_weights_are_larger_than_images() -> None:
    net = Network(np.random.default_rng(0))
    start = net.activation((1, 9, 9, 16))
    model = net.model((start,), (net.conv2d(start, 16, kernel=3, pad=1),))
    assert channels_of(model.operators[0], model) is None


def test_two_rows_in_one_are_not_divided_by_channels() -> None:
    model = dense(np.random.default_rng(0), (2, 8), (1, 12))
    assert axis_of(model.operators[0], model) is None


def test_one_range_along_two_axes_is_two_views() -> None:
    """Rows 0 and 1 of a tensor for one reader are not columns 0 and 1 of it for another."""
    draw = np.random.default_rng(0)
    net = Network(draw)
    start = net.activation((1, 4, 4, 3))
    other = net.add(OperatorKind.REQUANTIZE, (start,), net.activation((1, 4, 4, 3)))
    window = {"kernel": (4, 1), "strides": (1, 1), "padding": (0, 0, 0, 0)}
    mean = net.add(OperatorKind.AVG_POOL2D, (start,), net.activation((1, 1, 4, 3), like=start), (), window)
    model = net.model((start,), (other, mean))
    shares = tuple(Share(instance="dsp_cpu", start=first, stop=first + 2) for first in (0, 2))
    cuts = [
        Cut(operator=operator.id, axis=axis, shares=shares)
        for operator, axis in zip(model.operators, (1, 2), strict=True)
    ]
    require_same_bits(draw, model, divided_at(model, {cut.operator: cut for cut in cuts}).model)
