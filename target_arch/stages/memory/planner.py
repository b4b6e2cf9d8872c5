"""The algorithm that makes memory plans, and its search effort: chosen once and used for every plan."""

from collections.abc import Mapping, MutableMapping, Sequence

from attrs import field, frozen

from target_arch.backend.planner import Algorithm, Effort
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.stages.memory.allocate import allocate, packer
from target_arch.stages.memory.packing import ALGORITHMS


@frozen(kw_only=True)
class Planner:
    """An algorithm by name, its effort if it takes one, and the known algorithms: the built-in ones, or in
    the pipeline all that were found (`PlugIns.planners`). `known` are plans of arenas so far, by all that
    they depend on, where these are kept.
    """

    algorithm: str = "best"
    effort: Effort | None = None
    algorithms: Mapping[str, Algorithm] = field(default=ALGORITHMS, repr=False)
    known: MutableMapping[object, MemoryPlan] | None = field(default=None, eq=False, repr=False)

    def plan(self, buffers: Sequence[Buffer], capacities: Mapping[str, int]) -> MemoryPlan:
        """As `allocate`."""
        return allocate(
            buffers, capacities, self.algorithm, self.algorithms, effort=self.effort, known=self.known
        )

    def check(self) -> None:
        """PlanError where there is no such algorithm, or it does not take this effort."""
        packer(self.algorithm, self.algorithms, self.effort)


BEST = Planner()
