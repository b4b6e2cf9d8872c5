"""Models that are planned again because others need more: what each is asked for, and what is said at the
end. A planner here is a list of answers, each a plan or a refusal, the last one for all that follows.
"""

from collections.abc import Mapping, Sequence

import pytest
from attrs import evolve, field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.plan.model_pools import Pairs, Sharing
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.memory.model_pools import model_pools
from target_arch.stages.memory.multi_model import ROUNDS, excess, pack_models
from tests.stages.memory.test_model_pools import small
from tests.stages.memory.test_pools_of_workloads import buffer, lent, pairs, planned
from tests.tiny_plans import soc

Answer = MemoryPlan | DiagnosticError
Asked = tuple[int, Mapping[str, int]]


@frozen
class Planned:
    """A model's plan."""

    plan: MemoryPlan


@frozen
class Planner:
    """Gives the answers of each model in turn, and keeps what it was asked for."""

    answers: Sequence[Sequence[Answer]]
    asked: list[Asked] = field(factory=list)

    def __call__(self, number: int, taken: Mapping[str, int]) -> Planned:
        before = sum(each == number for each, _ in self.asked)
        self.asked.append((number, dict(taken)))
        answer = self.answers[number][min(before, len(self.answers[number]) - 1)]
        if isinstance(answer, DiagnosticError):
            raise answer
        return Planned(answer)


def sram(size: int) -> MemoryPlan:
    return planned(buffer("x", size))


def both(size: int, tcm: int) -> MemoryPlan:
    return planned(buffer("x", size), buffer("k", tcm, kind="constant", memory="flash"))


def missing(size: int, memory: str = "sram") -> DoesNotFitError:
    return DoesNotFitError(
        pool=Arena(memory), step=0, needed=size, available=0, bound=size, alive=(("x", size),)
    )


REFUSED = PlacementError([Diagnostic(rule="placement", place="operator x", message="too small")])
OTHER = DiagnosticError([Diagnostic(rule="unknown-mode", place="request", message="no such mode")])


def pack(
    planner: Planner,
    arenas: Sharing = Sharing.SEPARATE,
    chip: SoC | None = None,
    whole: SoC | None = None,
    apart: Pairs | None = None,
) -> list[MemoryPlan]:
    names = tuple("abcd"[: len(planner.answers)])
    return [each.plan for each in pack_models(chip or small(4096), names, arenas, planner, whole, apart)]


def refusal(planner: Planner, arenas: Sharing = Sharing.SEPARATE, **facts: object) -> DiagnosticError:
    with pytest.raises(DiagnosticError) as caught:
        pack(planner, arenas, **facts)  # type: ignore[arg-type]
    return caught.value


def sram_asked(planner: Planner) -> list[tuple[int, int]]:
    return [(number, taken.get("sram", 0)) for number, taken in planner.asked]


def test_who_exceeds_what_others_leave_is_planned_again_alone() -> None:
    """Both were planned without regard to the other; the second one fits beside what the first one then
    takes.
    """
    planner = Planner([[sram(3008), sram(2000)], [sram(2000)]])
    assert pack(planner) == [sram(2000), sram(2000)]
    assert sram_asked(planner) == [(0, 0), (1, 3008), (0, 2000)]
    three = Planner([[sram(1600)], [sram(1600)], [sram(1600), sram(800)]])
    assert pack(three) == [sram(1600), sram(1600), sram(800)]
    assert sram_asked(three) == [(0, 0), (1, 1600), (2, 3200), (0, 3200), (1, 3200), (2, 3200)]


def test_what_all_take_too_much_is_asked_of_each_until_one_takes_less() -> None:
    """Buffers of the caller leave arenas less, which no single plan shows: the excess is 904 B."""
    lending = planned(buffer("x", 2000), lent("in", 3000))
    lending_less = planned(buffer("x", 1008), lent("in", 3000))
    planner = Planner([[lending, lending, lending_less]])
    assert pack(planner) == [lending_less]
    assert sram_asked(planner) == [(0, 0), (0, 904), (0, 904)]
    second = Planner([[lending, OTHER], [sram(64), sram(48)], [sram(80)]])
    assert pack(second, whole=small(5136)) == [lending, sram(48), sram(80)]
    assert sram_asked(second) == [(0, 0), (1, 2000), (2, 2064), (0, 152), (1, 2088)]


