"""Pareto fronts and the volume below them, against definitions."""

from hypothesis import given
from hypothesis import strategies as st

from target_arch.explore.front import dominates, front, hypervolume

GOALS = st.lists(st.tuples(*[st.integers(0, 6).map(float)] * 3), max_size=30)


@given(GOALS)
def test_a_front_is_what_nothing_dominates(goals: list[tuple[float, float, float]]) -> None:
    points = dict(enumerate(goals))
    undominated = {p for p, mine in points.items() if not any(dominates(other, mine) for other in goals)}
    assert set(front(points)) == undominated


def test_equal_points_are_all_on_it_in_their_order() -> None:
    assert front({"b": (1.0, 2.0), "a": (1.0, 2.0), "c": (2.0, 1.0), "d": (2.0, 2.0)}) == ("b", "a", "c")


@given(GOALS)
def test_a_volume_is_the_number_of_cells_that_are_dominated(goals: list[tuple[float, float, float]]) -> None:
    cells = sum(
        any(g[0] <= x and g[1] <= y and g[2] <= z for g in goals)
        for x in range(6)
        for y in range(6)
        for z in range(6)
    )
    assert hypervolume(goals, (6.0, 6.0, 6.0)) == cells
