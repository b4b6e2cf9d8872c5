"""Colours: kinds that differ, and words that are read on them. Distances are CIEDE2000."""

from collections.abc import Iterable
from itertools import combinations

import pytest

from target_arch.report.pictures.style import DARK, LIGHT, Theme, mixed

Color = pytest.importorskip("coloraide", reason="needs `pip install coloraide`").Color

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def boxes(theme: Theme, colours: Iterable[str]) -> list[str]:
    """What boxes in these colours are filled with."""
    return [f"#{mixed(colour, theme.surface, theme.tint)}" for colour in colours]


@THEMES
def test_words_are_read_on_every_box(theme: Theme) -> None:
    backs = [*boxes(theme, (*theme.hues, *theme.kinds.values())), f"#{theme.surface}", f"#{theme.sunken}"]
    for back in backs:
        for ink in (theme.ink, theme.dim):
            assert Color(f"#{ink}").contrast(back, method="wcag21") >= 4.5


@THEMES
def test_kinds_and_instances_differ(theme: Theme) -> None:
    """Their boxes, and more so their outlines: the dark boxes of constants and local buffers were one."""
    for colours in (tuple(theme.kinds.values()), theme.hues):
        fills = [
            Color(one).delta_e(other, method="2000") for one, other in combinations(boxes(theme, colours), 2)
        ]
        lines = [Color(f"#{a}").delta_e(f"#{b}", method="2000") for a, b in combinations(colours, 2)]
        assert min(fills) > 6
        assert min(lines) > 12
