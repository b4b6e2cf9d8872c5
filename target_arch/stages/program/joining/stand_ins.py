"""Stand-ins for partitions without a kernel: a run per operator that touches tensors where a kernel will."""

from collections.abc import Sequence

from attrs import define, evolve, field

from target_arch.plan.kernels import Access, LocalBuffer, Operand, Slice
from target_arch.plan.partitions import Partition
from target_arch.plan.runs import copied_runs
from target_arch.stages.paths import reach as access
from target_arch.stages.program.homes import Demand, MemoryDemands
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.joining.tensor_places import TensorPlaces
from target_arch.stages.program.joining.transfers import InsertionPoint


@define(kw_only=True, eq=False)
class StandIns:
    """Adds stand-ins to a program. `timed` ones move tiles as kernels will; the others keep the memories of
    their instance for themselves and move nothing.
    """

    places: TensorPlaces = field(repr=False)
    demands: MemoryDemands = field(repr=False)
    timed: bool

    def add(self, partition: Partition, site: InsertionPoint) -> None:
        """Append a run for each operator of the partition, one for all operators of a chain."""
        work = self.places.work
        instance = work.instance(partition)
        whole = work.setting.touches_whole(instance.name)
        tiles = access.local(instance) if self.timed and not whole else ()
        for operator, demands in self.demands.expected(partition):
            copied = self._copied(operator, partition, demands, site) if self.timed and whole else None
            if copied is not None:
                self.places.items.extend(copied)
                continue
            operands = [each for demand in demands for each in self._operands(demand, site, whole=whole)]
            run = Run(
                partition=partition.id,
                operator=operator,
                instance=partition.instance,
                function="",
                operands=tuple(operands),
                reserved=() if self.timed else access.owned(instance),
            )
            self.places.items.extend(self._through(run, tiles, site) if tiles else [run])

    def _copied(
        self, operator: str, partition: Partition, demands: Sequence[Demand], site: InsertionPoint
    ) -> list[Run] | None:
        """The runs of an operator that copies runs of bytes, one for each: they are elided where its operands
        are parts of each other. None for another operator.
        """
        work = self.places.work
        pairs = copied_runs(work.graph.operator(operator), work.graph.model)
        if pairs is None:
            return None
        names = {
            demand.tensor: each.of for demand in demands for each in self._operands(demand, site, whole=True)
        }
        return [
            Run(
                partition=partition.id,
                operator=operator,
                instance=partition.instance,
                function="",
                operands=tuple(
                    Operand(of=names[end.of], access=access, offset=end.offset, bytes=end.row_bytes)
                    for end, access in ((source, Access.READ), (target, Access.WRITE))
                ),
                copies=True,
            )
            for source, target in pairs
        ]

    def _operands(self, demand: Demand, site: InsertionPoint, *, whole: bool) -> list[Operand]:
        """The buffer of a tensor; of a constant from which tiles are taken piece by piece, the pieces that
        are there at the same time.
        """
        if demand.write:
            return [Operand(of=self.places.written(demand.tensor, site), access=demand.access)]
        streamed = None
        if not whole and not self.timed:
            streamed = self.places.streamed(demand.tensor, demand.memories, site)
        if streamed is None:
            name = self.places.readable(demand.tensor, demand.memories, site)
            return [Operand(of=name, access=demand.access)]
        source, memory = streamed
        held = self.places.passing(demand.tensor, memory, source, site)
        return [Operand(of=piece.of, access=demand.access) for piece in held]

    def _through(self, run: Run, tiles: tuple[str, ...], site: InsertionPoint) -> list[Item]:
        """The run on tiles: whole operands are moved in before it, its result is moved out after it."""
        operands, inward, outward = [], list[Item](), list[Item]()
        transfer = self.places.transfers.transfer
        for operand in run.operands:
            tensor = self.places.whole(operand.of)
            tile = self._tile(tensor, tiles, site, outward=operand.access.writes)
            operands.append(evolve(operand, of=tile.of))
            if operand.access.writes:
                outward.append(transfer(tile, tensor, site))
            else:
                inward.append(transfer(tensor, tile, site))
        return [*inward, evolve(run, operands=tuple(operands)), *outward]

    def _tile(self, tensor: Slice, tiles: tuple[str, ...], site: InsertionPoint, *, outward: bool) -> Slice:
        """A local buffer as large as a tensor, in the local memory that is nearest to it."""
        routes, slot = self.places.work.routes, self.places.slots[tensor.of]
        sources, targets = (tiles, (slot.memory,)) if outward else ((slot.memory,), tiles)
        move = routes.nearest(sources, targets, slot.bytes)
        if move is None:
            raise site.error(routes.missing(sources, targets))
        path, _ = move
        memory = path.source if outward else path.target
        buffer = LocalBuffer(name=tensor.of, memory=memory, bytes=slot.bytes)
        return self.places.whole(self.places.local(site.partition, buffer))
