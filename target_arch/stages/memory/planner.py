"""The algorithm that makes memory plans, and its search effort: chosen once and used for every plan."""

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from target_arch.backend.planner import Algorithm, Effort
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.stages.memory.allocate import allocate
from target_arch.stages.memory.packing import ALGORITHMS


@frozen(kw_only=True)
class Planner:
    """An algorithm by name, its effort if it takes one, and the known algorithms: the built-in ones, or in
    the pipeline all that were found (`PlugIns.planners`).
    """

    algorithm: str = "best"
    effort: Effort | None = None
    algorithms: Mapping[str, Algorithm] = field(default=ALGORITHMS, repr=False)

    def plan(self, buffers: Sequence[Buffer], capacities: Mapping[str, int]) -> MemoryPlan:
        """As `allocate`. Without buffers it only checks the name and the effort; raises PlanError for wrong
        ones.
        """
        return allocate(buffers, capacities, self.algorithm, self.algorithms, effort=self.effort)


BEST = Planner()
