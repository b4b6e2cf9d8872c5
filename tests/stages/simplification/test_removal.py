"""The smaller model has the larger one's results, bit for bit."""

from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from conformance.channel_networks import Network, Values, random_network
from target_arch.plan.input_range import InputRange
from target_arch.plan.model import Model, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.importer import import_model
from target_arch.run.exact.oracle import exact, exact_outputs
from target_arch.stages.simplification.channel_range import ChannelRange
from target_arch.stages.simplification.ranges import channel_ranges
from target_arch.stages.simplification.removal import without_dead_channels

SEEDS = range(40)


def frames(model: Model, seed: int) -> list[Values]:
    """Random inputs, and those of extremes alone."""
    draw = np.random.default_rng(seed)
    shape = model.tensors[model.inputs[0]].shape
    return [
        *(draw.integers(-128, 128, shape).astype(np.int8) for _ in range(3)),
        draw.choice(np.array([-128, 127], np.int8), shape),
    ]


PROMISES = (InputRange(low=0, high=127), InputRange(low=-9, high=40), InputRange(low=7, high=7))


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_what_is_promised_of_an_input(promise: InputRange, seed: int) -> None:
    """Results are equal, every value is in its range, and never is more computed than without a promise."""
    model, _ = random_network(seed)
    promised = evolve(model, input_ranges={model.inputs[0]: promise})
    smaller, ranges = without_dead_channels(promised), channel_ranges(promised)
    assert channels(smaller) <= channels(without_dead_channels(model))
    for frame in (np.clip(each, promise.low, promise.high).astype(np.int8) for each in frames(model, seed)):
        results = exact_values(model, frame)
        (found,) = exact_outputs(smaller, [frame]) or ()
        np.testing.assert_array_equal(found, results[model.outputs[0]])
        for name, values in results.items():
            rows = values.reshape(-1, values.shape[-1])
            assert (rows >= ranges[name].low).all(), name
            assert (rows <= ranges[name].high).all(), name


def channels(model: Model) -> int:
    """How many channels all activations have."""
    return sum(model.tensors[operator.output].shape[-1] for operator in model.operators)


@pytest.mark.parametrize("seed", SEEDS)
def test_results_are_equal_in_every_bit(seed: int) -> None:
    model, _ = random_network(seed)
    smaller = without_dead_channels(model)
    for frame in frames(model, seed):
        before, after = exact_outputs(model, [frame]), exact_outputs(smaller, [frame])
        assert before is not None
        assert after is not None
        np.testing.assert_array_equal(before[0], after[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_no_value_is_outside_of_its_range(seed: int) -> None:
    model, _ = random_network(seed)
    ranges = channel_ranges(model)
    for frame in frames(model, seed):
        for name, values in exact_values(model, frame).items():
            rows = values.reshape(-1, values.shape[-1])
            assert (rows >= ranges[name].low).all(), name
            assert (rows <= ranges[name].high).all(), name


def exact_values(model: Model, frame: Values) -> dict[str, Values]:
    """Every tensor that is computed from a frame, and the frame."""
    values = {model.inputs[0]: frame}
    for operator in model.operators:
        result = exact(operator, model, values)
        assert result is not None
        values[operator.output] = result
    return values


def test_random_networks_have_something_to_remove() -> None:
    smaller = 0
    for seed in SEEDS:
        model, _ = random_network(seed)
        smaller += channels(without_dead_channels(model)) < channels(model)
    assert smaller > len(SEEDS) * 3 // 4


def chain(*, weight: int, bias: int, pad: int) -> Model:
    """One channel of four in the first convolution has this weight and bias; a second one reads it."""
    net = Network(np.random.default_rng(1))
    start = net.activation((1, 4, 4, 2))
    taps = np.full((4, 1, 1, 2), 9, np.int8)
    taps[2] = weight
    first = _conv2d(net, start, taps, np.array([5, -7, bias, 11], np.int32), 0)
    out = _conv2d(net, first, np.full((3, 3, 3, 4), 3, np.int8), np.zeros(3, np.int32), pad)
    return net.model((start,), (out,))


def _conv2d(net: Network, source: str, taps: Values, bias: Values, pad: int) -> str:
    _, height, width, _ = net.tensors[source].shape
    outputs, kernel = taps.shape[:2]
    less = kernel - 1 - 2 * pad
    scales = np.array([0.01], np.float32)
    return net.add(
        OperatorKind.CONV2D,
        (source,),
        net.activation((1, height - less, width - less, outputs)),
        (net.constant(taps, scales), net.constant(bias, scales)),
        {"strides": (1, 1), "padding": (pad,) * 4, "dilation": (1, 1)},
    )


def test_a_channel_without_weights_is_in_the_biases_of_its_reader() -> None:
    smaller = without_dead_channels(chain(weight=0, bias=900, pad=0))
    assert str(smaller).count("int8[1,4,4,3]") == 1


def test_a_constant_other_than_zero_under_padding_stays() -> None:
    model = chain(weight=0, bias=900, pad=1)
    assert without_dead_channels(model).tensors == model.tensors


def test_nothing_to_remove_is_the_same_model() -> None:
    model = chain(weight=1, bias=0, pad=0)
    assert without_dead_channels(model).tensors == model.tensors


def test_half_of_the_visual_wake_words_is_dead(shared: Path) -> None:
    model, _ = import_model(shared / "models" / "vww_96_int8.tflite")
    smaller = without_dead_channels(model)
    macs = [sum(one.macs(operator) for operator in one.operators) for one in (model, smaller)]
    assert macs == [7_489_664, 3_727_313]
    assert str(smaller.simplification) == (
        "1,958 of 2,996 channels are constant, unread or equal to others and left out: 3,727,313 of "
        "7,489,664 MACs and 33,122 of 219,064 B of constants stay"
    )


def test_a_range_prints_its_extremes() -> None:
    model = chain(weight=0, bias=900, pad=0)
    assert str(channel_ranges(model)[model.operators[0].output]).startswith("4 channels, 1 constant, ")


def test_a_constant_without_elements_has_no_range() -> None:
    """As ONNX's ConstantOfShape makes one of a shape with a zero."""
    nothing = Tensor(name="c", shape=(0,), dtype="int32", data=b"")
    assert ChannelRange.of_constant(nothing) is None
