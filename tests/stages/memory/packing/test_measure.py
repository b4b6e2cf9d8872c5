"""The bound, and where a plan falls into parts."""

from hypothesis import given

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.measure import bound, groups, least, live_bytes, peak
from tests.stages.memory.packing.instances import buffer, buffers, optimum


def test_live_bytes_and_their_most() -> None:
    rows = [buffer(0, 10, 0, 1), buffer(1, 5, 1, 3), buffer(2, 7, 2, 2)]
    assert live_bytes(rows) == {0: 10, 1: 15, 2: 12, 3: 5, 4: 0}
    assert bound(rows) == 15
    assert bound([]) == peak([], {}) == 0


def test_groups_share_no_step() -> None:
    rows = [buffer(0, 1, 4, 6), buffer(1, 1, 0, 2), buffer(2, 1, 2, 3), buffer(3, 1, 6, 9)]
    assert [[row.name for row in group] for group in groups(rows)] == [["b1", "b2"], ["b0", "b3"]]


@given(buffers(5))
def test_no_plan_undercuts_the_bound(rows: list[Buffer]) -> None:
    assert optimum(rows) >= least(rows) >= bound(rows)


def test_what_alignment_adds_to_the_bound() -> None:
    rows = [buffer(0, 7, 0, 3, 4), buffer(1, 5, 2, 6, 8), buffer(2, 4, 5, 9, 4)]
    assert (bound(rows), least(rows), optimum(rows)) == (12, 13, 13)
    assert least([]) == 0
