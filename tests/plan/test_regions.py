"""Cuts of regions, and their printed forms."""

import pytest

from target_arch.plan.regions.cut import Axis, AxisCut, AxisPart
from target_arch.plan.regions.region import Region

ROWS = AxisCut(axis=Axis.ROWS, size=1, of=12)


@pytest.mark.parametrize(
    ("parts", "of", "borders"),
    [(2, 9, [0, 4, 9]), (3, 24, [0, 8, 16, 24]), (4, 22, [0, 5, 11, 16, 22]), (4, 9, [0, 3, 6, 9])],
)
def test_parts_of_a_cut_are_even(parts: int, of: int, borders: list[int]) -> None:
    """Four parts of nine are not smaller than three: there are three."""
    cut = AxisCut.into(Axis.COLUMNS, parts, of)
    assert [0, *(span.end for span in cut.spans)] == borders
    assert cut.parts == len(cut.spans) == len(borders) - 1
    assert all(0 < span.count <= cut.size for span in cut.spans)


def test_spans_join() -> None:
    one, other = AxisPart(start=2, end=4, of=9), AxisPart(start=6, end=7, of=9)
    assert str(one.joined(other)) == "2 to 7 of 9"
    assert one.whole == AxisPart(start=0, end=9, of=9)


def test_regions_print() -> None:
    cuts = (AxisCut.into(Axis.COLUMNS, 2, 24), ROWS)
    region = Region(operators=("a", "b"), cuts=cuts, scratch=1200, instructions=3000)
    assert (region.axis, region.patches) == ("rows", 2)
    assert str(region) == (
        "a to b: 1 rows at a time in each of 2 patches, 1,200 B for lines, about 3,000 instructions more"
    )
    alone = Region(operators=("a",), cuts=(ROWS,), over="x")
    assert alone.patches == 1
    assert str(alone) == ("a: 1 rows at a time, in the place of x, 0 B for lines, about 0 instructions more")
