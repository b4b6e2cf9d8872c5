"""Which operator goes where and why: choices, partitions and their graph."""

from collections.abc import Sequence
from functools import cached_property

from attrs import frozen

from target_arch.plan.execution import Execution
from target_arch.plan.model import Model, Operator
from target_arch.plan.objective import ObjectiveFacts
from target_arch.plan.regions.region import Region


@frozen(kw_only=True)
class CostItem:
    """One of the copies in a cost, or the host's order: what it is, and the seconds."""

    what: str
    seconds: float


@frozen(kw_only=True)
class Cost:
    """The cost of a candidate at one instance: seconds of computing, of the copies it needs, and in which the
    host starts it and sees its end.

    `parts` are the copies one by one, and the order. `load` is the time to bring up the instance, once, and
    is not in the total. `measured`: `compute` is no estimate; `fitted`: it is one that was fitted to
    measurements. `energy` is in joules, None where it is not known. `worst` are the most seconds of
    computing, None where costs do not state them.
    """

    compute: float
    copy: float = 0.0
    order: float = 0.0
    parts: tuple[CostItem, ...] = ()
    load: float = 0.0
    measured: bool = False
    fitted: bool = False
    energy: float | None = None
    worst: float | None = None

    @property
    def total(self) -> float:
        return self.compute + self.copy + self.order


@frozen(kw_only=True)
class Candidate:
    """One instance that was considered for an operator: its cost, or the reason why it was refused.

    `run` is the makespan in seconds of a simulated run if this operator alone went there; None where that
    was not asked for, or no copy path leads there. `instead` is what the objective of placement would come to
    then, in words; empty where that is a short run. `in_slices` are the seconds of computing on an instance
    that refuses the whole operator, as it has room for slices alone.
    """

    instance: str
    cost: Cost | None = None
    refusal: str | None = None
    in_slices: float | None = None
    run: float | None = None
    instead: str = ""


@frozen(kw_only=True)
class Choice:
    """Where an operator went. `candidates` lists every instance of the SoC, chosen one included. `way` is how
    it is computed there, in words, empty where the backend does not say.
    """

    operator: str
    instance: str
    reason: str
    candidates: tuple[Candidate, ...]
    way: str = ""

    def compute(self, instance: str) -> float:
        """Seconds of computing on an instance; 0 for one that cannot run it."""
        for each in self.candidates:
            if each.instance == instance and each.cost is not None:
                return each.cost.compute
        return 0.0


@frozen(kw_only=True)
class Partition:
    """A piece of the model given to one instance; its operators run one after the other, those of a region as
    one call.
    """

    id: str
    instance: str
    operators: tuple[Operator, ...]
    reason: str
    regions: tuple[Region, ...] = ()


def border(model: Model, operators: Sequence[Operator]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The activations that these operators read and do not make, and those they make for others."""
    made = {operator.output for operator in operators}
    inside = {operator.id for operator in operators}
    read = dict.fromkeys(name for operator in operators for name in operator.inputs)
    wanted = {name for operator in model.operators if operator.id not in inside for name in operator.inputs}
    wanted |= set(model.kept)
    reads = tuple(name for name in read if name not in made and model.tensors[name].data is None)
    return reads, tuple(operator.output for operator in operators if operator.output in wanted)


@frozen(kw_only=True)
class PlacementFacts:
    """How a placement was found, and its costs beside the run.

    `search_makespan` and `search_bound` are seconds in the search's own model, which approximates a run: they
    judge the search, not the run. `load` is the time to bring up all used instances, once, and `load_bytes`
    the size of their images. `energy` is the joules of computing of the `metered` operators whose energy is
    known. `objective` is how far the search for another objective than a short run came; None for that.
    """

    method: str
    search_makespan: float
    search_bound: float
    load: float = 0.0
    load_bytes: int = 0
    energy: float = 0.0
    metered: int = 0
    objective: ObjectiveFacts | None = None


@frozen(kw_only=True, slots=False, repr=False)
class PartitionGraph:
    """The model cut into partitions, in execution order, with the choice behind every operator."""

    model: Model
    partitions: tuple[Partition, ...]
    choices: tuple[Choice, ...]
    facts: PlacementFacts | None = None
    """None for a graph that was not made by placement."""
    run: Execution | None = None
    """A simulated run of its steps, with stand-ins for kernels; None where that was not asked for."""

    def __repr__(self) -> str:
        return f"<{len(self.partitions)} partitions of {self.model.name}>"

    def partition(self, id: str) -> Partition:
        """The partition with that id. KeyError where there is none."""
        return self._partitions[id]

    def operator(self, id: str) -> Operator:
        """The operator with that id. KeyError where the model has none."""
        return self._operators[id]

    def choice(self, operator: str) -> Choice:
        """The choice made for an operator id. KeyError where there is none."""
        return self._choices[operator]

    def region(self, operator: str) -> Region | None:
        """The region that an operator is in; None for one that is called by itself."""
        return next((each for each, _ in self._regions if operator in each.operators), None)

    def added(self, region: Region) -> float:
        """The seconds that one of its regions adds to a run."""
        instance = next(instance for each, instance in self._regions if each == region)
        own = (self._choices[id].compute(instance) for id in region.operators if id in self._choices)
        return region.seconds(sum(own))

    @cached_property
    def _regions(self) -> tuple[tuple[Region, str], ...]:
        """The regions, each with its instance."""
        return tuple((each, part.instance) for part in self.partitions for each in part.regions)

    @cached_property
    def _partitions(self) -> dict[str, Partition]:
        return {partition.id: partition for partition in self.partitions}

    @cached_property
    def _operators(self) -> dict[str, Operator]:
        return {operator.id: operator for operator in self.model.operators}

    @cached_property
    def _choices(self) -> dict[str, Choice]:
        return {choice.operator: choice for choice in self.choices}
