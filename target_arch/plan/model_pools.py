"""The memory of a bundle of several models: the bytes of each model in every pool, and of all together.

With *shared* arenas the models run in turn, and they share the bytes of their workspaces: as large
as the largest. With *separate* arenas each keeps its own bytes in memories that the host sees, and with them
its inputs and outputs while others run. Nothing outlives a run in a memory that only devices see: there
models share in both cases. Constants always add up.

In a workload jobs may come between the steps of others: then models whose jobs may be begun at the same time
have bytes of their own in every memory, and all others share.
"""

from enum import StrEnum

from attrs import field, frozen

from target_arch.plan.memory import Arena
from target_arch.soc.stacks import CoreStack
from target_arch.soc.words import member_or_text


class Sharing(StrEnum):
    """Whether the arenas of several models share bytes."""

    SHARED = "shared"
    SEPARATE = "separate"


Pairs = frozenset[frozenset[str]]
"""Pairs of models by their names."""


def sharing(text: str) -> Sharing:
    """Converter: the sharing of that text."""
    return member_or_text(Sharing, text)


@frozen(kw_only=True)
class ModelPool:
    """One pool: the arenas of all models by that name. `peaks` and `offsets` are in bytes, one per model; a
    model that has nothing there has the peak 0. `alignment` is that of every model's part, and `bytes` is
    the size for all; `apart` the sum if each had bytes of its own.
    """

    pool: Arena
    capacity: int
    alignment: int
    overlaid: bool
    peaks: tuple[int, ...]
    offsets: tuple[int, ...]
    bytes: int
    apart: int

    @property
    def memory(self) -> str:
        """The memory that the pool is a part of."""
        return self.pool.memory

    def part(self, number: int) -> int:
        """Bytes that the model of that number has, padding included: all of them where models take turns."""
        ends = (*self.offsets[1:], self.bytes)
        return self.bytes if self.overlaid else ends[number] - self.offsets[number]


@frozen(kw_only=True)
class ModelPools:
    """Every pool in the order of its name. `models` are the names in the order of the peaks. `stacks` are
    those of the cores, at the ends of their memories, where no pool reaches.
    """

    models: tuple[str, ...]
    arenas: Sharing = field(converter=Sharing)
    pools: tuple[ModelPool, ...]
    stacks: tuple[CoreStack, ...] = ()
    apart: Pairs | None = None
    """In a workload, the models that may be in the middle of a job at the same time."""

    @property
    def constant_bytes(self) -> int:
        """The bytes of the constants of all models."""
        return sum(pool.bytes for pool in self.pools if pool.pool.constant)

    def pool(self, arena: Arena) -> ModelPool:
        """The pool of the arenas by that name. KeyError where no model has anything there."""
        found = next((pool for pool in self.pools if pool.pool == arena), None)
        if found is None:
            raise KeyError(str(arena))
        return found
