"""Random integer networks with channels that no result depends on: whether every one of them is removed, and
no bit of a result changes.

    python -m conformance.planted_channels --nets 1000 --seed 1

A channel is planted in one of three ways: it has no weights, its bias saturates it whatever the input is, or
nobody who reads it has a weight for it. It goes on through depthwise convolutions, sums, products, pools,
requantizations and concatenations before a convolution or a dense layer reads it. A tensor keeps one channel
whatever it holds, so networks with a tensor that is constant as a whole are drawn again.

Ends with 1 where a planted channel is left, or a result differs from that of the whole network, both computed
by the exact oracle.
"""

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from attrs import define, evolve, field, frozen

from conformance.channel_networks import Network, Values
from target_arch.plan.model import Model
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run.exact.oracle import exact_outputs
from target_arch.stages.simplification.ranges import channel_ranges
from target_arch.stages.simplification.removal import without_dead_channels

SHARE = 0.4
"""Of channels that are planted."""
SATURATED = 10**7
"""A bias beyond every sum of products of these layers."""
FRAMES = 4
IMAGE = 13


@frozen(kw_only=True)
class Planted:
    """A network; by tensor, how many of its channels were planted, and in which way."""

    model: Model
    dead: dict[str, int]
    ways: dict[str, int]


@frozen(kw_only=True)
class Outcome:
    """What became of a network: channels that were planted, those of them that are left, wrong results."""

    planted: int
    left: tuple[str, ...]
    wrong: int

    @property
    def right(self) -> bool:
        """Everything planted is gone, and every bit is as it was."""
        return not self.left and not self.wrong