def test_every_memory_is_asked_for() -> None:
    """In one round, as what is missing in the first one may follow from the second."""

    def lending(sram: int, flash: int) -> MemoryPlan:
        far = (buffer("f", flash, memory="flash"), lent("fin", 3000, memory="flash"))
        return planned(buffer("x", sram), lent("in", 3000), *far)

    planner = Planner([[lending(2000, 2000), lending(2000, 2000), lending(1008, 1008)]])
    assert pack(planner) == [lending(1008, 1008)]
    assert planner.asked == [(0, {}), (0, {"flash": 904}), (0, {"flash": 0, "sram": 904})]
    stuck = refusal(Planner([[lending(2000, 2048)], [planned(buffer("f", 16, memory="flash"))]]))
    assert isinstance(stuck, DoesNotFitError)
    assert (stuck.memory, stuck.step, stuck.missing) == ("flash", 0, 968)
    assert stuck.alive == (("a in flash", 2048), ("b in flash", 16), ("a in flash.caller.fin", 3000))


def test_who_is_planned_again_asks_others_alone() -> None:
    planner = Planner([[sram(3008), missing(10), sram(2000)], [sram(2000), sram(1900)]])
    assert pack(planner) == [sram(2000), sram(1900)]
    assert sram_asked(planner) == [(0, 0), (1, 3008), (0, 2000), (1, 3018), (0, 1904)]
    said = str(refusal(Planner([[sram(3008), missing(10)], [sram(2000)]])))
    assert said.splitlines()[1:2] == ["model b: note: takes 2,000 B of `sram`"]
    assert "model a: note" not in said


def test_what_did_not_help_is_not_asked_for_again() -> None:
    """The first model takes no less, so that later it is asked for what is missing then alone."""
    planner = Planner([[sram(2000)], [sram(1000), sram(500)], [missing(100), missing(40), sram(2500)]])
    with pytest.raises(DiagnosticError):
        pack(planner)
    assert sram_asked(planner)[:6] == [(0, 0), (1, 2000), (2, 3008), (0, 1108), (1, 2100), (2, 2512)]
    assert sram_asked(planner)[6:8] == [(0, 552), (1, 2140)]


def test_what_was_asked_for_adds_up() -> None:
    planner = Planner([[sram(2000), sram(1600), sram(1200)], [missing(100), missing(40), sram(2800)]])
    assert pack(planner) == [sram(1200), sram(2800)]
    assert sram_asked(planner) == [(0, 0), (1, 2000), (0, 100), (1, 1600), (0, 140), (1, 1200)]


def test_a_model_that_still_does_not_fit_is_refused_by_what_it_lacks() -> None:
    planner = Planner([[sram(2000 - 100 * turn) for turn in range(9)], [missing(10)]])
    said = str(refusal(planner))
    assert sram_asked(planner)[: 2 * ROUNDS] == [
        (0, 0), (1, 2000), (0, 10), (1, 1904), (0, 20), (1, 1808), (0, 30), (1, 1712),
    ]  # fmt: skip
    assert said == (
        "model b, step 0: error: pool `sram` needs 10 B, 0 B are available "
        "(these steps need at least 10 B); alive there: `x` 10 B [does-not-fit]\n"
        "model a: note: takes 1,712 B of `sram`"
    )


def test_the_last_round_may_be_the_one_that_helps() -> None:
    """Of the caller's bytes in one round each as many go as make 16 less; with one more it is refused."""

    def shrinking(rounds: int) -> Planner:
        most = 1104 + 16 * rounds
        far = (lent("in", 2992), buffer("k", 8, memory="flash"))
        answers = [planned(buffer("x", most - 16 * turn), *far) for turn in range(rounds + 1)]
        return Planner([answers])

    assert pack(shrinking(ROUNDS))[0].peaks[Arena("sram")] == 1104
    assert str(refusal(shrinking(ROUNDS + 1))) == (
        "memory of all models: error: pool `sram` needs 4,112 B, 4,096 B are available; "
        "alive there: `a in sram` 1,120 B, `a in sram.caller.in` 2,992 B [does-not-fit]"
    )


