"""Limits in words."""

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.outcome import ModelNumbers, PointOutcome, Status
from target_arch.explore.space import Limit
from target_arch.quantize.budget import budget, held, limits_of, shown
from target_arch.quantize.price import ModelPrice

MEMORIES = ("flash", "sram")


def price(latency: float, **sizes: int) -> ModelPrice:
    numbers = ModelNumbers(latency=latency, energy=None, bytes=sizes)
    return ModelPrice(outcome=PointOutcome(status=Status.FITS, models={"model": numbers}, bytes=sizes))


def test_limits_of_words() -> None:
    assert budget(["flash=512KiB, latency=20ms", "sram=1000 B"], MEMORIES) == (
        Limit(measure="bytes.flash", most=524288, shown="512KiB"),
        Limit(measure="latency", most=0.02, shown="20ms"),
        Limit(measure="bytes.sram", most=1000, shown="1000 B"),
    )
    assert budget([], MEMORIES) == budget([""], MEMORIES) == ()


def test_of_two_limits_the_less_counts() -> None:
    (limit,) = budget(["flash=1KiB,flash=1000B", "bytes.flash=2KiB"], MEMORIES)
    assert limit.most == 1000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "psram=1MiB",
            "limits: error: `psram` is no memory of this chip, and nothing else that is limited "
            "[unknown-measure]\nhint: did you mean `sram`?",
        ),
        (
            "flash",
            "limits: error: `bytes.flash` lacks a value [unknown-measure]\nhint: `latency=12ms`",
        ),
        (
            "flash=20ms",
            "limits: error: `ms` is no unit of size [bad-unit]\nhint: units are: `B`, `GiB`, `KiB`, `MiB`",
        ),
    ],
)
def test_wrong_limits(text: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        budget([text], MEMORIES)
    assert str(caught.value) == said


def test_values_that_are_just_kept() -> None:
    model = price(1.23456789e-3, flash=1001, sram=64)
    limits = limits_of(model)
    assert [limit.shown for limit in limits] == ["1001B", "64B", "1234.568us"]
    again = budget([f"{'flash'}=1001B,sram=64B,latency=1234.568us"], MEMORIES)
    assert model.keeps(again)
    assert not model.keeps(budget(["flash=1000B"], MEMORIES))
    assert held(again[0], price(1.0, flash=2000, sram=1)) == "flash=2000B"
    assert held(again[2], model) == "latency=1234.568us"
    assert shown("energy", 1.5e-9) == "1.500nJ"
