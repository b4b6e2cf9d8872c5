"""Windows along an axis: every answer against the elements that are read one by one, and what the oracle's
own arithmetic reads.
"""

import numpy as np
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from target_arch.plan.operators.window import Window
from target_arch.run.exact.windows import SeenWindow


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Windows with at least one element, whose padding is less than their reach."""
    kernel, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    reach = (kernel - 1) * dilation + 1
    before, after = draw(st.integers(0, reach - 1)), draw(st.integers(0, reach - 1))
    extent, stride = draw(st.integers(1, 20)), draw(st.integers(1, 4))
    window = Window.padded(extent, kernel, stride, dilation, before, after)
    assume(window.out > 0)
    return window


def read_by(window: Window, place: int) -> list[int]:
    """The places that an output reads, padding left out."""
    places = (window.at(place, tap) for tap in range(window.kernel))
    return [at for at in places if 0 <= at < window.extent]


@given(windows())
def test_what_is_needed_is_all_that_is_read(window: Window) -> None:
    for place in range(window.out):
        needed, places = window.needed(range(place, place + 1)), read_by(window, place)
        assert set(places) <= set(needed)
        if window.dilation == 1:
            assert places == list(needed)


@given(windows())
def test_what_is_ready_reads_only_what_is_there(window: Window) -> None:
    for there in range(window.extent + 1):
        ready = window.ready(there)
        for place in range(window.out):
            complete = window.at(place) + window.reach <= there or there == window.extent
            assert (place < ready) == complete


@given(windows(), st.data())
def test_a_part_reads_what_the_whole_does(window: Window, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, window.out - 1))
    outputs = range(start, data.draw(st.integers(start + 1, window.out)))
    inputs = window.needed(outputs)
    part = window.part(outputs, inputs)
    assert (part.extent, part.out) == (len(inputs), len(outputs))
    for place in outputs:
        read = [at + inputs.start for at in read_by(part, place - start)]
        assert read == read_by(window, place)


@given(windows())
def test_conditions_are_those_that_can_fail(window: Window) -> None:
    places = [window.at(place, tap) for place in range(window.out) for tap in range(window.kernel)]
    assert window.leaves_before == (min(places) < 0)
    assert window.leaves_after == (max(places) >= window.extent)
    for at in places:
        assert all(window.inside(at)) == (0 <= at < window.extent)


@given(windows())
def test_the_oracle_reads_the_same(window: Window) -> None:
    """Its arithmetic is its own: an image of numbers shows which ones it reads."""
    image = np.arange(window.extent).reshape(1, -1, 1, 1)
    oracle = SeenWindow(
        kernel=(window.kernel, 1),
        strides=(window.stride, 1),
        padding=(window.before, 0, window.after, 0),
        dilation=(window.dilation, 1),
        out=(window.out, 1),
    )
    seen = np.concatenate([values for *_, values in oracle.taps(image, -1)], axis=3)
    for place in range(window.out):
        assert [at for at in seen[0, place, 0] if at >= 0] == read_by(window, place)


def test_same_pads_an_odd_element_behind() -> None:
    assert Window.same(8, 3, 2) == Window(extent=8, out=4, kernel=3, stride=2, before=0, after=1)
    assert Window.same(7, 3, 2) == Window(extent=7, out=4, kernel=3, stride=2, before=1, after=1)
    assert Window.same(10, 3, 1, 2) == Window(extent=10, out=10, kernel=3, dilation=2, before=2, after=2)
    assert Window.same(5, 1, 2) == Window(extent=5, out=3, stride=2)
    assert not Window.same(8, 3, 2).plain
    assert Window.same(8, 1).plain


def test_needed_from_the_start_on() -> None:
    window = Window.same(8, 3)
    assert [window.needed_from(done) for done in range(9)] == [0, 0, 1, 2, 3, 4, 5, 6, 8]
    assert [window.needed_until(done) for done in range(1, 9)] == [2, 3, 4, 5, 6, 7, 8, 8]
    assert evolve(window, out=1, after=-6).needed_until(1) == 8


def test_equal_windows_and_those_of_everything() -> None:
    """A window that never moves needs the whole axis, and is ready when that is there."""
    assert Window.equal(4).plain
    whole = Window.all(4, 6)
    assert not whole.plain
    assert (whole.reach, whole.end) == (4, 4)
    assert [whole.needed(range(place, place + 2)) for place in (0, 4)] == [range(4), range(4)]
    assert [whole.ready(there) for there in range(5)] == [0, 0, 0, 0, 6]
    assert [whole.needed_from(done) for done in (0, 5, 6)] == [0, 0, 4]
    assert whole.needed_until(1) == 4
