"""Which items of a program belong to each partition and operator: while these run, a kernel's own buffers are
live.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.partitions import Partition
from target_arch.stages.memory.packing.live_sums import Interval
from target_arch.stages.program.items import Item, Run


@frozen(kw_only=True)
class CallSites:
    """The first and last item of every operator, by partition and operator, and of every partition, in order.

    Copies belong to the run that follows them in their partition, the last ones to the run before them.
    """

    spans: Mapping[str, Mapping[str, Interval]] = field(repr=False)
    turns: Sequence[Interval] = field(repr=False)
    numbers: Mapping[str, int] = field(repr=False)
    """The number of each partition in the order in which they run, by id."""

    @classmethod
    def of(cls, partitions: Sequence[Partition], items: Sequence[Item]) -> "CallSites":
        """The call sites of the partitions of a program, lowered or not."""
        turns = _turns(partitions, items)
        return cls(
            spans={p.id: _sites(p, items, turn) for p, turn in zip(partitions, turns, strict=True)},
            turns=turns,
            numbers={partition.id: number for number, partition in enumerate(partitions)},
        )

    def turn(self, partition: Partition) -> Interval:
        """The first and last item of a partition."""
        return self.turns[self.numbers[partition.id]]

    def lives(self, partition: Partition, kernel: Kernel) -> dict[str, Interval]:
        """The lives of the kernel's own buffers, from the first call site that touches one to the last."""
        names: dict[str, list[str]] = {buffer.name: [] for buffer in kernel.buffers}
        for site, touched in _touched(partition, kernel) if names else ():
            for name in touched & names.keys():
                names[name].append(site)
        spans = self.spans[partition.id]
        used = {name: [spans[site] for site in touching] for name, touching in names.items() if touching}
        return {
            name: (min(first for first, _ in found), max(last for _, last in found))
            for name, found in used.items()
        }


def _turns(partitions: Sequence[Partition], items: Sequence[Item]) -> list[Interval]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, item in enumerate(items):
        first.setdefault(item.partition, number)
        last[item.partition] = number
    turns: list[Interval] = []
    after = 0
    for partition in partitions:
        start = first.get(partition.id, after)
        turns.append((start, last.get(partition.id, start)))
        after = turns[-1][1]
    return turns


def _sites(partition: Partition, items: Sequence[Item], turn: Interval) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    start = turn[0]
    for number, item in enumerate(items[turn[0] : turn[1] + 1], turn[0]):
        if isinstance(item, Run) and item.partition == partition.id:
            first, _ = found.get(item.operator, (start, start))
            found[item.operator] = (min(first, start), number)
            start = number + 1
    last = max((span[1] for span in found.values()), default=turn[1])
    return {
        operator.id: (span[0], turn[1] if span[1] == last else span[1])
        for operator in partition.operators
        for span in (found.get(operator.id, turn),)
    }


def _touched(partition: Partition, kernel: Kernel) -> Iterator[tuple[str, set[str]]]:
    """The buffers that every action touches, with its call site: that of the next call for a move in, of the
    previous call for a move out.
    """
    site = partition.operators[0].id
    waiting: set[str] = set()
    own = {buffer.name for buffer in kernel.buffers}
    for action in kernel.actions:
        if isinstance(action, Call):
            site = action.operator or partition.operators[0].id
            yield site, waiting | {operand.of for operand in action.operands}
            waiting = set()
        elif action.target.of in own:
            waiting |= {action.target.of, action.source.of}
        else:
            yield site, {action.source.of}
    yield site, waiting
