"""Changed copies of a mapping leave it as it is, and are cheap."""

from hypothesis import given
from hypothesis import strategies as st

from target_arch.stages.overlay import Overlay

CHANGES = st.lists(st.dictionaries(st.integers(0, 40), st.integers(), max_size=5), max_size=40)


@given(st.dictionaries(st.integers(0, 40), st.integers()), CHANGES)
def test_it_is_the_mapping_with_all_changes_so_far(
    base: dict[int, int], changes: list[dict[int, int]]
) -> None:
    now, plain = Overlay(base), dict(base)
    earlier: list[tuple[Overlay[int, int], dict[int, int]]] = []
    for each in changes:
        earlier.append((now, dict(plain)))
        now, plain = now.changed(each), plain | each
        assert (dict(now), len(now)) == (plain, len(plain))
        assert all((key in now) == (key in plain) for key in range(41))
    assert all(dict(known) == copy for known, copy in earlier)


def test_a_chain_of_copies_does_not_copy_everything_each_time() -> None:
    now: Overlay[int, int] = Overlay(dict.fromkeys(range(10_000), 0))
    bases = set()
    for number in range(1_000):
        now = now.changed({number: 1})
        bases.add(id(now._base))
    assert len(bases) < 20
    assert sum(now.values()) == 1_000
