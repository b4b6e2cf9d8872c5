"""Random integer networks with channels that no result depends on, that equal another one, and with tensors
that are constant as a whole: whether all of them are removed, and no bit of a result changes.

    python -m conformance.planted_channels --nets 1000 --seed 1

A channel is planted in one of four ways: it has no weights, its bias saturates it whatever the input is,
nobody who reads it has a weight for it, or it has the weights, the bias and the scale of another one, and who
reads both has weights for them whose sums are weights. It goes on through depthwise convolutions, sums,
products, pools, requantizations and concatenations before a convolution or a dense layer reads it. Some
operands of sums and concatenations are constant as a whole. Nothing may compute these, or any other constant
tensor.

Ends with 1 where something planted is left, or a result differs from that of the whole network, both computed
by the exact oracle.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence

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
TWINS = 0.3
"""Of channels that are not planted otherwise: those that become equal to another one."""
WHOLE = 0.25
"""Of operands of sums and concatenations that are constant as a whole."""
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
    among them have one value whatever the input is; the others may have no reader. Channel c equals channel
    `twin[c]`, which is itself where it is not planted so.
    """

    net: Network
    tip: str
    dead: Values = field(init=False)
    constant: Values = field(init=False)
    twin: Values = field(init=False)
    planted: dict[str, int] = field(factory=dict)
    ways: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        channels = self.net.tensors[self.tip].shape[-1]
        self.dead = self.constant = np.zeros(channels, np.bool_)
        self.twin = np.arange(channels)

    def conv2d(self, outputs: int, kernel: int) -> None:
        """Read everything but what is planted, and plant anew."""
        self.tip, self.dead, self.constant, self.twin = self._convolution(outputs, kernel)
        self._note()

    def depthwise(self, multiplier: int) -> None:
        """Keep planted channels, each as often as the multiplier says."""
        self.dead, self.constant = (np.repeat(each, multiplier) for each in (self.dead, self.constant))
        places = np.arange(len(self.dead))
        self.twin = np.repeat(self.twin, multiplier) * multiplier + places % multiplier
        none = np.zeros_like(self.dead)
        self.tip = self.net.depthwise(self.tip, pad=0, multiplier=multiplier, dead=none, twin=self.twin)
        self._note()

    def elementwise(self, kind: OperatorKind) -> None:
        """Meet a convolution of the same tensor with the same channels planted: what either of two channels
        leaves open is not constant. Or meet a constant tensor.
        """
        whole = bool(self.net.draw.random() < WHOLE)
        dead = np.ones_like(self.dead) if whole else self.dead
        other, _, constant, _ = self._convolution(len(self.dead), 1, dead, whole=whole)
        self.planted[other] = len(dead) if whole else self._count(dead, self.twin)
        self.constant = self.constant & constant
        out = self.net.activation(self.net.tensors[self.tip].shape)
        self.tip = self.net.add(kind, (self.tip, other), out)
        self._note()

    def concatenate(self, outputs: int) -> None:
        """Add channels of another convolution of the same tensor, or a constant tensor, on the same grid."""
        tensors, tip = self.net.tensors, self.tip
        whole = bool(self.net.draw.random() < WHOLE)
        every = np.ones(outputs, np.bool_) if whole else None
        other, dead, constant, twin = self._convolution(outputs, 1, every, np.arange(outputs), whole=whole)
        self.planted[other] = self._count(dead, twin)
        tensors[other] = evolve(tensors[other], quantization=tensors[tip].quantization)
        self.twin = np.concatenate([self.twin, twin + len(self.twin)])
        self.dead = np.concatenate([self.dead, dead])
        self.constant = np.concatenate([self.constant, constant])
        shape = (*tensors[tip].shape[:-1], len(self.dead))
        out = self.net.activation(shape, like=tip)
        self.tip = self.net.add(OperatorKind.CONCAT, (tip, other), out, (), {"axis": 3})
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
        unread, shared = (np.tile(each, row // shape[-1]) for each in (self._unread, self._shared))
        out = self.net.dense(flat, outputs, unread, shared)
        start = self.net.operators[0].inputs
        return Planted(model=self.net.model(start, (out,)), dead=self.planted, ways=self.ways)

    @property
    def _unread(self) -> Values:
        """The channels of the tip that nobody may read."""
        return self.dead & ~self.constant

    @property
    def _shared(self) -> Values:
        """How many channels of the tip have the values of each."""
        return np.bincount(self.twin, minlength=len(self.twin))[self.twin]

    def _convolution(
        self,
        outputs: int,
        kernel: int,
        dead: Values | None = None,
        twin: Values | None = None,
        *,
        whole: bool = False,
    ) -> tuple[str, Values, Values, Values]:
        """Plant these channels of a convolution of the tip, or drawn ones. Returns its name, which channels
        are planted, which of them are constant, and of each the channel that it equals: where channels are
        given, `twin` or as in the tip.
        """
        draw = self.net.draw
        twin = self.twin if twin is None else twin
        if dead is None:
            dead = draw.random(outputs) < SHARE
            dead[int(draw.integers(0, outputs))] = False
            twin = self._twins(dead)
        way = draw.choice(["no weights", "saturated", *([] if whole else ["unread"])], outputs)
        for each in (*way[dead], *(["equal"] * int((twin != np.arange(outputs)).sum()))):
            self.ways[each] = self.ways.get(each, 0) + 1
        name = self.net.conv2d(
            self.tip,
            outputs,
            kernel=kernel,
            dead=dead & (way == "no weights"),
            unread=self._unread,
            saturated=np.where(dead & (way == "saturated"), draw.choice([-SATURATED, SATURATED], outputs), 0),
            shared=self._shared,
            twin=twin,
        )
        return name, dead, dead & (way != "unread"), twin

    def _twins(self, dead: Values) -> Values:
        """Let some channels that are not planted equal the first one of these."""
        twin = np.arange(len(dead))
        alive = np.flatnonzero(~dead)
        equal = alive[self.net.draw.random(len(alive)) < TWINS]
        twin[equal] = alive[0]
        return twin

    def _note(self) -> None:
        self.planted[self.tip] = self._count(self.dead, self.twin)

    @staticmethod
    def _count(dead: Values, twin: Values) -> int:
        return int((dead | (twin != np.arange(len(twin)))).sum())


def planted(seed: int) -> Planted:
    """Draw a network."""
    draw = np.random.default_rng(seed)
    net = Network(draw, Arithmetic.TFLITE if draw.random() < 0.6 else Arithmetic.ONNX)
    growing = _Planting(net, net.activation((1, IMAGE, IMAGE, int(draw.integers(1, 5)))))
    growing.conv2d(int(draw.integers(4, 10)), 3)
    for _ in range(int(draw.integers(2, 6))):
        _grow(growing, int(draw.integers(0, 7)))
    return growing.finished(4)


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
    left = (*_left(net, smaller), *_computed(smaller))
    draw = np.random.default_rng(seed)
    shape = net.model.tensors[net.model.inputs[0]].shape
    frames = (draw.choice(np.arange(-128, 128), shape).astype(np.int8) for _ in range(FRAMES))
    pairs = ((exact_outputs(net.model, [frame]), exact_outputs(smaller, [frame])) for frame in frames)
    wrong = sum(
        before is None or after is None or not np.array_equal(before[0], after[0]) for before, after in pairs
    )
    return Outcome(planted=sum(net.dead.values()), left=left, wrong=wrong)


def _left(net: Planted, smaller: Model) -> Iterator[str]:
    """The tensors that have more channels than without those planted."""
    for name, count in net.dead.items():
        there = smaller.tensors[name].shape[-1] if name in smaller.tensors else 0
        every = net.model.tensors[name].shape[-1]
        if there > every - count and not _is_known(name, smaller):
            yield f"{name}: {there} of {every} channels, {count} were planted"


def _computed(model: Model) -> Iterator[str]:
    """The constant tensors that something computes."""
    ranges = channel_ranges(model)
    for operator in model.operators:
        if ranges[operator.output].constant.all() and not _is_known(operator.output, model):
            yield f"{operator.output}: `{operator.id}` computes a constant"


def _is_known(name: str, model: Model) -> bool:
    """Whether a tensor is a constant, written to every place."""
    return any(operator.output == name and not operator.inputs for operator in model.operators)


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
