"""Channels of regions: a plan prints and replays without a fault; with a part shorter, gone or elsewhere it
does not.
"""

import pytest
from attrs import evolve

from target_arch.plan.operators.window import Window
from target_arch.plan.regions.cut import Axis, AxisCut
from target_arch.plan.regions.lines import LineWindow, Pass, Producer, RegionPlan, TensorLines
from target_arch.stages.regions import replay


def planned(one: Pass) -> RegionPlan:
    first = one.producers[0]
    cut = AxisCut(axis=Axis.CHANNELS, size=first.each, of=first.image.lines)
    return RegionPlan(cuts=(cut,), passes=(one,))


def faults(one: Pass) -> list[str]:
    """The faults of a plan with that pass."""
    return [*replay.faults(planned(one))]


def all_of(x: TensorLines, out: int) -> LineWindow:
    """All channels, for each of an output."""
    return LineWindow(tensor=x, along=Window.all(x.lines, out))


X = TensorLines(name="x", lines=10, line_bytes=9)
WIDE = TensorLines(name="wide", lines=40, line_bytes=9)
DEEP = TensorLines(name="deep", lines=40, line_bytes=4)
OUT = TensorLines(name="out", lines=6, line_bytes=4)
SAME = TensorLines(name="same", lines=10, line_bytes=9)
COPIED_X = evolve(X, name="x.copied")

SPREAD = Producer(operators=("spread",), reads=(all_of(X, 40),), image=WIDE, each=16, held=16, offset=128)
EACH = Producer(
    operators=("each",), reads=(LineWindow.equal(WIDE),), image=DEEP, each=16, held=16, offset=272
)
SUMS = Producer(
    operators=("sum",), reads=(LineWindow.equal(DEEP),), image=OUT, each=16, held=8, accumulates=True
)
SUMMED = Pass(given=(X,), producers=(SPREAD, EACH, SUMS), over=X, scratch=336)
"""32-bit sums at 0, 16 channels of `wide` at 128, and of `deep` at 272."""

COPY = Producer(operators=(), reads=(LineWindow.equal(X),), image=COPIED_X, each=8, held=8)
ALONE = Producer(operators=("alone",), reads=(LineWindow.equal(COPIED_X),), image=SAME, each=8)
COPIED = Pass(given=(X,), producers=(COPY, ALONE), over=X, scratch=72)


def test_plans_print() -> None:
    assert str(planned(SUMMED)) == (
        "16 channels at a time, 336 B of scratch, output out (6 x 4 B) over x\n"
        "  spread makes wide (40 x 9 B), 16 a turn, 16 held at 128: all 10 of x\n"
        "  each makes deep (40 x 4 B), 16 a turn, 16 held at 272: y of wide\n"
        "  sum sums up 40 to out (6 x 4 B), 16 a turn, 8 held at 0: y of deep\n"
    )
    assert str(planned(COPIED)) == (
        "8 channels at a time, 72 B of scratch, output same (10 x 9 B) over x\n"
        "  a copy makes x.copied (10 x 9 B), 8 a turn, 8 held at 0: y of x\n"
        "  alone makes same (10 x 9 B), 8 a turn: y of x.copied\n"
    )


def test_turns_are_over_all_channels() -> None:
    assert [
        (COPIED.producers[turn.number].operators, turn.start, turn.end, turn.placed) for turn in COPIED.turns
    ] == [
        ((), 0, 8, 0),
        (("alone",), 0, 8, 8),
        ((), 8, 10, 8),
        (("alone",), 8, 10, 10),
    ]
    sums = [
        (turn.start, turn.end, turn.placed) for turn in SUMMED.turns if SUMMED.producers[turn.number] == SUMS
    ]
    assert sums == [(0, 16, 0), (16, 32, 0), (32, 40, 6)]


def with_other(plan: Pass, **producers: Producer | None) -> Pass:
    """The pass with other producers, by operator, or without them."""
    found = [producers.get("".join(each.operators) or "copy", each) for each in plan.producers]
    return evolve(plan, producers=tuple(each for each in found if each is not None))


MIXED = evolve(SAME, name="mixed")
MIX = Producer(operators=("mix",), reads=(all_of(X, 10),), image=MIXED, each=8, held=8)
NARROW = evolve(WIDE, lines=39)

