"""The times of steps by the cost model of placement, in whole picoseconds.

A dispatch takes an equal share of the estimates (or measured times) of its operators, or of the time that its
kernel states; one of a region takes those of all its operators, and what it computes twice. A copy takes the
set-up of its path and the time of its bytes. What work of others takes of the host is in `orders`.
"""

from collections import Counter
from collections.abc import Mapping

from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.partitions import Partition
from target_arch.plan.regions.region import Region
from target_arch.soc.model import CopyPath
from target_arch.stages.paths.routes import PICO
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.simulation.orders import Orders, orders_of


class Times:
    """The times of the runs and transfers of one placed and lowered model."""

    def __init__(self, work: PartialLowering) -> None:
        self._routes = work.routes
        self._paths = dict(zip(work.soc.copies, work.setting.timed.copies, strict=True))
        self._direct: dict[tuple[str, str, str], CopyPath] = {}
        self._known: dict[tuple[CopyPath, int], int] = {}
        self._runs = _shares(work)
        self.orders = self._ordered(work)
        """The host's time for each step of a device."""
        self.joining = work.setting.joining
        """The instances whose calls are one order in frames in flight, where they follow each other."""

    def run(self, partition: str, operator: str) -> int:
        """One dispatch for an operator; 0 for an operator without a placement."""
        return self._runs.get((partition, operator), 0)

    def _ordered(self, work: PartialLowering) -> Orders:
        costs = work.setting.costs
        return orders_of(work.soc, lambda device: costs.order(device).usual)

    def transfer(self, path: CopyPath, bytes: int) -> int:
        """One copy over a declared path."""
        known = self._known.get((path, bytes))
        if known is None:
            known = round(self._routes.seconds(self._paths[path], bytes, 1) * PICO)
            self._known[path, bytes] = known
        return known

    def copy(self, source: str, target: str, engine: str, bytes: int) -> int:
        """One copy between two memories by an engine."""
        ends = (source, target, engine)
        if ends not in self._direct:
            direct = self._routes.direct(source, target)
            self._direct[ends] = next(path for path in direct if path.engine == engine)
        return self.transfer(self._direct[ends], bytes)


def _shares(work: PartialLowering) -> dict[tuple[str, str], int]:
    """The time of one call, by partition and operator. Operators without a call of their own, such as those
    within a chain, take time in all calls of their partition. The time that a kernel states replaces
    estimates.
    """
    found: dict[tuple[str, str], int] = {}
    choices = {choice.operator: choice for choice in work.graph.choices}
    for partition in work.graph.partitions:
        kernel = work.kernels.get(partition.id)
        calls = _calls(partition, kernel, chained=work.setting.takes_chains(partition.instance))
        if kernel is not None and kernel.seconds is not None:
            each = round(kernel.seconds / max(calls.total(), 1) * PICO)
            found |= {(partition.id, id): each for id in calls}
            continue
        times = {
            id: choices[id].compute(partition.instance) if id in choices else 0.0
            for id in (operator.id for operator in partition.operators)
        }
        for region in partition.regions:
            times |= _region_times(region, times, lowered=kernel is not None)
        within = sum(times[id] for id in times if not calls[id]) / max(calls.total(), 1)
        for id in calls:
            found[partition.id, id] = round((times.get(id, 0.0) / calls[id] + within) * PICO)
    return found


def _region_times(region: Region, times: Mapping[str, float], *, lowered: bool) -> dict[str, float]:
    """The times of the operators of a region: a lowered one is one call, at its last operator. What it adds
    is there in either case.
    """
    own, last = sum(times[id] for id in region.operators), region.operators[-1]
    if not lowered:
        return {last: times[last] + region.seconds(own)}
    return {**dict.fromkeys(region.operators, 0.0), last: own + region.seconds(own)}


def _calls(partition: Partition, kernel: Kernel | None, *, chained: bool) -> Counter[str]:
    """The number of calls of a partition for each operator: once each if it has no kernel yet, one in all if
    it is `chained`.
    """
    first = partition.operators[0].id
    if kernel is None:
        return Counter([first] if chained else [operator.id for operator in partition.operators])
    return Counter(action.operator or first for action in kernel.actions if isinstance(action, Call))
