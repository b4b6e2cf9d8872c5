"""Sections of time and orders of preference."""

from random import Random

from hypothesis import given

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.preference import ORDERS, Preference, sections
from tests.stages.memory.packing.instances import buffer, buffers


def test_a_section_ends_where_something_ends_that_began() -> None:
    rows = [buffer(0, 1, 0, 4), buffer(1, 1, 1, 2), buffer(2, 1, 3, 6), buffer(3, 1, 7, 8)]
    assert sections(rows) == ([0, 0, 1, 2], [2, 1, 2, 3])


@given(buffers(12))
def test_two_share_a_section_where_they_share_a_step(rows: list[Buffer]) -> None:
    left, right = sections(rows)
    for one, first in enumerate(rows):
        assert left[one] < right[one]
        for other, second in enumerate(rows):
            shares = left[one] < right[other] and left[other] < right[one]
            assert shares == first.overlaps(second)


def test_the_letters_of_an_order() -> None:
    rows = [buffer(0, 8, 0, 0), buffer(1, 2, 1, 9), buffer(2, 9, 1, 2), buffer(3, 3, 8, 9)]
    preference = Preference(rows)
    assert {word: preference.order(word) for word in ("T", "W", "A", "Z")} == {
        "T": [1, 2, 0, 3],
        "W": [1, 2, 3, 0],
        "A": [1, 2, 0, 3],
        "Z": [2, 0, 3, 1],
    }


def test_weights_of_sections_go_before_the_letters() -> None:
    rows = [buffer(0, 8, 0, 0), buffer(1, 2, 1, 9), buffer(2, 9, 1, 2), buffer(3, 3, 8, 9)]
    preference = Preference(rows)
    assert preference.order("Z", weights=[7, 1, 5]) == [0, 3, 1, 2]
    assert preference.order("Z", weights=[0, 4, 4]) == [2, 3, 1, 0]


@given(buffers(12))
def test_every_order_has_every_buffer_and_a_seed_decides_jitter(rows: list[Buffer]) -> None:
    preference = Preference(rows)
    for word in ORDERS:
        jittered = preference.order(word, Random(1), 200)
        assert sorted(jittered) == sorted(preference.order(word)) == list(range(len(rows)))
        assert jittered == preference.order(word, Random(1), 200)
        assert preference.order(word, Random(1), 0) == preference.order(word)
