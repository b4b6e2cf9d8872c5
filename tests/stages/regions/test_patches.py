"""Patches of regions: columns that a patch needs and has not, and patches that are not all of the output."""

import pytest
from attrs import evolve

from target_arch.plan.operators.window import Window
from target_arch.plan.regions.cut import Axis, AxisCut, AxisPart
from target_arch.plan.regions.lines import LineWindow, Pass, Producer, RegionPlan, TensorLines
from target_arch.stages.regions.replay import faults

COLUMNS = 6


def patch(start: int, end: int, first: int, last: int) -> Pass:
    """Columns `start` to `end` of `b` by a window of 3x3 over columns `first` to `last` of `a`, each of which
    comes from one of `x`.
    """
    x = TensorLines(name="x", lines=2, line_bytes=6, part=AxisPart(start=0, end=COLUMNS, of=COLUMNS))
    a = lines("a", first, last)
    b = lines("b", start, end)
    equal = LineWindow(tensor=x, along=Window.equal(2), across=Window.equal(COLUMNS))
    around = LineWindow(tensor=a, along=Window.same(2, 3), across=Window.same(COLUMNS, 3))
    producers = (
        Producer(operators=("one",), reads=(equal,), image=a, each=1, held=2),
        Producer(operators=("other",), reads=(around,), image=b, each=1),
    )
    return Pass(given=(x,), producers=producers, scratch=2 * a.line_bytes)


def lines(name: str, start: int, end: int) -> TensorLines:
    """Two lines of a byte for each of these columns."""
    part = AxisPart(start=start, end=end, of=COLUMNS)
    return TensorLines(name=name, lines=2, line_bytes=part.count, part=part)


def planned(*passes: Pass) -> RegionPlan:
    cuts = (AxisCut.into(Axis.COLUMNS, len(passes), COLUMNS), AxisCut(axis=Axis.ROWS, size=1, of=2))
    return RegionPlan(cuts=cuts, passes=passes)


LEFT, RIGHT = patch(0, 3, 0, 4), patch(3, 6, 2, 6)
PLAN = planned(LEFT, RIGHT)


def test_a_plan_prints() -> None:
    assert str(PLAN) == (
        "1 rows at a time in each of 2 patches, 8 B of scratch, output b (2 x 6 B)\n"
        "  x 0 to 6 of 6, a 0 to 4 of 6, b 0 to 3 of 6\n"
        "  one makes a (2 x 4 B), 1 a turn, 2 held at 0: y of x\n"
        "  other makes b (2 x 3 B), 1 a turn: 3 of a from 1 y-1 on\n"
        "  x 0 to 6 of 6, a 2 to 6 of 6, b 3 to 6 of 6\n"
        "  one makes a (2 x 4 B), 1 a turn, 2 held at 0: y of x\n"
        "  other makes b (2 x 3 B), 1 a turn: 3 of a from 1 y-1 on\n"
    )


def test_a_plan_replays() -> None:
    assert [*faults(PLAN)] == []
    assert [*faults(planned(patch(0, 2, 0, 3), patch(2, 4, 1, 5), patch(4, 6, 3, 6)))] == []


def without_part(one: Pass, **facts: AxisPart | None) -> Pass:
    """The pass with another part of its input."""
    (x,) = one.given
    other = evolve(x, **facts)  # type: ignore[arg-type]
    first, last = one.producers
    reads = (evolve(first.reads[0], tensor=other),)
    return evolve(one, given=(other,), producers=(evolve(first, reads=reads), last))


def unsaid(one: Pass) -> Pass:
    """The pass with a window that says nothing of columns."""
    first, last = one.producers
    return evolve(one, producers=(first, evolve(last, reads=(evolve(last.reads[0], across=None),))))


def renamed(one: Pass, name: str) -> Pass:
    """The pass with an output of that name."""
    first, last = one.producers
    return evolve(one, producers=(first, evolve(last, image=evolve(last.image, name=name))))


def of_other_columns(one: Pass) -> Pass:
    """The pass with a window over another number of columns."""
    first, last = one.producers
    window = evolve(last.reads[0], across=Window.same(COLUMNS + 1, 3))
    return evolve(one, producers=(first, evolve(last, reads=(window,))))


def without_columns() -> Pass:
    """A pass whose output is whole, made from parts."""
    first, last = LEFT.producers
    image = evolve(last.image, line_bytes=COLUMNS, part=None)
    return evolve(LEFT, producers=(first, evolve(last, image=image)))


FAULTS: dict[str, tuple[RegionPlan, list[str]]] = {
    "a column too few at the right": (
        planned(patch(0, 3, 0, 3), RIGHT),
        ["`b` reads 0 to 4 of `a`, not 0 to 3 of 6"],
    ),
    "a column too few at the left": (
        planned(LEFT, patch(3, 6, 3, 6)),
        ["`b` reads 2 to 6 of `a`, not 3 to 6 of 6"],
    ),
    "an input that is not whole": (
        planned(without_part(LEFT, part=AxisPart(start=0, end=5, of=6)), RIGHT),
        ["only 0 to 5 of 6 of `x` are known"],
    ),
    "an input of no known columns": (
        planned(without_part(LEFT, part=None), RIGHT),
        ["`a` reads `x`, and nothing says which part"],
    ),
    "a window of no known columns": (
        planned(unsaid(LEFT), RIGHT),
        ["`b` reads `a`, and nothing says which part"],
    ),
    "a window over other columns": (
        planned(of_other_columns(LEFT), RIGHT),
        ["`b` reads `a`, and nothing says which part"],
    ),
    "an output of no known columns": (
        planned(LEFT, without_columns()),
        [
            "`b` reads `a`, and nothing says which part",
            "a pass makes `b (2 x 6 B)`, which is no part of `b (2 x 6 B)`",
        ],
    ),
    "no first patch": (planned(RIGHT), ["columns 3 to 6 of 6 of `b` follow column 0"]),
    "no last patch": (planned(LEFT), ["3 columns of `b` are made"]),
    "a column between patches": (
        planned(LEFT, patch(4, 6, 3, 6)),
        ["columns 4 to 6 of 6 of `b` follow column 3"],
    ),
    "columns of another tensor": (
        planned(
            LEFT,
            evolve(RIGHT, producers=(RIGHT.producers[0], evolve(RIGHT.producers[1], image=lines("c", 3, 6)))),
        ),
        ["a pass makes `c (2 x 3 B)`, which is no part of `b (2 x 6 B)`"],
    ),
    "rows that are not there": (
        planned(LEFT, evolve(RIGHT, scratch=7)),
        ["`a` ends at byte 8 of 7"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name: str) -> None:
    plan, messages = FAULTS[name]
    assert [*faults(plan)] == messages


def test_an_output_is_made_once() -> None:
    first, last = (each for each in LEFT.producers)
    images = {each.image.name: evolve(each.image, part=None) for each in (first, last)}
    x = evolve(LEFT.given[0], part=None)
    whole = Pass(
        given=(x,),
        producers=(
            evolve(first, reads=(evolve(first.reads[0], tensor=x),), image=images["a"]),
            evolve(last, reads=(evolve(last.reads[0], tensor=images["a"]),), image=images["b"]),
        ),
        scratch=8,
    )
    assert [*faults(planned(whole))] == []
    assert [*faults(planned(whole, whole))] == ["`b` is made 2 times"]
    assert [*faults(planned(LEFT, whole))] == [
        "a pass makes `b (2 x 3 B)`, which is no part of `b (2 x 6 B)`"
    ]