def test_a_backend_that_gives_no_number_gets_half_of_each_memory() -> None:
    """Of those that are taken, in the order of their names; a single byte is not halved."""
    one = planned(buffer("x", 2000), buffer("k", 1000, kind="constant", memory="flash"))
    two = planned(buffer("x", 1000), buffer("k", 1000, kind="constant", memory="flash"))
    planner = Planner([[one, one, two], [REFUSED, sram(500)]])
    assert pack(planner) == [two, sram(500)]
    assert planner.asked == [
        (0, {}),
        (1, {"flash": 1008, "sram": 2000}),
        (0, {"flash": 504}),
        (0, {"flash": 0, "sram": 1000}),
        (1, {"flash": 1008, "sram": 1008}),
    ]


def test_a_backend_in_a_workload_gets_half_in_the_order_of_names() -> None:
    one = planned(buffer("x", 2000), buffer("k", 1000, kind="constant", memory="flash"))
    planner = Planner([[one], [REFUSED]])
    error = refusal(planner, Sharing.SHARED, apart=pairs("ab"))
    assert planner.asked[2:] == [(0, {"flash": 504}), (0, {"flash": 0, "sram": 1000})]
    assert str(error) == "model b, operator x: error: too small [placement]"


def test_excess_is_of_arenas_and_of_what_the_caller_lends() -> None:
    chip, whole = small(1000), small(1500)
    one = planned(buffer("x", 700), buffer("h", 200, kind="state"), lent("in", 300), lent("out", 200))
    pools = model_pools(soc(), {"a": one}, Sharing.SHARED)
    assert excess(chip, whole, pools) == {}
    assert excess(small(900), whole, pools) == {}
    assert excess(small(899), whole, pools) == {"sram": 1}
    assert excess(chip, small(1400), pools) == {}
    assert excess(chip, small(1399), pools) == {"sram": 1}
    assert excess(small(800), small(1200), pools) == {"sram": 200}
    alone = model_pools(soc(), {"a": planned(lent("in", 300))}, Sharing.SHARED)
    assert excess(small(10), small(300), alone) == {}
    assert excess(small(10), small(299), alone) == {"sram": 1}
    assert excess(small(0), small(300), alone) == {}
    far = planned(buffer("x", 10), buffer("t", 2000, memory="tcm"), buffer("y", 9, memory="flash"))
    lists = model_pools(soc(), {"a": far}, Sharing.SHARED)
    tiny = evolve(soc(), memories=tuple(evolve(each, size=8) for each in soc().memories))
    assert list(excess(tiny, tiny, lists).items()) == [("flash", 1), ("sram", 2), ("tcm", 1992)]
    assert excess(soc(), soc(), lists) == {"tcm": 976}


def test_models_of_a_workload_are_planned_beside_those_that_they_may_meet() -> None:
    planner = Planner([[sram(1000)], [sram(800)], [sram(600)], [sram(400)]])
    pack(planner, Sharing.SHARED, apart=pairs("ab", "ac", "cd"))
    assert sram_asked(planner) == [(0, 0), (1, 1008), (2, 1008), (3, 608)]
    late = Planner([[sram(2000), sram(1000)], [sram(2900)], [sram(100)]])
    assert pack(late, Sharing.SHARED, apart=pairs("ab", "ac", "bc"))[0] == sram(1000)
    assert sram_asked(late) == [(0, 0), (1, 2000), (2, 4912), (0, 3024)]


def test_a_refusal_names_what_each_other_model_takes() -> None:
    error = refusal(
        Planner([[sram(1000)], [planned(buffer("t", 8, memory="tcm"))], [sram(500)], [missing(9000)]])
    )
    assert [str(note.place) for note in error.diagnostics[0].notes] == ["model a", "model c"]
    assert [note.message for note in error.diagnostics[0].notes] == [
        "takes 1,008 B of `sram`",
        "takes 512 B of `sram`",
    ]
