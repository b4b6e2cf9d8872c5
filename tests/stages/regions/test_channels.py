"""Channels of regions: a plan prints and replays without a fault; with a part shorter, gone or elsewhere it
does not.
"""

import pytest
from attrs import evolve

from target_arch.plan.regions.channels import BlockProducer, Channels, ChannelSums, TensorChannels
from target_arch.stages.regions.replay_channels import faults

X = TensorChannels(name="x", pixels=9, channels=10)
WIDE = TensorChannels(name="wide", pixels=9, channels=40)
DEEP = TensorChannels(name="deep", pixels=4, channels=40)
OUT = TensorChannels(name="out", pixels=4, channels=6)
SAME = TensorChannels(name="same", pixels=9, channels=10)

SPREAD = BlockProducer(operators=("spread",), read=X, image=WIDE, whole=True, offset=128)
EACH = BlockProducer(operators=("each",), read=WIDE, image=DEEP, offset=272)
SUMS = ChannelSums(operators=("sum",), read=DEEP, image=OUT, each=8, offset=0)
SUMMED = Channels(given=(X,), producers=(SPREAD, EACH), sums=SUMS, size=16, over=X, scratch=336)
"""32-bit sums at 0, 16 channels of `wide` at 128, and of `deep` at 272."""

COPY = BlockProducer(operators=(), read=X, image=X, offset=0)
ALONE = BlockProducer(operators=("alone",), read=X, image=SAME)
COPIED = Channels(given=(X,), producers=(COPY, ALONE), sums=None, size=8, over=X, scratch=72)


def test_plans_print() -> None:
    assert str(SUMMED) == (
        "16 of 40 channels at a time, 336 B of scratch, output out over x\n"
        "  spread makes channels of wide (9 x 40) at 128, from all of x (9 x 10)\n"
        "  each makes channels of deep (4 x 40) at 272, from the same of wide (9 x 40)\n"
        "  sum makes out (4 x 6) from sums over deep (4 x 40), 8 for each pixel at 0\n"
    )
    assert str(COPIED) == (
        "8 of 10 channels at a time, 72 B of scratch, output same over x\n"
        "  a copy makes channels of x (9 x 10) at 0, from all of x (9 x 10)\n"
        "  alone makes channels of same (9 x 10) in place, from the same of x (9 x 10)\n"
    )


def test_steps_are_all_channels() -> None:
    assert SUMMED.blocks == (16, 16, 8)
    assert [(turn.by.operators, turn.start, turn.end) for turn in COPIED.turns] == [
        ((), 0, 8),
        (("alone",), 0, 8),
        ((), 8, 10),
        (("alone",), 8, 10),
    ]


def planned(plan: Channels, **producers: BlockProducer | None) -> Channels:
    """The plan with other producers, by operator, or without them."""
    found = [producers.get("".join(each.operators) or "copy", each) for each in plan.producers]
    return evolve(plan, producers=tuple(each for each in found if each is not None))


MIXED = BlockProducer(operators=("mix",), read=X, image=evolve(SAME, name="mixed"), whole=True, offset=0)

FAULTS: dict[str, tuple[Channels, str]] = {
    "a byte of scratch less": (evolve(SUMMED, scratch=335), "`deep` ends at byte 336 of 335"),
    "a copy that is cut": (evolve(COPIED, scratch=71), "`x` ends at byte 72 of 71"),
    "no copy": (planned(COPIED, copy=None), "channels 0 to 8 of `x` are not there"),
    "an operator that is gone": (planned(SUMMED, each=None), "channels 0 to 16 of `deep` are not there"),
    "blocks that share bytes": (
        planned(SUMMED, each=evolve(EACH, offset=271)),
        "`deep` is written over `wide`, which it is made from",
    ),
    "a block over the sums": (
        planned(SUMMED, spread=evolve(SPREAD, offset=127)),
        "the sums of `out` are overwritten",
    ),
    "sums of fewer outputs": (
        evolve(SUMMED, sums=evolve(SUMS, each=5)),
        "5 sums for 6 channels of `out`",
    ),
    "an input that is not there": (evolve(SUMMED, given=(SAME,)), "`x` is not there"),
    "all channels of what has few": (
        planned(SUMMED, each=evolve(EACH, whole=True)),
        "`wide` is not there",
    ),
    "other channels between": (
        planned(SUMMED, spread=evolve(SPREAD, image=evolve(WIDE, channels=39))),
        "`wide` has 39 channels, not 40",
    ),
    "fewer channels than the sums need": (
        evolve(SUMMED, sums=evolve(SUMS, read=evolve(DEEP, channels=56))),
        "40 of 56 channels of `deep` are in `out`",
    ),
    "an input that the output overwrites": (
        evolve(COPIED, producers=(MIXED, evolve(ALONE, read=MIXED.image))),
        "channel 0 of `x` is read, below 8 they are overwritten",
    ),
    "pixels that move": (
        planned(COPIED, alone=evolve(ALONE, image=evolve(SAME, pixels=8))),
        "`same` has other channels than `x`, whose place it takes",
    ),
    "an output that nothing writes": (planned(COPIED, alone=None), "`x` stays in the scratch"),
    "no place": (planned(SUMMED, each=evolve(EACH, offset=None)), "`deep` has no place"),
    "a sum with another shape": (
        evolve(SUMMED, sums=evolve(SUMS, other=SAME), given=(X, SAME)),
        "`same` has other elements than `out`, to which it is added",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name: str) -> None:
    plan, message = FAULTS[name]
    assert faults(plan)[0] == message


@pytest.mark.parametrize("plan", [SUMMED, COPIED], ids=["sums", "a copy"])
def test_a_plan_replays(plan: Channels) -> None:
    assert faults(plan) == []
    assert faults(evolve(plan, over=None)) == []
