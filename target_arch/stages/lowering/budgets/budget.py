"""Variants of a budget: computed on demand, limited to fewer bytes, and with the bytes that a kernel used.

The ledger (`ledger`) computes the budgets themselves.
"""

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.plan.partitions import Partition


def on_demand(partition: Partition, ask: Callable[[], Budget]) -> Budget:
    """A budget that is computed only when one of its call sites is read, and again at each read."""
    return Budget(partition=partition.id, sites=_OnDemand(partition, ask))


class _OnDemand(Mapping[str, tuple[PoolBudget, ...]]):
    """The call sites of a partition."""

    def __init__(self, partition: Partition, ask: Callable[[], Budget]) -> None:
        self._names = tuple(operator.id for operator in partition.operators)
        self._ask = ask

    def __getitem__(self, site: str) -> tuple[PoolBudget, ...]:
        if site not in self._names:
            raise KeyError(site)
        return self._ask().sites[site]

    def __contains__(self, site: object) -> bool:
        return site in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def without_promises(partition: Partition) -> Budget:
    """A budget of no bytes anywhere."""
    return Budget(partition=partition.id, sites={operator.id: () for operator in partition.operators})


def with_used(given: Budget, kernel: Kernel) -> Budget:
    """The budget with the bytes that the local buffers of the kernel use."""

    def filled(pool: PoolBudget) -> PoolBudget:
        return evolve(
            pool, used=sum(buffer.bytes for buffer in kernel.buffers if buffer.memory == pool.memory)
        )

    return _each(given, filled)


def limited(given: Budget, limits: Mapping[str, int]) -> Budget:
    """The budget with at most the limit of each memory."""

    def smaller(pool: PoolBudget) -> PoolBudget:
        limit = limits.get(pool.memory)
        return pool if limit is None else evolve(pool, guaranteed=min(pool.guaranteed, limit))

    return _each(given, smaller) if limits else given


def _each(given: Budget, change: Callable[[PoolBudget], PoolBudget]) -> Budget:
    sites = {site: tuple(change(pool) for pool in pools) for site, pools in given.sites.items()}
    return evolve(given, sites=sites)
