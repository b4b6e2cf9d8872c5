"""When the ledger of a pass is made again: where kernels changed more than it can follow.

Each time costs as much as the model is large. So it is done after each such kernel at first, and then each
time their number has doubled.

Tests: `tests/stages/lowering/test_rebuild.py`.
"""

from attrs import evolve, frozen

from target_arch.stages.lowering.ledger import Ledger

EAGER = 16
"""For so many kernels the ledger is made again after each."""


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
    """When the ledger is due, by the facts it tells (see `Ledger`).

    After unforeseen kernels it must be made again. After kernels that copy bytes which an alias saves it is
    worth a try, which fails where the new ledger knows of no plan; the old one goes on then.
    """

    _unforeseen: Cadence = Cadence()
    _aliasing: Cadence = Cadence()
    _tried: int = 0
    """The aliasing kernels of the present ledger that were there when one was tried in vain."""

    def must(self, ledger: Ledger | None) -> bool:
        """True where there is no ledger, or none that can be trusted any longer."""
        return ledger is None or self._unforeseen.due(ledger.unforeseen)

    def worthwhile(self, ledger: Ledger) -> bool:
        """True where a new ledger may know of tensors that are the same bytes."""
        more = ledger.aliasing - self._tried
        return more > 0 and self._aliasing.due(more)

    def after_must(self, ledger: Ledger | None) -> "Rebuilds":
        """The ledger was made again, because it had to be."""
        unforeseen = 0 if ledger is None else ledger.unforeseen
        return evolve(self, unforeseen=self._unforeseen.rebuilt(unforeseen), tried=0)

    def after_try(self, ledger: Ledger, *, replaced: bool) -> "Rebuilds":
        """A new ledger was made for the sake of aliases. It `replaced` the one there was, or did not."""
        tried = evolve(self, aliasing=self._aliasing.rebuilt(ledger.aliasing - self._tried))
        if not replaced:
            return evolve(tried, tried=ledger.aliasing)
        return evolve(tried, unforeseen=self._unforeseen.counting(ledger.unforeseen), tried=0)
