"""Lives that go round: nothing shares bytes and time, and the peak is near the bound."""

from random import Random

import pytest
from attrs import evolve

from target_arch.stages.frames.packing import Arc, bound, packed


def arcs(random: Random, circle: int) -> list[Arc]:
    return [
        Arc(
            name=f"b{number}",
            bytes=random.choice((0, 1, 16, 40, 64, 100)),
            alignment=random.choice((1, 8, 16)),
            first=random.randrange(2 * circle),
            length=random.randint(1, circle),
        )
        for number in range(random.randint(1, 40))
    ]


def live(arc: Arc, circle: int) -> set[int]:
    return {(arc.first + step) % circle for step in range(arc.length)}


@pytest.mark.parametrize("seed", range(40))
def test_no_two_share_bytes_and_time(seed: int) -> None:
    random = Random(seed)
    circle = random.randint(1, 50)
    some = arcs(random, circle)
    offsets = packed(some, circle)
    for number, one in enumerate(some):
        assert offsets[one.name] % one.alignment == 0
        for other in some[:number]:
            start, there = offsets[one.name], offsets[other.name]
            apart = start >= there + other.bytes or there >= start + one.bytes
            assert apart or not live(one, circle) & live(other, circle)
    sums = [sum(arc.bytes for arc in some if step in live(arc, circle)) for step in range(circle)]
    assert bound(some, circle) == max(sums)
    assert max(offsets[arc.name] + arc.bytes for arc in some) >= max(sums)


def test_buffers_that_take_turns_share_their_bytes() -> None:
    some = [Arc(name=f"b{n}", bytes=64, alignment=16, first=5 * n, length=5) for n in range(4)]
    assert packed(some, 20) == {"b0": 0, "b1": 0, "b2": 0, "b3": 0}
    assert packed(some, 19)["b0"] != packed(some, 19)["b3"]  # the last one goes on over the end


@pytest.mark.parametrize("seed", range(40))
def test_steps_of_a_timeline_take_turns(seed: int) -> None:
    """Arcs with a timeline share bytes with those of its other steps, and with nothing else that is live."""
    random = Random(seed)
    circle = random.randint(1, 30)
    some = [evolve(arc, timeline=random.choice((None, "a", "b"))) for arc in arcs(random, circle)]
    offsets = packed(some, circle)
    for number, one in enumerate(some):
        for other in some[:number]:
            start, there = offsets[one.name], offsets[other.name]
            apart = start >= there + other.bytes or there >= start + one.bytes
            steps = (one.first % circle, other.first % circle)
            turns = one.timeline is not None and one.timeline == other.timeline and steps[0] != steps[1]
            assert apart or turns or not live(one, circle) & live(other, circle)
    assert bound(some, circle) <= max(offsets[arc.name] + arc.bytes for arc in some)
    assert bound(some, circle) <= bound([evolve(arc, timeline=None) for arc in some], circle)


def test_the_bound_of_a_timeline_is_what_its_longest_step_needs() -> None:
    some = [
        Arc(name=f"b{n}", bytes=64 * (n + 1), alignment=1, first=n, length=6, timeline="a") for n in range(3)
    ]
    beside = Arc(name="beside", bytes=10, alignment=1, first=0, length=10)
    twin = Arc(name="twin", bytes=5, alignment=1, first=2, length=6, timeline="a")
    assert bound([*some, beside, twin], 10) == 64 * 3 + 5 + 10
    assert max(packed([*some, beside, twin], 10).values()) < 64 * 3 + 5 + 10
