"""Listings are cut into lines as if items were added one after the other."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from target_arch.emit.text.listing import Listing


def greedy(items: list[str], room: int) -> list[str]:
    rows: list[list[str]] = []
    for item in items:
        if rows and sum(len(each) + 2 for each in (*rows[-1], item)) <= room:
            rows[-1].append(item)
        else:
            rows.append([item])
    return [", ".join(row) + "," for row in rows]


@given(st.lists(st.text("0123456789", min_size=1, max_size=12)), st.integers(1, 30))
def test_lines(items: list[str], room: int) -> None:
    assert Listing.of(items).lines(room) == "\n".join(greedy(items, room))


@given(st.lists(st.lists(st.text("01", min_size=1, max_size=3))))
def test_parts(parts: list[list[str]]) -> None:
    joined, flat = Listing.joined(list(map(Listing.of, parts))), Listing.of(chain.from_iterable(parts))
    assert (joined.text, joined.ends.tolist()) == (flat.text, flat.ends.tolist())
