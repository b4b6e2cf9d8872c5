"""Tensors that are constant as a whole are constants, and nothing computes them."""

import numpy as np
import pytest
from attrs import evolve

from conformance.channel_networks import Network, Values
from target_arch.plan.model import Model
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run.exact.oracle import exact_outputs
from target_arch.stages.simplification.removal import without_dead_channels


def network() -> tuple[Network, str]:
    net = Network(np.random.default_rng(5))
    return net, net.activation((1, 4, 4, 3))


def known(net: Network, source: str, like: str = "") -> str:
    """A convolution without weights."""
    every = np.ones(3, np.bool_)
    name = net.conv2d(source, 3, dead=every, saturated=np.zeros(3, np.int64))
    if like:
        net.tensors[name] = evolve(net.tensors[name], quantization=net.tensors[like].quantization)
    return name


def live(net: Network, source: str, kernel: int = 1, pad: int = 0) -> str:
    """A convolution that reads everything."""
    none = np.zeros(3, np.bool_)
    channels = np.zeros(net.tensors[source].shape[-1], np.bool_)
    saturated = np.zeros(3, np.int64)
    return net.conv2d(source, 3, kernel=kernel, pad=pad, dead=none, unread=channels, saturated=saturated)


def without(model: Model) -> str:
    """The operators of the smaller model by kind, operands and constants, which has the same results."""
    smaller = without_dead_channels(model)
    draw = np.random.default_rng(7)
    for _ in range(3):
        frame: list[Values] = [draw.integers(-128, 128, (1, 4, 4, 3)).astype(np.int8)]
        before, after = exact_outputs(model, frame), exact_outputs(smaller, frame)
        assert before is not None
        assert after is not None
        assert all(map(np.array_equal, before, after))
    assert {name for op in smaller.operators for name in (*op.inputs, *op.constants, op.output)} | {
        *smaller.inputs
    } == {*smaller.tensors}
    return " ".join(f"{op.kind}/{len(op.inputs)}/{len(op.constants)}" for op in smaller.operators)


@pytest.mark.parametrize("kind", [OperatorKind.ADD, OperatorKind.MUL, OperatorKind.SUB])
def test_an_operand_is_a_constant(kind: OperatorKind) -> None:
    net, start = network()
    out = net.add(kind, (live(net, start), known(net, start)), net.activation((1, 4, 4, 3)))
    assert without(net.model((start,), (out,))) == f"conv2d/1/2 {kind}/1/1"


def test_what_is_subtracted_from_is_written_since_a_constant_has_no_place_there() -> None:
    net, start = network()
    out = net.add(OperatorKind.SUB, (known(net, start), live(net, start)), net.activation((1, 4, 4, 3)))
    assert without(net.model((start,), (out,))) == "tile/0/1 conv2d/1/2 sub/2/0"


def test_a_result_is_written_without_what_computed_it() -> None:
    net, start = network()
    out = live(net, known(net, live(net, start)))
    assert without(net.model((start,), (out,))) == "tile/0/1"


def test_under_padding_it_is_written_since_the_rim_differs() -> None:
    net, start = network()
    out = live(net, known(net, live(net, start)), kernel=3, pad=1)
    assert without(net.model((start,), (out,))) == "tile/0/1 conv2d/1/2"


def test_a_concat_is_without_it_where_biases_have_it() -> None:
    net, start = network()
    alive = live(net, start)
    joined = net.add(
        OperatorKind.CONCAT,
        (alive, known(net, start, like=alive)),
        net.activation((1, 4, 4, 6), like=alive),
        (),
        {"axis": 3},
    )
    assert without(net.model((start,), (live(net, joined),))) == "conv2d/1/2 reshape/1/0 conv2d/1/2"
