"""Kernels joined into one program over buffers, as if every action were over before the next begins.

Whole-tensor copies appear here, right before the action that needs a tensor in another memory
(`tensor_places`). Waits, events and DMA channels are added afterwards (`hazards`).
"""

from collections.abc import Mapping
from math import lcm

from attrs import define, evolve, field

from target_arch.plan.kernels import Access, Call, Kernel, Move, Operand, Slice
from target_arch.plan.partitions import Partition
from target_arch.soc.model import Instance
from target_arch.stages.paths import reach as access
from target_arch.stages.program.hazards import overlap
from target_arch.stages.program.homes import MemoryDemands, TensorHomes
from target_arch.stages.program.items import Item, Run
from target_arch.stages.program.joining.stand_ins import StandIns
from target_arch.stages.program.joining.tensor_places import TensorPlaces
from target_arch.stages.program.joining.tile_contents import Tiles
from target_arch.stages.program.joining.transfers import InsertionPoint
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program


def join(work: PartialLowering, homes: TensorHomes, *, timed: bool = False) -> Program:
    """The program of a whole graph, with stand-ins for partitions without a kernel.

    Stand-ins of a `timed` program run and move tiles as kernels will, so that the program takes the time that
    they will take. The others keep the memories of their instance for themselves and move nothing, as the
    budgets are about to offer the bytes of tiles. Raises StepError for a kernel that names unknown tensors or
    buffers, or tensors that cannot be copied.
    """
    places, demands, tiles = TensorPlaces(work=work, homes=homes), MemoryDemands(work), Tiles()
    stand_ins = StandIns(places=places, demands=demands, timed=timed)
    inputs = tuple((name, places.input(name)) for name in work.graph.model.inputs)
    states = tuple(places.state(state) for state in work.graph.model.states)
    for partition in work.graph.partitions:
        instance, kernel = work.instance(partition), work.kernels.get(partition.id)
        site = InsertionPoint(
            partition=partition.id, place=f"partition {partition.id} on {partition.instance}"
        )
        if kernel is None:
            stand_ins.add(partition, site)
            for memory in access.owned(instance):
                tiles.begin(memory, ())
        else:
            local = _local_buffers(kernel, places, tiles, site)
            _KernelActions(
                places=places, demands=demands, tiles=tiles, site=site, instance=instance, local=local
            ).add(partition, kernel)
    outputs = tuple((name, places.output(name)) for name in work.graph.model.outputs)
    kept = {*(name for _, name in outputs), *(state.next for state in states)}
    return Program(
        items=_needed(places, kept), buffers=places.slots, inputs=inputs, outputs=outputs, states=states
    )


def _needed(places: TensorPlaces, kept: set[str]) -> tuple[Item, ...]:
    """The items less the copies whose bytes no later item reads, such as a tile that the next kernel reads
    where it was made.
    """
    whole, read = set(kept), dict[str, dict[Slice, None]]()
    needed: list[Item] = []
    for item in reversed(places.items):
        if isinstance(item, Run):
            whole.update(o.of for o in item.operands if o.access.reads and not o.offset and o.bytes is None)
            for operand in item.operands:
                if operand.access.reads and operand.of not in whole:
                    read.setdefault(operand.of, {})[places.touched(operand)] = None
        elif item.pieces[0][1].of in whole or any(
            overlap(target, part) for _, target in item.pieces for part in read.get(target.of, ())
        ):
            for source, _ in item.pieces:
                if source.of not in whole:
                    read.setdefault(source.of, {})[source] = None
        else:
            continue
        needed.append(item)
    needed.reverse()
    return tuple(needed)


@define(kw_only=True, eq=False)
class _LocalBuffers:
    """The local buffers of the partition being joined.

    `names` maps a kernel's names to buffers of the program, `used` are these buffers, `touched` those that an
    item touches already, and `left` (by memory) the buffers of the partition before.
    """

    names: dict[str, str]
    left: Mapping[str, Mapping[str, int]]
    used: set[str]
    touched: set[str] = field(factory=set)


def _local_buffers(kernel: Kernel, places: TensorPlaces, tiles: Tiles, site: InsertionPoint) -> _LocalBuffers:
    names = {buffer.name: places.local(site.partition, buffer) for buffer in kernel.buffers}
    own: dict[str, list[str]] = {}
    for buffer in kernel.buffers:
        own.setdefault(buffer.memory, []).append(names[buffer.name])
    left = {memory: tiles.begin(memory, buffers) for memory, buffers in own.items()}
    return _LocalBuffers(names=names, left=left, used=set(names.values()))


