"""The setting of one compilation: everything that stays fixed while it places, lowers and plans."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import Codegen
from target_arch.plan.memory import IoOwner
from target_arch.plan.model import Model
from target_arch.plan.objective import Objective
from target_arch.plan.regions.region import Striping
from target_arch.plan.resident import Resident
from target_arch.soc.costs import NOTHING_MEASURED, Costs
from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.stages.memory.planner import BEST, Planner
from target_arch.stages.paths.alignment import least_alignment, part_alignment
from target_arch.stages.paths.reach import resting
from target_arch.stages.paths.routes import Routes


@frozen(kw_only=True, slots=False)
class Setting:
    """A chip as one compilation sees it.

    `soc` is the chip with the memory that this compilation may take: that of the description, less the stack
    of the port and the bytes of other models. `codegens` are by instance name; `chains` are the instances
    whose backend lowers whole chains of operators. `costs` are measured costs, `planner` makes the memory
    plan, `io` says whose the bytes of model inputs and outputs are. `objective` is what placement makes
    least, `within` the seconds that a run may take with it; None without a limit. `resident` says whether
    constants may stay where they are copied to, `held` by memory the bytes that other models need there in
    their turn. `started` are instances that are loaded for frames in flight alone, `joining` those whose
    calls that follow each other are one order there. `bounds` says whether lower bounds of simulated runs are
    computed.
    """

    soc: SoC = field(repr=False)
    mode: MemoryMode
    codegens: Mapping[str, Codegen]
    chains: frozenset[str] = frozenset()
    costs: Costs = field(default=NOTHING_MEASURED, repr=False)
    planner: Planner = field(default=BEST, repr=False)
    goal: Goal = Goal.BALANCED
    io: IoOwner = IoOwner.ARENA
    objective: Objective = Objective.LATENCY
    within: float | None = None
    resident: Resident = Resident.NEVER
    held: Mapping[str, int] = field(factory=dict, repr=False)
    bounds: bool = True
    started: frozenset[str] = frozenset()
    joining: frozenset[str] = frozenset()
    regions: Mapping[str, Callable[[Model], Striping]] = field(factory=dict, repr=False)
    """By instance, the ways to run neighbours of a model as one call."""

    @classmethod
    def of(
        cls,
        soc: SoC,
        backends: Mapping[str, Backend],
        mode: MemoryMode | None = None,
        costs: Costs = NOTHING_MEASURED,
        planner: Planner = BEST,
        goal: Goal = Goal.BALANCED,
        io: IoOwner = IoOwner.ARENA,
    ) -> "Setting":
        """The setting of a chip whose target_archs have these backends; by default in its first mode.

        An instance without a backend counts as C: placement gives it no operator.
        """
        found = {instance.name: backends.get(instance.arch.name) for instance in soc.instances}
        return cls(
            soc=soc,
            mode=mode or soc.mode(),
            codegens={
                name: Codegen.C if backend is None else backend.codegen for name, backend in found.items()
            },
            chains=frozenset(name for name, backend in found.items() if backend and backend.joins),
            costs=costs,
            planner=planner,
            goal=goal,
            io=io,
            regions={
                instance.name: partial(backend.regions, instance)
                for instance in soc.instances
                if (backend := found[instance.name]) is not None and backend.regions is not None
            },
        )

    @cached_property
    def timed(self) -> SoC:
        """The chip with the measured times of its copy paths and load processes; all estimates of time use
        it.
        """
        return self.costs.applied(self.soc)

    @cached_property
    def ordered(self) -> SoC:
        """The timed chip as placement sees it: a copy by an engine begins after the host has ordered it, and
        is of use when the host has seen its end.
        """
        if not self.costs.orders:
            return self.timed
        copies = self.timed.copies
        paths = (evolve(path, setup=path.setup + sum(self.costs.order(path.engine).usual)) for path in copies)
        return evolve(self.timed, copies=tuple(paths))

    def order(self, instance: Instance) -> float:
        """The host's seconds for an operator on an instance; none where whole chains are one order."""
        if instance.arch.host or self.takes_chains(instance.name):
            return 0.0
        return sum(self.costs.order(instance.arch.name).usual)

    @cached_property
    def routes(self) -> Routes:
        """The copy paths, with bytes resting only where the mode lets tensors live."""
        return Routes(self.soc, resting(self.mode))

    @cached_property
    def ordered_routes(self) -> Routes:
        """The copy paths of the `ordered` chip, which are the same where nothing was measured."""
        same = self.ordered.copies == self.soc.copies
        return self.routes if same else Routes(self.ordered, resting(self.mode))

    @cached_property
    def alignments(self) -> Mapping[str, int]:
        """The least alignment of buffers, by memory."""
        return {memory.name: least_alignment(self.soc, memory.name) for memory in self.soc.memories}

    @cached_property
    def part_alignments(self) -> Mapping[str, int]:
        """The least alignment of tensors inside the buffers of others, by memory."""
        return {memory.name: part_alignment(self.soc, memory.name) for memory in self.soc.memories}

    def is_function(self, instance: str) -> bool:
        """True where the kernels of an instance are functions that touch tensors by themselves: C, LLVM."""
        return self.codegens[instance].is_function

    def takes_chains(self, instance: str) -> bool:
        """True where the backend of an instance lowers whole chains of operators at once."""
        return instance in self.chains

    def touches_whole(self, instance: str) -> bool:
        """True where kernels touch whole tensors where they are; elsewhere tiles of them are moved."""
        return self.is_function(instance) or self.takes_chains(instance)