@define
class _Planting:
    """A network that grows at its tip. Of the tip's channels, those `dead` are planted, and those `constant`
    among them have one value whatever the input is; the others may have no reader.
    """

    net: Network
    tip: str
    dead: Values = field(init=False)
    constant: Values = field(init=False)
    planted: dict[str, int] = field(factory=dict)
    ways: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.dead = self.constant = np.zeros(self.net.tensors[self.tip].shape[-1], np.bool_)

    def conv2d(self, outputs: int, kernel: int) -> None:
        """Read everything but what is planted, and plant anew."""
        unread, source = self.dead & ~self.constant, self.tip
        self.tip, self.dead, self.constant = self._convolution(source, outputs, kernel, unread, None)
        self._note()

    def depthwise(self, multiplier: int) -> None:
        """Keep planted channels, each as often as the multiplier says."""
        self.dead, self.constant = (np.repeat(each, multiplier) for each in (self.dead, self.constant))
        self.tip = self.net.depthwise(self.tip, pad=0, multiplier=multiplier, dead=np.zeros_like(self.dead))
        self._note()

    def elementwise(self, kind: OperatorKind) -> None:
        """Meet a convolution of the same tensor with the same channels planted: what either of two channels
        leaves open is not constant.
        """
        channels = len(self.dead)
        unread = self.dead & ~self.constant
        other, _, constant = self._convolution(self.tip, channels, 1, unread, self.dead)
        self.planted[other] = int(self.dead.sum())
        self.constant = self.constant & constant
        self.tip = self.net.add(
            kind, (self.tip, other), self.net.activation(self.net.tensors[self.tip].shape)
        )
        self._note()

    def concatenate(self, outputs: int) -> None:
        """Add channels of another convolution of the same tensor, on the same grid."""
        tensors, tip = self.net.tensors, self.tip
        unread = self.dead & ~self.constant
        other, dead, constant = self._convolution(tip, outputs, 1, unread, None)
        self.planted[other] = int(dead.sum())
        tensors[other] = evolve(tensors[other], quantization=tensors[tip].quantization)
        shape = (*tensors[tip].shape[:-1], len(self.dead) + outputs)
        self.tip = self.net.add(
            OperatorKind.CONCAT, (tip, other), self.net.activation(shape, like=tip), (), {"axis": 3}
        )
        self.dead = np.concatenate([self.dead, dead])
        self.constant = np.concatenate([self.constant, constant])
        self._note()

    def pool(self, kind: OperatorKind, size: int) -> None:
        """Look at windows of this size."""
        batch, height, width, channels = self.net.tensors[self.tip].shape
        shape = (batch, height - size + 1, width - size + 1, channels)
        window = {"kernel": (size, size), "strides": (1, 1), "padding": (0, 0, 0, 0)}
        self.tip = self.net.add(kind, (self.tip,), self.net.activation(shape, like=self.tip), (), window)
        self._note()

    def requantize(self) -> None:
        """Go on with another grid."""
        shape = self.net.tensors[self.tip].shape
        self.tip = self.net.add(OperatorKind.REQUANTIZE, (self.tip,), self.net.activation(shape))
        self._note()

    def finished(self, outputs: int) -> Planted:
        """The network with a dense layer over everything that is not planted."""
        shape = self.net.tensors[self.tip].shape
        row = int(np.prod(shape))
        flat = self.net.add(OperatorKind.RESHAPE, (self.tip,), self.net.activation((1, row), like=self.tip))
        unread = np.tile(self.dead & ~self.constant, row // shape[-1])
        out = self.net.dense(flat, outputs, unread)
        start = self.net.operators[0].inputs
        return Planted(model=self.net.model(start, (out,)), dead=self.planted, ways=self.ways)

    def _convolution(
        self, source: str, outputs: int, kernel: int, unread: Values, dead: Values | None
    ) -> tuple[str, Values, Values]:
        """Plant these channels of a convolution, or drawn ones. Returns its name, which channels are
        planted, and which of them are constant.
        """
        draw = self.net.draw
        if dead is None:
            dead = draw.random(outputs) < SHARE
            dead[int(draw.integers(0, outputs))] = False
        way = draw.choice(["no weights", "saturated", "unread"], outputs)
        for each in way[dead]:
            self.ways[each] = self.ways.get(each, 0) + 1
        name = self.net.conv2d(
            source,
            outputs,
            kernel=kernel,
            dead=dead & (way == "no weights"),
            unread=unread,
            saturated=np.where(dead & (way == "saturated"), draw.choice([-SATURATED, SATURATED], outputs), 0),
        )
        return name, dead, dead & (way != "unread")

    def _note(self) -> None:
        self.planted[self.tip] = int(self.dead.sum())


def planted(seed: int) -> Planted:
    """Draw a network."""
    draw = np.random.default_rng(seed)
    while _is_constant_somewhere(drawn := _drawn(draw)):
        pass
    return drawn


def _drawn(draw: np.random.Generator) -> Planted:
    net = Network(draw, Arithmetic.TFLITE if draw.random() < 0.6 else Arithmetic.ONNX)
    growing = _Planting(net, net.activation((1, IMAGE, IMAGE, int(draw.integers(1, 5)))))
    growing.conv2d(int(draw.integers(4, 10)), 3)
    for _ in range(int(draw.integers(2, 6))):
        _grow(growing, int(draw.integers(0, 7)))
    return growing.finished(4)


def _is_constant_somewhere(net: Planted) -> bool:
    ranges = channel_ranges(net.model)
    return any(ranges[operator.output].constant.all() for operator in net.model.operators)


def _grow(growing: _Planting, block: int) -> None:
    draw = growing.net.draw
    if block == 0:
        growing.depthwise(int(draw.integers(1, 3)))
    elif block == 1:
        growing.elementwise([OperatorKind.ADD, OperatorKind.SUB, OperatorKind.MUL][int(draw.integers(0, 3))])
    elif block == 2:
        growing.pool([OperatorKind.MAX_POOL2D, OperatorKind.AVG_POOL2D][int(draw.integers(0, 2))], 2)
    elif block == 3:
        growing.requantize()
    elif block == 4:
        growing.concatenate(int(draw.integers(2, 6)))
    else:
        growing.conv2d(int(draw.integers(3, 12)), int(draw.choice([1, 3])))


def outcome(net: Planted, seed: int) -> Outcome:
    """What is left of what was planted, and how many results of random frames are others."""
    smaller = without_dead_channels(net.model)
    left = tuple(
        f"{name}: {smaller.tensors[name].shape[-1]} of {net.model.tensors[name].shape[-1]} channels, "
        f"{count} were planted"
        for name, count in net.dead.items()
        if smaller.tensors[name].shape[-1] > net.model.tensors[name].shape[-1] - count
    )
    draw = np.random.default_rng(seed)
    shape = net.model.tensors[net.model.inputs[0]].shape
    frames = (draw.choice(np.arange(-128, 128), shape).astype(np.int8) for _ in range(FRAMES))
    pairs = ((exact_outputs(net.model, [frame]), exact_outputs(smaller, [frame])) for frame in frames)
    wrong = sum(
        before is None or after is None or not np.array_equal(before[0], after[0]) for before, after in pairs
    )
    return Outcome(planted=sum(net.dead.values()), left=left, wrong=wrong)


def main(argv: Sequence[str] | None = None) -> int:
    """Print what is left of what was planted in each network, and the totals; 1 where something is."""
    parser = argparse.ArgumentParser(prog="conformance.planted_channels", description=__doc__)
    parser.add_argument("--nets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the first network (default: 1)")
    chosen = parser.parse_args(argv)
    channels = bad = 0
    ways: dict[str, int] = {}
    for seed in range(chosen.seed, chosen.seed + chosen.nets):
        net = planted(seed)
        found = outcome(net, seed)
        channels += found.planted
        for way, count in net.ways.items():
            ways[way] = ways.get(way, 0) + count
        if not found.right:
            bad += 1
            left = "; ".join(found.left) or "nothing"
            print(f"net {seed}: {found.wrong} of {FRAMES} results are wrong; left: {left}")
    counted = ", ".join(f"{count:,} {way}" for way, count in sorted(ways.items()))
    print(
        f"{chosen.nets:,} nets, {channels:,} planted channels ({counted}; the others go on): {bad} nets wrong"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
