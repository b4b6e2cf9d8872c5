"""A model on a SoC as a problem for the scheduler: operators, where tensors come from, and the caller.

Model inputs and constants are jobs without work that come first; the caller, which reads the outputs, is one
that comes last. All constants of an operator are one datum. Moves between tiles and the memories around them
belong to the stay of an operator at an accelerator, copies between memories are ways.
"""

from collections.abc import Iterable, Mapping, Sequence

from target_arch.plan.model import Operator
from target_arch.soc.model import HOST_ENGINE, CopyPath
from target_arch.stages.paths.reach import MemoryAccess
from target_arch.stages.paths.routes import PICO, transfers
from target_arch.stages.placement.candidates import CandidateTable, PlacementTask
from target_arch.stages.placement.cheapest_chain import ChainProblem
from target_arch.stages.placement.operator_copies import Footprint
from target_arch.stages.placement.search.jobs import HERE, Datum, Hop, Jobs, Stay, Way

INPUTS, CONSTANTS, FIRST = 0, 1, 2
"""The jobs that are no operators; operators begin at FIRST."""

_Ways = tuple[tuple[Way | None, ...], ...]
_Members = tuple[tuple[str, int], ...]
"""The instances of a group with their machines."""
_Alike = tuple[object, ...]
"""The facts that the stays of an operator depend on."""


