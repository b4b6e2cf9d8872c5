"""Budgets after they were given: with less than was promised, and with what was really taken.

The ledger (`ledger`) makes them.
"""

from collections.abc import Callable, Mapping

from attrs import evolve

from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget, PoolBudget


def with_used(given: Budget, kernel: Kernel) -> Budget:
    """The budget with the bytes that the kernel's local buffers really took."""

    def filled(pool: PoolBudget) -> PoolBudget:
        return evolve(
            pool, used=sum(buffer.bytes for buffer in kernel.buffers if buffer.memory == pool.memory)
        )

    return _each(given, filled)


def limited(given: Budget, limits: Mapping[str, int]) -> Budget:
    """The budget with no more promised of each memory than its limit."""

    def smaller(pool: PoolBudget) -> PoolBudget:
        limit = limits.get(pool.memory)
        return pool if limit is None else evolve(pool, guaranteed=min(pool.guaranteed, limit))

    return _each(given, smaller) if limits else given


def _each(given: Budget, change: Callable[[PoolBudget], PoolBudget]) -> Budget:
    sites = {site: tuple(change(pool) for pool in pools) for site, pools in given.sites.items()}
    return evolve(given, sites=sites)
