"""The present ledger of a pass: when it is built, built again, tried again, and what it says then."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest
from attrs import evolve, field, frozen

from target_arch.plan.kernels import Kernel
from target_arch.plan.partitions import Partition
from target_arch.stages.lowering.budgets import current_ledger
from target_arch.stages.lowering.budgets.current_ledger import CurrentLedger
from target_arch.stages.lowering.budgets.rebuild import EAGER
from target_arch.stages.steps.fit import KnownPlan

PARTITION = cast(Partition, "the partition")
KERNEL = cast(Kernel, "its kernel")


@frozen(kw_only=True)
class Homes:
    homes: Mapping[str, str]
    streamed: Mapping[tuple[str, str], int] = field(factory=dict)


@frozen(kw_only=True)
class Stub:
    """A ledger with the facts by which `CurrentLedger` decides."""

    number: int
    homes: Homes
    unforeseen: int = 0
    aliasing: int = 0
    constants_missing: bool = False
    small: bool = False
    planless: bool = False
    asked: tuple[str, ...] = ()
    aliased: frozenset[str] = frozenset(("p1",))
    offsets: Mapping[str, int] = field(factory=lambda: {"a": 3})

    @property
    def memories(self) -> tuple[str, ...]:
        return self.asked

    def asked_by(self, partition: Partition) -> "Stub":
        return self.asked_about(("own",))

    def asked_about(self, memories: Iterable[str]) -> "Stub":
        return evolve(self, asked=tuple(dict.fromkeys((*self.asked, *memories))))

    def crowded(self, partition: Partition) -> bool:
        assert "own" in self.asked
        return self.small

    def has_plan(self, memories: Iterable[str]) -> bool:
        assert set(memories) <= set(self.asked)
        return not self.planless

    def budget(self, partition: Partition) -> tuple["Stub", object]:
        return evolve(self, asked=(*self.asked, "budget")), ("budget of", self.number)

    def with_kernel(self, partition: Partition, kernel: Kernel) -> tuple["Stub", object]:
        return evolve(self, asked=(*self.asked, "kernel")), ("refusal of", self.number)

    def alive(self, partition: Partition, site: str, memory: str) -> tuple[str, int]:
        assert memory in self.asked
        return site, self.number

    def over_budget(self, memory: str) -> dict[str, int]:
        return {memory: self.number}


class Pass:
    """A pass whose ledgers are these, in turn; `changed` is the present one with other facts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *facts: dict[str, Any]) -> None:
        self.facts = list(facts)
        self.made: list[Mapping[str, str]] = []
        """The homes of every ledger that was built."""
        self.streamed: list[Mapping[tuple[str, str], int]] = []
        """The constants that go in pieces in it."""
        ledgers = type("Ledgers", (), {"of": staticmethod(lambda _, homes: self._of(homes))})
        monkeypatch.setattr(current_ledger, "Ledger", ledgers)
        monkeypatch.setattr(current_ledger, "foreseen", self._foreseen)
        fitted = Homes(homes={"t": "elsewhere"}, streamed={("w", "m"): 512})
        result = type("Fitted", (), {"homes": fitted})
        monkeypatch.setattr(current_ledger, "fit_memory", lambda _: result)
        self.current = CurrentLedger(cast(Any, lambda: "work"))

    def _foreseen(
        self, _: object, pinned: Mapping[str, str], streamed: Mapping[tuple[str, str], int]
    ) -> Homes:
        return Homes(homes=pinned, streamed=streamed)

    def _of(self, homes: Homes) -> Stub:
        self.made.append(homes.homes)
        self.streamed.append(homes.streamed)
        facts = self.facts.pop(0) if self.facts else {}
        return Stub(number=len(self.made), homes=homes, **facts)

    def changed(self, **facts: Any) -> None:
        self.current._ledger = evolve(cast(Any, self.current._ledger), **facts)

    def number(self, *, is_function: bool = False) -> int:
        """The number of the ledger that answers."""
        return cast(tuple[str, int], self.current.budget(PARTITION, is_function=is_function))[1]


