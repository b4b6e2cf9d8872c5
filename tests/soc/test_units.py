"""Quantities are exact, and print as people write them."""

from fractions import Fraction

import pytest

from target_arch.soc.units import BANDWIDTH, FREQUENCY, SIZE, TIME, split, written


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("64 KiB", (Fraction(64), "KiB")),
        ("1.6GB/s", (Fraction(8, 5), "GB/s")),
        ("-2 us", (Fraction(-2), "us")),
        ("7", (Fraction(7), "")),
        ("KiB", None),
        ("", None),
    ],
)
def test_split(text: str, parts: tuple[Fraction, str] | None) -> None:
    assert split(text) == parts


@pytest.mark.parametrize(
    ("value", "units", "text"),
    [
        (65536, SIZE, "64 KiB"),
        (65532, SIZE, "65,532 B"),
        (4 * 2**30, SIZE, "4 GiB"),
        (1.6e9, BANDWIDTH, "1.6 GB/s"),
        (1e-6, TIME, "1 us"),
        (2.4e-8, TIME, "24 ns"),
        (0.0, TIME, "0 ns"),
        (667e6, FREQUENCY, "667 MHz"),
        (1e15, BANDWIDTH, "1,000,000 GB/s"),
    ],
)
def test_written(value: float, units: dict[str, Fraction], text: str) -> None:
    assert written(value, units) == text
