"""Which tensors leave a memory that overflows: one at a time, or all that are in the way."""

import pytest
from attrs import evolve

from target_arch.plan.memory import Arena, Buffer
from target_arch.plan.steps import StepOrder
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.steps import spill
from target_arch.stages.steps.spill import Spilling

LIVES = {"a": (0, 3, 40), "b": (0, 1, 30), "c": (2, 3, 20), "d": (4, 6, 50), "e": (5, 6, 60), "f": (1, 6, 10)}
"""First and last step, and bytes; `f` can live nowhere else."""


def order() -> StepOrder:
    buffers = tuple(
        Buffer(
            name=f"{name}@sram",
            kind="activation",
            memory="sram",
            bytes=size,
            alignment=1,
            first=first,
            last=last,
            tensor=name,
        )
        for name, (first, last, size) in LIVES.items()
    )
    return StepOrder(steps=(), buffers=buffers, inputs=(), outputs=())


def refusal(available: int) -> DoesNotFitError:
    alive = tuple((f"{name}@sram", LIVES[name][2]) for name in "edf")
    return DoesNotFitError(
        pool=Arena("sram"), step=5, needed=120, available=available, bound=120, alive=alive
    )


RESIDENCE = TensorHomes(
    homes=dict.fromkeys(LIVES, "sram"), constants={}, others=dict.fromkeys("abcde", ("ddr",))
)


def test_while_it_is_cheap_the_smallest_that_frees_enough_or_the_largest_leaves() -> None:
    assert Spilling().next(refusal(75), order(), RESIDENCE) == ("d",)
    assert Spilling().next(refusal(65), order(), RESIDENCE) == ("e",)
    assert Spilling().next(refusal(10), order(), RESIDENCE) == ("e",)


def test_later_all_that_are_in_the_way_leave_and_twice_as_many_bytes_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spill, "WORK", -1)
    spilling = Spilling()
    assert spilling.next(refusal(70), order(), RESIDENCE) == ("b", "d")
    assert spilling.next(refusal(70), order(), RESIDENCE) == ("a", "b", "c", "d", "e")


def test_nothing_leaves_for_constants_that_are_too_many() -> None:
    constants = evolve(refusal(75), pool=Arena("sram", constant=True))
    assert Spilling().next(constants, order(), RESIDENCE) == ()


def test_nothing_leaves_where_nothing_can_live_elsewhere() -> None:
    nowhere = TensorHomes(homes=dict.fromkeys(LIVES, "sram"), constants={})
    assert Spilling().next(refusal(70), order(), nowhere) == ()
