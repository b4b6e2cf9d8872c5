"""Several models packed onto one chip, planned by a function that is a few lines long."""

from collections.abc import Callable, Mapping

import pytest
from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.plan.model_pools import Sharing
from target_arch.soc.model import SoC
from target_arch.stages.errors import (
    NO_CHANGE,
    DoesNotFitError,
    PlacementError,
    in_model,
    with_way_out,
)
from target_arch.stages.memory.multi_model import pack_models
from tests.stages.memory.test_model_pools import small

SRAM = 4096


@frozen
class Planned:
    """A model of one buffer."""

    plan: MemoryPlan


Taken = Mapping[str, int]
PlanOne = Callable[[int, Taken], Planned]


def planned(size: int) -> Planned:
    """So many bytes of SRAM."""
    buffer = Buffer(name="x", kind="activation", memory="sram", bytes=size, alignment=16, first=0, last=1)
    return Planned(MemoryPlan(buffers=(buffer,), offsets={"x": 0}, peaks={Arena("sram"): size}))


def needs(*sizes: tuple[int, ...], sram: int = SRAM, asked: list[tuple[int, int]] | None = None) -> PlanOne:
    """A planner of models, each of which takes the first of its sizes, largest first, that fits."""

    def plan(number: int, taken: Taken) -> Planned:
        left = max(sram - taken.get("sram", 0), 0)
        if asked is not None:
            asked.append((number, left))
        for size in sizes[number]:
            if size <= left:
                return planned(size)
        least = sizes[number][-1]
        raise DoesNotFitError(
            pool=Arena("sram"), step=3, needed=least, available=left, bound=least, alive=(("x", least),)
        )

    return plan


def sram_of(arenas: Sharing, plan: PlanOne, models: str = "ab", soc: SoC | None = None) -> list[int]:
    found = pack_models(soc or small(SRAM), tuple(models), arenas, plan)
    return [each.plan.peaks[Arena("sram")] for each in found]


def test_a_single_model_is_planned_once_on_the_whole_chip() -> None:
    asked: list[tuple[int, int]] = []
    assert sram_of(Sharing.SHARED, needs((4096,), asked=asked), "a") == [4096]
    assert asked == [(0, SRAM)]


def test_a_single_model_may_end_where_the_memory_does() -> None:
    assert sram_of(Sharing.SHARED, needs((2047,), sram=2047), "a", small(2047)) == [2047]


def test_models_that_run_in_turn_do_not_take_from_each_other() -> None:
    assert sram_of(Sharing.SHARED, needs((4096,), (4000,))) == [4096, 4000]


def test_a_model_is_planned_in_what_others_leave() -> None:
    asked: list[tuple[int, int]] = []
    assert sram_of(Sharing.SEPARATE, needs((1000,), (4096, 3000), asked=asked)) == [1000, 3000]
    assert asked == [(0, SRAM), (1, SRAM - 1008)]


def test_an_earlier_model_is_planned_again_with_less() -> None:
    assert sram_of(Sharing.SEPARATE, needs((4000, 2000), (1500,))) == [2000, 1500]


def test_a_backend_that_does_not_say_what_is_missing_is_made_room_for() -> None:
    """The others give half of their bytes."""

    def plan(number: int, taken: Taken) -> Planned:
        if number == 1 and taken.get("sram", 0) > 2048:
            raise PlacementError([Diagnostic(rule="placement", place="operator x", message="too small")])
        return needs((4000, 2000), (1500,))(number, taken)

    assert sram_of(Sharing.SEPARATE, plan) == [2000, 1500]


def refusal(arenas: Sharing, plan: PlanOne, models: str = "ab") -> str:
    with pytest.raises(DiagnosticError) as found:
        sram_of(arenas, plan, models)
    return str(found.value)


def test_a_single_model_is_refused_as_it_is() -> None:
    with pytest.raises(DoesNotFitError) as found:
        sram_of(Sharing.SEPARATE, needs((5000,)), "a")
    assert str(found.value) == (
        "step 3: error: pool `sram` needs 5,000 B, 4,096 B are available "
        "(these steps need at least 5,000 B); alive there: `x` 5,000 B [does-not-fit]"
    )


def test_a_refusal_names_the_model_the_others_and_the_way_out() -> None:
    assert refusal(Sharing.SEPARATE, needs((3000,), (2000,))) == (
        "model b, step 3: error: pool `sram` needs 2,000 B, 1,088 B are available "
        "(these steps need at least 2,000 B); alive there: `x` 2,000 B [does-not-fit]\n"
        "model a: note: takes 3,008 B of `sram`\n"
        "hint: `arenas='shared'`, where the models run in turn"
    )
    assert refusal(Sharing.SHARED, needs((3000,), (5000,))) == (
        "model b, step 3: error: pool `sram` needs 5,000 B, 4,096 B are available "
        "(these steps need at least 5,000 B); alive there: `x` 5,000 B [does-not-fit]"
    )


def test_any_other_error_names_the_model() -> None:
    def plan(number: int, taken: Taken) -> Planned:
        if number == 1:
            raise DiagnosticError([Diagnostic(rule="unknown-mode", place="request", message="no such mode")])
        return planned(1000)

    assert refusal(Sharing.SHARED, plan) == "model b, request: error: no such mode [unknown-mode]"


def test_where_planning_again_does_not_help_all_bytes_are_listed() -> None:
    """The plans ignore what others take."""
    assert refusal(Sharing.SEPARATE, lambda number, taken: planned((3000, 2000)[number])) == (
        "memory of all models: error: pool `sram` needs 5,008 B, 4,096 B are available; "
        "alive there: `a in sram` 3,000 B, `b in sram` 2,000 B [does-not-fit]\n"
        "hint: `arenas='shared'`, where the models run in turn"
    )


def test_errors_in_a_model_have_it_in_their_place() -> None:
    first = DiagnosticError([Diagnostic(rule="r", place="p", message="m", hint="h")])
    assert str(in_model(first, "a")) == "model a, p: error: m [r]\nhint: h"
    assert str(first) == "p: error: m [r]\nhint: h"


@pytest.mark.parametrize(
    ("hint", "found"), [(None, "w"), ("h", "h, or w"), (f"{NO_CHANGE} was found that makes it fit", "w")]
)
def test_a_way_out_comes_after_the_ones_that_are_known(hint: str | None, found: str) -> None:
    refusal = DoesNotFitError(pool=Arena("sram"), step=0, needed=2, available=1, bound=2, alive=(), hint=hint)
    assert str(with_way_out(refusal, "w").hint) == found
    assert refusal.hint == hint