FAULTS: dict[str, tuple[Pass, str]] = {
    "a byte of scratch less": (evolve(SUMMED, scratch=335), "`deep` ends at byte 336 of 335"),
    "a copy that is cut": (evolve(COPIED, scratch=71), "`x.copied` ends at byte 72 of 71"),
    "no copy": (with_other(COPIED, copy=None), "`same` reads `x.copied (10 x 9 B)`, which is not there"),
    "an operator that is gone": (
        with_other(SUMMED, each=None),
        "`out` reads `deep (40 x 4 B)`, which is not there",
    ),
    "blocks that share bytes": (
        with_other(SUMMED, each=evolve(EACH, offset=271)),
        "`deep` is written over `wide`, which it is made from",
    ),
    "a block over the sums": (
        with_other(SUMMED, spread=evolve(SPREAD, offset=127)),
        "the sums of `out` are overwritten",
    ),
    "sums of fewer outputs": (
        with_other(SUMMED, sum=evolve(SUMS, held=5)),
        "5 sums for 6 channels of `out`",
    ),
    "no sums": (with_other(SUMMED, sum=evolve(SUMS, held=0)), "`out` has no place"),
    "an input that is not there": (
        evolve(SUMMED, given=(SAME,), over=None),
        "`wide` reads `x (10 x 9 B)`, which is not there",
    ),
    "all channels of what has few": (
        with_other(SUMMED, each=evolve(EACH, reads=(all_of(WIDE, 40),))),
        "32 channels of `wide` are there, 16 have room",
    ),
    "other channels between": (
        with_other(SUMMED, spread=evolve(SPREAD, reads=(all_of(X, 39),), image=NARROW)),
        "`deep` reads `wide (40 x 9 B)`, which is not there",
    ),
    "fewer channels than the sums need": (
        with_other(SUMMED, sum=evolve(SUMS, reads=(LineWindow.equal(evolve(DEEP, lines=56)),))),
        "`out` reads `deep (56 x 4 B)`, which is not there",
    ),
    "sums that are not the output": (
        evolve(SUMMED, producers=(SUMS, evolve(ALONE, reads=(all_of(X, 10),))), over=None),
        "`out` reads `deep (40 x 4 B)`, which is not there",
    ),
    "an input that the output overwrites": (
        evolve(COPIED, producers=(MIX, evolve(ALONE, reads=(LineWindow.equal(MIXED),)))),
        "channel 8 of `mixed` reads channel 0 of `x`",
    ),
    "pixels that move": (
        with_other(COPIED, alone=evolve(ALONE, image=evolve(SAME, line_bytes=8))),
        "`same (10 x 8 B)` has other channels than `x (10 x 9 B)`, whose place it takes",
    ),
    "an output that nothing writes": (
        with_other(COPIED, alone=None),
        "`x.copied` stays in the scratch",
    ),
    "no place": (with_other(SUMMED, each=evolve(EACH, held=0)), "`deep` has no place"),
    "a sum with another shape": (
        evolve(with_other(SUMMED, sum=evolve(SUMS, reads=(*SUMS.reads, all_of(SAME, 40)))), given=(X, SAME)),
        "`same (10 x 9 B)` has other elements than `out (6 x 4 B)`, to which it is added",
    ),
}


def test_sums_that_are_never_complete_are_found() -> None:
    waiting = with_other(SUMMED, each=evolve(EACH, reads=(LineWindow.equal(DEEP),)))
    assert faults(waiting)[-1] == "0 of 40 channels of `deep` are in `out`"


def test_a_sum_with_another_tensor_replays() -> None:
    other = evolve(OUT, name="other")
    added = with_other(SUMMED, sum=evolve(SUMS, reads=(*SUMS.reads, all_of(other, 40))))
    assert faults(evolve(added, given=(X, other), over=other)) == []


def test_sums_have_room_where_there_is_one_for_each_channel() -> None:
    assert faults(with_other(SUMMED, sum=evolve(SUMS, held=6))) == []


def test_sums_are_the_last() -> None:
    end = Producer(operators=("end",), reads=(LineWindow.equal(OUT),), image=evolve(OUT, name="end"), each=6)
    longer = evolve(SUMMED, producers=(*SUMMED.producers, end), over=None)
    assert faults(longer)[0] == "`out` is summed up, and is not the output"
    assert "is summed up" not in "".join(faults(SUMMED))


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name: str) -> None:
    plan, message = FAULTS[name]
    assert faults(plan)[0] == message


@pytest.mark.parametrize("plan", [SUMMED, COPIED], ids=["sums", "a copy"])
def test_a_plan_replays(plan: Pass) -> None:
    assert faults(plan) == []
    assert faults(evolve(plan, over=None)) == []