class JobShop:
    """The jobs of a problem. Groups are numbered as in the problem; three more stand for the outside."""

    def __init__(self, wanted: PlacementTask, candidates: CandidateTable, problem: ChainProblem) -> None:
        self._problem, self._table = problem, candidates
        self._machines = {instance.name: number for number, instance in enumerate(wanted.soc.instances)}
        engines = {dma.name: len(self._machines) + number for number, dma in enumerate(wanted.soc.dmas)}
        host = next(number for number, group in enumerate(problem.groups) if group.host)
        self._resources = engines | {HOST_ENGINE: self._machines[problem.groups[host].instances[0].name]}
        self._orders = {
            dma.name: round(sum(wanted.setting.costs.order(dma.name).usual) * PICO) for dma in wanted.soc.dmas
        }
        self._masks = [problem.traffic.mask(group.reach.writes) for group in problem.groups]
        self._masks += [problem.inputs, problem.constants]
        self._goals: list[MemoryAccess | None] = [group.reach for group in problem.groups]
        self._goals += [None, None, problem.outputs]
        self._known: dict[tuple[tuple[int, ...], frozenset[int]], _Ways] = {}
        self._rows: dict[_Alike, tuple[Stay | None, ...]] = {}
        self._data: list[Datum] = []
        self._number: dict[str, int] = {}
        self._jobs_of = {op.id: job for job, op in enumerate(problem.order, FIRST)}
        self.caller = FIRST + len(problem.order)
        needs = [(), (), *(self._needs(job, op) for job, op in enumerate(problem.order, FIRST))]
        outputs = tuple(self._datum(name, self._producer(name)) for name in problem.model.outputs)
        self.jobs = Jobs(
            names=("inputs", "constants", *(op.id for op in problem.order), "outputs"),
            machines=tuple(self._machines),
            channels=tuple((dma.name, dma.channels) for dma in wanted.soc.dmas),
            stays=self._all_stays(),
            data=tuple(self._data),
            needs=(*needs, tuple(dict.fromkeys(outputs))),
            host=host,
            early=CONSTANTS,
        )

    def groups(self, groups: Mapping[str, int]) -> list[int]:
        """The groups of all jobs from those of the operators."""
        count = len(self._problem.groups)
        return [count, count + 1, *(groups[op.id] for op in self._problem.order), count + 2]

    def operators(self, order: Iterable[int]) -> tuple[Operator, ...]:
        """The operators among jobs."""
        return tuple(self._problem.order[job - FIRST] for job in order if FIRST <= job < self.caller)

    def order(self, operators: Sequence[Operator]) -> list[int]:
        """All jobs, operators in the order given."""
        return [INPUTS, CONSTANTS, *(self.number(op) for op in operators), self.caller]

    def number(self, operator: Operator) -> int:
        """The job that an operator is."""
        return self._jobs_of[operator.id]

    def _producer(self, name: str) -> int:
        if name in self._number:
            return self._data[self._number[name]].producer
        return INPUTS if self._problem.model.tensors[name].data is None else CONSTANTS

    def _datum(
        self,
        name: str,
        producer: int,
        sizes: tuple[int, ...] | None = None,
        here: frozenset[int] = frozenset(),
    ) -> int:
        if name not in self._number:
            self._number[name] = len(self._data)
            ways = self._ways(sizes or (self._problem.model.tensors[name].bytes,), here)
            self._data.append(Datum(name=name, producer=producer, ways=ways))
        return self._number[name]

    def _needs(self, job: int, operator: Operator) -> tuple[int, ...]:
        """The data that an operator needs; its results are known from here on."""
        # Made data comes first: from it the scheduler knows the earliest time for the copies of constants.
        names = self._problem.copy_costs.operands[operator.id].names
        needed = [self._datum(name, self._producer(name)) for name in names]
        fixed, staying, count = self._fixed(operator), self._problem.staying, len(self._problem.groups)
        if fixed:
            here = frozenset(group for group in range(count) if (operator.id, group) in staying)
            needed.append(self._datum(f"constants of {operator.id}", CONSTANTS, fixed, here))
        self._datum(operator.output, job)
        return tuple(needed)

    def _fixed(self, operator: Operator) -> tuple[int, ...]:
        """The bytes of its constants, constant inputs included."""
        tensors = self._problem.model.tensors
        names = (*operator.constants, *(name for name in operator.inputs if tensors[name].data is not None))
        return tuple([tensors[name].bytes for name in dict.fromkeys(names)])

    def _ways(self, sizes: tuple[int, ...], here: frozenset[int]) -> _Ways:
        """The ways of data of these sizes, which need no copy to the groups of `here`."""
        key = (sizes, here)
        if key not in self._known:
            rows = [
                tuple(
                    HERE if n in here else self._way(mask, sizes, goal) for n, goal in enumerate(self._goals)
                )
                for mask in self._masks
            ]
            self._known[key] = (*rows, (None,) * len(self._goals))
        return self._known[key]

    def _way(self, mask: int, sizes: tuple[int, ...], goal: MemoryAccess | None) -> Way | None:
        if goal is None:
            return None
        landing = -1
        hops: dict[tuple[int, int], int] = {}
        for size in sizes:
            carried = self._problem.traffic.carry(mask, size, goal)
            if carried is None:
                return None
            if carried.route:
                landing = self._problem.traffic.mask((carried.rests,))
            for place, (path, time) in enumerate(carried.route):
                for resource, takes in self._hops(path, time, size):
                    hops[place, resource] = hops.get((place, resource), 0) + takes
        found = tuple((resource, time) for (_, resource), time in sorted(hops.items()))
        return Way(landing=landing, hops=found) if found else HERE

    def _hops(self, path: CopyPath, time: int, size: int) -> tuple[Hop, ...]:
        """A copy of so many bytes that takes so long with its order: what it takes of the host, then of the
        engine.
        """
        engine, host = self._resources[path.engine], self._resources[HOST_ENGINE]
        order = self._orders.get(path.engine, 0) * transfers(path, size)
        return ((host, order), (engine, time - order)) if order else ((engine, time),)

    def _all_stays(self) -> tuple[tuple[Stay | None, ...], ...]:
        count = len(self._problem.groups)
        idle = Stay(machines=(), time=0)
        outside = [
            tuple(idle if group == count + own else None for group in range(count + 3)) for own in range(3)
        ]
        members = [
            tuple((i.name, self._machines[i.name]) for i in group.instances) for group in self._problem.groups
        ]
        inside = [self._stays(op, members) for op in self._problem.order]
        return (outside[0], outside[1], *inside, outside[2])

    def _stays(self, operator: Operator, members: Sequence[_Members]) -> tuple[Stay | None, ...]:
        """The operator on every group; one row for all operators that are alike there."""
        answers = self._table.answers[operator.id]
        touched = self._problem.copy_costs.operands[operator.id]
        computes, fixed = self._problem.computes[operator.id], self._fixed(operator)
        able = tuple(
            [
                tuple([machine for name, machine in group if answers[name].compute is not None])
                for group in members
            ]
        )
        here = tuple((operator.id, number) in self._problem.staying for number in range(len(able)))
        key = (able, computes, touched.sizes, fixed, touched.result, here)
        if key not in self._rows:
            stays = (
                self._stay(number, able[number], touched, () if here[number] else fixed, compute)
                for number, compute in enumerate(computes)
            )
            self._rows[key] = (*stays, None, None, None)
        return self._rows[key]

    def _stay(
        self,
        number: int,
        able: tuple[int, ...],
        touched: Footprint,
        fixed: tuple[int, ...],
        compute: float | None,
    ) -> Stay | None:
        reach = self._problem.groups[number].reach
        if compute is None:
            return None
        return Stay(
            machines=able,
            time=round(compute * PICO),
            before=(
                *self._order(number),
                *(self._moves_in(touched.sizes, fixed, reach) if reach.local else ()),
            ),
            after=self._moves_out(touched.result, reach) if reach.local else (),
        )

    def _order(self, number: int) -> tuple[Hop, ...]:
        """The host's time for an operator on a group."""
        order = round(self._problem.groups[number].order * PICO)
        return ((self._resources[HOST_ENGINE], order),) if order else ()

    def _moves_in(self, sizes: Iterable[int], fixed: Iterable[int], reach: MemoryAccess) -> tuple[Hop, ...]:
        traffic = self._problem.traffic
        near = traffic.mask(reach.reads)
        hops: dict[int, int] = {}
        for size, mask in (
            *((size, near) for size in sizes),
            *((size, self._problem.constants) for size in fixed),
        ):
            carried = traffic.carry(mask, size, reach)
            if carried is not None and carried.move is not None:
                for resource, time in self._hops(*carried.move, size):
                    hops[resource] = hops.get(resource, 0) + time
        return tuple(hops.items())

    def _moves_out(self, size: int, reach: MemoryAccess) -> tuple[Hop, ...]:
        taken = self._problem.traffic.taken(size, reach)
        return () if taken is None else self._hops(*taken, size)
