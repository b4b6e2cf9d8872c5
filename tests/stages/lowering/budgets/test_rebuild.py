"""When the ledger is due: after each kernel at first, then each time their number has doubled."""

from typing import cast

from attrs import frozen

from target_arch.stages.lowering.budgets.ledger import Ledger
from target_arch.stages.lowering.budgets.rebuild import EAGER, Cadence, Rebuilds


def test_rebuilds_become_rarer() -> None:
    cadence, at, fresh = Cadence(), list[int](), 0
    for count in range(1, 201):
        fresh += 1
        if cadence.due(fresh):
            cadence, fresh = cadence.rebuilt(fresh), 0
            at.append(count)
    assert at == [*range(1, EAGER + 1), 32, 64, 128]


@frozen(kw_only=True)
class Facts:
    unforeseen: int = 0
    aliasing: int = 0


def facts(*, unforeseen: int = 0, aliasing: int = 0) -> Ledger:
    return cast(Ledger, Facts(unforeseen=unforeseen, aliasing=aliasing))


def test_without_a_ledger_one_is_made_and_trusted_until_a_kernel_is_unforeseen() -> None:
    assert Rebuilds().must(None)
    made = Rebuilds().after_must(None)
    assert not made.must(facts())
    assert not made.worthwhile(facts())
    assert made.must(facts(unforeseen=1))


def test_a_try_in_vain_is_not_repeated_for_the_same_kernels() -> None:
    made = Rebuilds().after_must(None)
    assert made.worthwhile(facts(aliasing=1))
    in_vain = made.after_try(facts(aliasing=1), replaced=False)
    assert not in_vain.worthwhile(facts(aliasing=1))
    assert in_vain.worthwhile(facts(aliasing=2))


def test_a_try_that_replaced_the_ledger_counts_its_unforeseen_kernels() -> None:
    many = Rebuilds(unforeseen=Cadence(counted=20, next_rebuild=40))
    replaced = many.after_try(facts(aliasing=1, unforeseen=15), replaced=True)
    assert not replaced.must(facts(unforeseen=4))
    assert replaced.must(facts(unforeseen=5))


def test_a_try_waits_for_new_kernels_and_for_its_turn() -> None:
    """Kernels that were tried in vain do not count; the others count together with those before."""
    due = Rebuilds(aliasing=Cadence(counted=40, next_rebuild=40), tried=2)
    assert [due.worthwhile(facts(aliasing=count)) for count in (2, 3)] == [False, True]
    rare = Rebuilds(aliasing=Cadence(counted=20, next_rebuild=40), tried=2)
    assert [rare.worthwhile(facts(aliasing=count)) for count in (7, 21, 22)] == [False, False, True]


def test_a_necessary_rebuild_counts_its_kernels() -> None:
    many = Rebuilds().after_must(facts(unforeseen=20))
    assert [many.must(facts(unforeseen=count)) for count in (1, 19, 20)] == [False, False, True]
    first = Rebuilds(unforeseen=Cadence(counted=EAGER - 1, next_rebuild=EAGER)).after_must(None)
    assert first.must(facts(unforeseen=1))


def test_a_try_counts_the_kernels_since_the_last() -> None:
    """Four of the ten were tried before; with the ten before those, it is 16."""
    tried = Rebuilds(aliasing=Cadence(counted=10, next_rebuild=11), tried=4)
    made = tried.after_try(facts(aliasing=10), replaced=True)
    assert [made.worthwhile(facts(aliasing=count)) for count in (15, 16)] == [False, True]
    assert Rebuilds().after_try(facts(aliasing=1), replaced=True).worthwhile(facts(aliasing=1))