def test_a_ledger_is_built_at_the_first_question_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Pass(monkeypatch)
    assert at.current.take(PARTITION, KERNEL) is None
    assert at.current.over_budget(("m",)) == {}
    assert at.current.close() is None
    assert (at.number(), at.number(is_function=True), at.number()) == (1, 1, 1)
    assert at.made == [{}]
    assert cast(Stub, at.current._ledger).asked.count("budget") == 3
    assert at.current.take(PARTITION, KERNEL) == ("refusal of", 1)
    assert cast(Stub, at.current._ledger).asked[-1] == "kernel"


def test_it_is_built_again_after_an_unforeseen_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Pass(monkeypatch)
    assert at.number() == 1
    at.changed(unforeseen=1)
    assert (at.number(is_function=True), at.number()) == (2, 2)


def test_where_tensors_do_not_fit_they_are_pinned_where_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: later ledgers have the same homes, whether they fit or not."""
    at = Pass(monkeypatch, {"small": True}, {}, {"small": True})
    assert at.number() == 2
    at.changed(unforeseen=1)
    assert at.number() == 3
    elsewhere = {"t": "elsewhere"}
    assert at.made == [{}, elsewhere, elsewhere]
    assert at.streamed == [{}, {("w", "m"): 512}, {("w", "m"): 512}], (
        "constants go in the pieces of that plan"
    )
    known = KnownPlan(
        homes=elsewhere, offsets={"a": 3}, aliased=frozenset(("p1",)), streamed={("w", "m"): 512}
    )
    assert at.current.close() == known


@pytest.mark.parametrize(
    ("is_function", "planless", "expected"), [(False, False, 2), (False, True, 1), (True, False, 1)]
)
def test_a_kernel_that_copies_is_worth_a_try_before_an_accelerator(
    is_function: bool, planless: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Pass(monkeypatch, {}, {"planless": planless})
    assert at.number() == 1
    at.changed(aliasing=1, asked=("m",))
    assert at.number(is_function=is_function) == expected
    assert len(at.made) == 1 + (not is_function)
    kept = cast(Stub, at.current._ledger)
    assert kept.asked[:1] == ("m",)
    assert at.number(is_function=is_function) == expected


def test_alive_asks_about_the_memory_of_a_present_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Pass(monkeypatch)
    assert at.current.alive(PARTITION, "s", "m", is_function=False) == ("s", 1)
    assert "m" in cast(Stub, at.current._ledger).asked
    at.changed(unforeseen=1)
    assert at.current.alive(PARTITION, "s", "m", is_function=False) == ("s", 2)


def test_nobody_is_over_budget_while_constants_have_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Pass(monkeypatch)
    at.number()
    assert at.current.over_budget(("m", "n")) == {}
    at.changed(constants_missing=True)
    assert at.current.over_budget(("m", "n")) == {"m": {"m": 1}, "n": {"n": 1}}


@pytest.mark.parametrize("facts", [{}, {"unforeseen": 1}, {"constants_missing": True}], ids=str)
def test_the_plan_behind_the_promises_is_known_while_it_is_valid(
    facts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Pass(monkeypatch)
    at.number()
    at.changed(**facts)
    known = KnownPlan(homes={}, offsets={"a": 3}, aliased=frozenset(("p1",)))
    assert at.current.close() == (None if facts else known)
    assert at.current._ledger is None


def test_unforeseen_kernels_cause_ever_fewer_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    at, fresh = Pass(monkeypatch), list[int]()
    for count in range(40):
        before = len(at.made)
        at.number()
        fresh += [count] if len(at.made) > before else []
        at.changed(unforeseen=cast(Stub, at.current._ledger).unforeseen + 1)
    assert fresh == [*range(EAGER + 1), 2 * EAGER]
