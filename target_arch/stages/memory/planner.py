"""Which algorithm makes memory plans, and how long it may search: chosen once, asked for every plan."""

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from target_arch.backend.planner import Algorithm, Effort
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.stages.memory.allocate import allocate
from target_arch.stages.memory.packing import ALGORITHMS


@frozen(kw_only=True)
class Planner:
    """An algorithm by name, its effort where it takes one, and the algorithms there are: those built in, or,
    once the pipeline has it, all that were found (`target_arch.registry.PlugIns.planners`).
    """

    algorithm: str = "best"
    effort: Effort | None = None
    algorithms: Mapping[str, Algorithm] = field(default=ALGORITHMS, repr=False)

    def plan(self, buffers: Sequence[Buffer], capacities: Mapping[str, int]) -> MemoryPlan:
        """As `allocate`. With no buffers: refuses a wish that cannot be honoured."""
        return allocate(buffers, capacities, self.algorithm, self.algorithms, effort=self.effort)


BEST = Planner()