@define(kw_only=True, eq=False)
class _KernelActions:
    """Adds the actions of one kernel to a program."""

    places: TensorPlaces
    demands: MemoryDemands
    tiles: Tiles
    site: InsertionPoint
    instance: Instance
    local: _LocalBuffers

    @property
    def _reads(self) -> tuple[str, ...]:
        """The memories in which the instance reads whole operands."""
        return self.demands.whole(self.instance, write=False).memories

    def add(self, partition: Partition, kernel: Kernel) -> None:
        """Append all actions of the kernel."""
        for action in kernel.actions:
            if isinstance(action, Call):
                self._call(action, action.operator or partition.operators[0].id)
            else:
                self._move(action)

    def _call(self, call: Call, operator: str) -> None:
        operands = _overwriting(call, [self._operand(operand) for operand in call.operands])
        for operand in operands:
            self.local.touched.add(operand.of)
            if operand.access.writes:
                self.tiles.written(self.places.touched(operand))
        run = Run(
            partition=self.site.partition,
            operator=operator,
            instance=self.instance.name,
            function=call.function,
            operands=operands,
            words=call.words,
            copies=call.copies,
        )
        self.places.items.append(run)

    def _operand(self, operand: Operand) -> Operand:
        if operand.of in self.local.names:
            return operand.renamed(self.local.names[operand.of])
        if operand.access.reads:
            name = self.places.readable(operand.of, self._reads, self.site)
        if operand.access.writes:
            name = self.places.written(operand.of, self.site)
        return operand.renamed(name)

    def _move(self, move: Move) -> None:
        names = self.local.names
        inward, outward = move.target.of in names, move.source.of in names
        if not inward and not outward:
            raise self.site.error(
                f"a move from `{move.source.of}` to `{move.target.of}` names no local buffer"
            )
        if inward and self.places.homes.reuse and self._is_there(move):
            return
        target = names[move.target.of] if inward else self.places.written(move.target.of, self.site)
        arriving = move.target.renamed(target)
        source = names[move.source.of] if outward else self._fed(move.source, arriving)
        leaving = move.source.renamed(source)
        if outward:
            self.places.items.append(self.places.transfers.transfer(leaving, arriving, self.site))
        self.local.touched.update((source, target))
        if not outward:
            self.tiles.moved(move.source, arriving)
        elif inward:
            self.tiles.written(arriving)
        else:
            self.tiles.known(move.target, leaving)

    def _fed(self, part: Slice, target: Slice) -> str:
        """Copy a slice of a tensor into a local buffer, from a memory with a path there or through a ring in
        one; returns the buffer in which the tensor is.
        """
        places, tensor = self.places, part.of
        memories = self.demands.tile(places.slots[target.of].memory, write=False).memories
        streamed = places.streamed(tensor, memories, self.site)
        if streamed is not None:
            source, through = streamed
            places.stream(tensor, through, part.renamed(source), target, self.site)
            return source
        source = places.readable(tensor, memories, self.site)
        places.items.append(places.transfers.transfer(part.renamed(source), target, self.site))
        return source

    def _is_there(self, move: Move) -> bool:
        """True if the target already holds these bytes, possibly in a buffer of the partition before that
        this kernel goes on with.
        """
        if self.local.names[move.target.of] not in self.local.touched:
            self._take_over(move)
        return self.tiles.holds(move.source, move.target, self.local.names[move.target.of])

    def _take_over(self, move: Move) -> None:
        """Let a buffer of the partition before replace the target of the move, if one holds its bytes."""
        local, slots = self.local, self.places.slots
        own = slots[local.names[move.target.of]]
        held = self.tiles.holders(move.source, move.target, local.left[own.memory])
        able = (name for name in held if name not in local.used and slots[name].bytes == own.bytes)
        holder = next(able, None)
        if holder is not None:
            self.tiles.took_over(own.memory, own.name, holder)
            alignment = lcm(slots[holder].alignment, own.alignment)
            slots[holder] = evolve(slots[holder], alignment=alignment)
            local.names[move.target.of] = holder
            local.used.symmetric_difference_update((own.name, holder))
            local.touched.add(holder)


def _overwriting(call: Call, operands: list[Operand]) -> tuple[Operand, ...]:
    """The operands with buffers of the program in place of the operands they may overwrite."""
    if not any(operand.over for operand in operands):
        return tuple(operands)
    buffers = {
        old.of: new.of
        for old, new in zip(call.operands, operands, strict=True)
        if old.access == Access.READ and not old.offset
    }

    def over(operand: Operand) -> tuple[str, ...]:
        names = (buffers[name] for name in operand.over if name in buffers and not operand.offset)
        return tuple(dict.fromkeys(names))

    return tuple(evolve(operand, over=over(operand)) if operand.over else operand for operand in operands)
