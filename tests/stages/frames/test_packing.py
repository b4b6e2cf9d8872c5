"""Lives that go round: nothing shares bytes and time, and the peak is near the bound."""

from random import Random

import pytest
from attrs import evolve

from target_arch.stages.frames.packing import Arc, TimelineSpan, bound, packed


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


def span(random: Random, timeline: str) -> TimelineSpan:
    circle = 12
    return TimelineSpan(
        timeline=timeline, first=random.randrange(circle), length=random.randint(1, 4), circle=circle
    )


def steps(span: TimelineSpan) -> set[int]:
    return {step for step in range(span.circle) if span.has(step)}


@pytest.mark.parametrize("seed", range(40))
def test_steps_of_a_timeline_take_turns(seed: int) -> None:
    """Arcs with a span share bytes with those of other steps of its timeline, and with nothing else that is
    live.
    """
    random = Random(seed)
    circle = random.randint(1, 30)
    spans = (None, span(random, "a"), span(random, "a"), span(random, "b"))
    some = [evolve(arc, span=random.choice(spans)) for arc in arcs(random, circle)]
    offsets = packed(some, circle)
    for number, one in enumerate(some):
        for other in some[:number]:
            start, there = offsets[one.name], offsets[other.name]
            apart = start >= there + other.bytes or there >= start + one.bytes
            known = one.span is not None and other.span is not None
            same = known and one.span.timeline == other.span.timeline
            in_turn = same and not steps(one.span) & steps(other.span)
            assert apart or in_turn or not live(one, circle) & live(other, circle)
    assert bound(some, circle) <= max(offsets[arc.name] + arc.bytes for arc in some)
    assert bound(some, circle) <= bound([evolve(arc, span=None) for arc in some], circle)


def test_the_bound_of_a_timeline_is_what_its_longest_step_needs() -> None:
    def one(name: str, bytes: int, step: int, length: int = 1) -> Arc:
        there = TimelineSpan(timeline="a", first=step, length=length, circle=10)
        return Arc(name=name, bytes=bytes, alignment=1, first=step, length=6, span=there)

    some = [one(f"b{n}", 64 * (n + 1), n) for n in range(3)]
    beside = Arc(name="beside", bytes=10, alignment=1, first=0, length=10)
    twin = one("twin", 5, 2)
    assert bound([*some, beside, twin], 10) == 64 * 3 + 5 + 10
    assert max(packed([*some, beside, twin], 10).values()) < 64 * 3 + 5 + 10
    longer = one("longer", 5, 1, length=2)
    assert bound([*some, longer], 10) == 64 * 3 + 5
