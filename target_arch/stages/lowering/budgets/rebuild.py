"""When the ledger of a pass is rebuilt: after kernels that change more than it can follow.

A rebuild takes time with the size of the model. So at first every such kernel causes one, and later each
doubling of their number.

Tests: `tests/stages/lowering/budgets/test_rebuild.py`.
"""

from attrs import evolve, frozen

from target_arch.stages.lowering.budgets.ledger import Ledger

EAGER = 16
"""For so many kernels the ledger is rebuilt after each."""


@frozen(kw_only=True)
class Cadence:
    """How many kernels of a kind there were at the last rebuild, and at how many the next one is due."""

    counted: int = 0
    next_rebuild: int = 1

    def due(self, more: int) -> bool:
        """True where so many more kernels make a rebuild due."""
        return self.counted + more >= self.next_rebuild

    def counting(self, more: int) -> "Cadence":
        """The cadence with more kernels counted, the next rebuild due as before."""
        return evolve(self, counted=self.counted + more)

    def rebuilt(self, more: int) -> "Cadence":
        """The cadence after a rebuild with so many more kernels."""
        count = self.counted + more
        return Cadence(counted=count, next_rebuild=max(count + 1, 2 * count if count >= EAGER else 0))


@frozen(kw_only=True)
class Rebuilds:
    """When a rebuild of the ledger is due, by the facts it counts (see `Ledger`).

    After unforeseen kernels it must be rebuilt. After kernels that copy bytes which an alias could save, a
    rebuild is worth a try; if the new ledger has no plan that fits, the old one stays.
    """

    _unforeseen: Cadence = Cadence()
    _aliasing: Cadence = Cadence()
    _tried: int = 0
    """The number of aliasing kernels of the present ledger at the last try without success."""

    def must(self, ledger: Ledger | None) -> bool:
        """True where there is no ledger, or none that can be trusted any longer."""
        return ledger is None or self._unforeseen.due(ledger.unforeseen)

    def worthwhile(self, ledger: Ledger) -> bool:
        """True where a new ledger may know of tensors that are the same bytes."""
        more = ledger.aliasing - self._tried
        return more > 0 and self._aliasing.due(more)

    def after_must(self, ledger: Ledger | None) -> "Rebuilds":
        """After a rebuild that was necessary."""
        unforeseen = 0 if ledger is None else ledger.unforeseen
        return evolve(self, unforeseen=self._unforeseen.rebuilt(unforeseen), tried=0)

    def after_try(self, ledger: Ledger, *, replaced: bool) -> "Rebuilds":
        """After a rebuild tried for the sake of aliases. It `replaced` the old ledger, or did not."""
        tried = evolve(self, aliasing=self._aliasing.rebuilt(ledger.aliasing - self._tried))
        if not replaced:
            return evolve(tried, tried=ledger.aliasing)
        return evolve(tried, unforeseen=self._unforeseen.counting(ledger.unforeseen), tried=0)
