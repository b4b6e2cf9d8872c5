"""Which algorithm makes memory plans, and how long it may search: chosen once, asked for every plan."""

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.stages.memory.allocate import allocate
from target_arch.stages.memory.packing import ALGORITHMS, Algorithm, Effort


@frozen(kw_only=True)
class Planner:
    """An algorithm by name, its effort (of those in `packing.ANYTIME`), and the algorithms there are.

    A further algorithm is a function from the buffers of an arena to offsets, under a name of its own:
    `Planner(algorithm="mine", algorithms={**ALGORITHMS, "mine": mine})`.
    """

    algorithm: str = "best"
    effort: Effort | None = None
    algorithms: Mapping[str, Algorithm] = field(default=ALGORITHMS, repr=False)

    def plan(self, buffers: Sequence[Buffer], capacities: Mapping[str, int]) -> MemoryPlan:
        """As `allocate`. With no buffers: refuses a wish that cannot be honoured."""
        return allocate(buffers, capacities, self.algorithm, self.algorithms, effort=self.effort)


BEST = Planner()
