"""Points that are expected to be good, by those that were evaluated."""

from target_arch.explore.exploration import Exploration
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.space import Point
from target_arch.explore.surrogate import promising
from tests.explore.in_process import fits
from tests.explore.spaces import ZYNQ, space

WIDE = ZYNQ.replace('where = ["tcm <= sram"]', "").replace(
    '"1 KiB", "64 KiB"', ", ".join(f'"{each} KiB"' for each in range(8, 136, 8))
)
CHIPS = space(WIDE)
REFUSED = PointOutcome(status=Status.REFUSED, rule="does-not-fit", reason="too small")
DOMINATED = PointOutcome(status=Status.DOMINATED, rule="dominated", bound=1e-4)


def made(*, refused_below: int = 0, dominated: tuple[Point, ...] = ()) -> Exploration:
    """Every third chip: more SRAM is faster, and nothing else is."""
    outcomes: dict[Point, PointOutcome] = {}
    for point in list(CHIPS.points())[::3]:
        outcomes[point] = REFUSED if point[1] < refused_below else fits(1e-3 / (1 + point[1]))
    return Exploration(space=CHIPS, outcomes=outcomes | dict.fromkeys(dominated, DOMINATED))


def unknown(known: Exploration) -> list[Point]:
    return [point for point in CHIPS.points() if point not in known.outcomes]


def test_what_only_costs_is_not_bought() -> None:
    known = made()
    chosen = promising(known, unknown(known), 6)
    assert len(chosen) == len(set(chosen)) == 6
    assert all(point[0] == 0 for point in chosen)
    assert promising(known, unknown(known), 6) == chosen


def test_where_chips_are_refused_none_is_expected() -> None:
    known = made(refused_below=8)
    assert all(point[1] >= 7 for point in promising(known, unknown(known), 6))


def test_dominated_points_say_nothing() -> None:
    known = made()
    able = unknown(known)[1:]
    with_one = made(dominated=(unknown(known)[0],))
    assert promising(with_one, able, 6) == promising(known, able, 6)


def test_nothing_is_expected_without_a_good_point() -> None:
    known = made(refused_below=99)
    assert promising(known, unknown(known), 6) == []
    assert promising(made(), [], 6) == []
