"""The contract of memory planners: a named algorithm that gives offsets to the buffers of one arena.

Found by the entry-point group `target_arch.planners`, in the folder `planners` of a `--backend-dir`, or added
in Python; asked for by `--planner NAME`.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from target_arch.plan.memory import Buffer

ENTRY_POINT_GROUP = "target_arch.planners"

Pack = Callable[[Sequence[Buffer]], Mapping[str, int]]
"""Buffers of one arena, each of at least one byte, in; an offset for each out. A pure function."""


@frozen(kw_only=True)
class Effort:
    """The limit of a search, and the peak at which it may stop.

    With `nodes` (placements tried) alone the plan is the same on every machine; with `seconds` it is not, and
    they are all that counts. The search ends early at a peak of `goal` bytes, or at the lower bound.
    """

    nodes: int = 20_000
    seconds: float | None = None
    goal: int = 0
    seed: int = 0


@frozen(kw_only=True)
class Algorithm:
    """A planner by name.

    `pack` is a Pack that returns for each buffer a multiple of its `alignment`, and no bytes of another
    buffer which is alive at the same step. It is called often; plans are checked independently. With
    `takes_effort` it also takes the keyword `effort`, an Effort.
    """

    name: str
    description: str
    pack: Callable[..., Mapping[str, int]]
    takes_effort: bool = False

    def __call__(self, buffers: Sequence[Buffer]) -> Mapping[str, int]:
        """The offsets by the names of the buffers."""
        return self.pack(buffers)

    def __str__(self) -> str:
        limits = " (takes nodes, seconds, seed)" if self.takes_effort else ""
        return f"{self.name}: {self.description}{limits}\n"
