"""Kernels joined into one program over buffers, as if every action were over before the next begins.

Here the whole-tensor copies appear: just before the action that needs a tensor in a memory where it does not
lie yet. Waits, events and DMA channels are added afterwards (`hazards`).
"""

from collections.abc import Iterable, Mapping
from math import lcm

from attrs import evolve, field, mutable

from target_arch.plan.kernels import Access, Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import BufferKind
from target_arch.plan.partitions import Partition
from target_arch.soc.model import Instance, SoC
from target_arch.soc.words import CacheDuty
from target_arch.stages.errors import StepError, failure
from target_arch.stages.paths import reach as access
from target_arch.stages.paths.routes import pieces
from target_arch.stages.program.hazards import overlap
from target_arch.stages.program.homes import Demand, MemoryDemands, TensorHomes
from target_arch.stages.program.items import Item, Run, Slot, Transfer
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program
from target_arch.stages.program.tile_contents import Tiles

ALIGNMENT = 16
"""Bytes to which every tensor is aligned, so that kernels may use vector loads."""

CACHE_LINE = 64
"""Alignment of buffers that share a cached memory with cache duties: no two buffers lie in one line."""


def join(work: PartialLowering, residence: TensorHomes, *, timed: bool = False) -> Program:
    """The program of a whole graph, with stand-ins for partitions without a kernel.

    Stand-ins of a `timed` program run and move tiles as kernels will, so that the program takes the time that
    they will take. The others keep the memories of their instance for themselves and move nothing, as the
    bytes of tiles are what budgets are about to offer. Raises StepError for a kernel that names what does
    not exist or cannot be copied.
    """
    joiner = _Joiner(work, residence)
    inputs = tuple((name, joiner.arrive(name)) for name in work.graph.model.inputs)
    for partition in work.graph.partitions:
        kernel = work.kernels.get(partition.id)
        if kernel is None:
            joiner.reserve(partition, timed=timed)
        else:
            joiner.add(partition, kernel)
    outputs = tuple((name, joiner.leave(name)) for name in work.graph.model.outputs)
    kept = {name for _, name in outputs}
    return Program(items=_needed(joiner, kept), buffers=joiner.buffers, inputs=inputs, outputs=outputs)


def _needed(joiner: "_Joiner", kept: set[str]) -> tuple[Item, ...]:
    """The items less the copies whose bytes nobody reads afterwards, such as a tile taken over where it was
    made.
    """
    whole, read = set(kept), dict[str, dict[Slice, None]]()
    needed: list[Item] = []
    for item in reversed(joiner.items):
        if isinstance(item, Run):
            whole.update(o.of for o in item.operands if o.access.reads and not o.offset and o.bytes is None)
            for operand in item.operands:
                if operand.access.reads and operand.of not in whole:
                    read.setdefault(operand.of, {})[joiner.touched(operand)] = None
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


@mutable
class _Local:
    """The local buffers of the partition being joined: the kernel's names for them, and what was left
    before.
    """

    partition: Partition
    names: dict[str, str] = field(factory=dict)
    used: set[str] = field(factory=set)
    left: dict[str, Mapping[str, int]] = field(factory=dict)


class _Joiner:
    def __init__(self, work: PartialLowering, residence: TensorHomes) -> None:
        self.items: list[Item] = []
        self.buffers: dict[str, Slot] = {}
        self._work, self._residence = work, residence
        self._routes, self._tensors, self._needs = work.routes, work.tensors, MemoryDemands(work)
        self._made = frozenset(operator.output for operator in work.graph.model.operators)
        self._where: dict[str, dict[str, str]] = {}
        self._alignments = {
            memory.name: least_alignment(work.soc, memory.name) for memory in work.soc.memories
        }
        self._place = ""
        self._tiles = Tiles()
        self._touched: set[str] = set()

    def arrive(self, tensor: str) -> str:
        """The buffer in which the caller leaves a model input."""
        return self._lie(tensor, self._residence.homes[tensor], BufferKind.INPUT)

    def leave(self, tensor: str) -> str:
        """The buffer in which the caller finds a model output."""
        self._place = f"output {tensor}"
        name = self._ensure(tensor, self._work.mode.io, "")
        if self.buffers[name].kind == BufferKind.ACTIVATION:
            self.buffers[name] = evolve(self.buffers[name], kind=BufferKind.OUTPUT)
        return name

    def whole(self, buffer: str) -> Slice:
        """All of a buffer."""
        return Slice(of=buffer, offset=0, row_bytes=self.buffers[buffer].bytes)

    def touched(self, operand: Operand) -> Slice:
        """The bytes of its buffer that an operand touches."""
        return operand.touched(self.buffers[operand.of].bytes)

    def add(self, partition: Partition, kernel: Kernel) -> None:
        """Append the actions of a kernel."""
        self._place = f"partition {partition.id} on {partition.instance}"
        local, own = _Local(partition), dict[str, list[str]]()
        for buffer in kernel.buffers:
            draft = local_slot(partition.id, buffer, self._alignments[buffer.memory])
            self.buffers[draft.name] = draft
            local.names[buffer.name] = draft.name
            local.used.add(draft.name)
            own.setdefault(buffer.memory, []).append(draft.name)
        local.left = {memory: self._tiles.begin(memory, names) for memory, names in own.items()}
        for action in kernel.actions:
            if isinstance(action, Call):
                self._call(local, action)
            else:
                self._move(local, action)

    def reserve(self, partition: Partition, *, timed: bool) -> None:
        """Append a stand-in for each operator (for a chain: one) of a partition not lowered yet: its tensors
        lie where they must.
        """
        self._place = f"partition {partition.id} on {partition.instance}"
        instance = self._work.instance(partition)
        whole = self._work.setting.touches_whole(instance.name)
        tiles = access.local(instance) if timed and not whole else ()
        for operator, touches in self._needs.expected(partition):
            found = [(touch, self._reserved(touch, partition)) for touch in touches]
            run = Run(
                partition=partition.id,
                operator=operator,
                instance=partition.instance,
                function="",
                operands=tuple(Operand(of=name, access=touch.access) for touch, name in found),
                reserved=() if timed else access.owned(instance),
            )
            self.items += self._through(run, tiles) if tiles else [run]
        for memory in access.owned(instance):
            self._tiles.begin(memory, ())

    def _reserved(self, touch: Demand, partition: Partition) -> str:
        """The buffer of a tensor that a stand-in touches."""
        if touch.write:
            return self._written(touch.tensor)
        return self._ensure(touch.tensor, touch.memories, partition.id)

    def _through(self, run: Run, tiles: tuple[str, ...]) -> list[Item]:
        """A stand-in on tiles: whole operands are moved in before it, its result is moved out after it."""
        operands, inward, outward = [], list[Item](), list[Item]()
        for operand in run.operands:
            place = self.whole(operand.of)
            tile = self._tile(run.partition, place, tiles, outward=operand.access.writes)
            operands.append(evolve(operand, of=tile.of))
            if operand.access.writes:
                outward.append(self._transferred(tile, place, run.partition))
            else:
                inward.append(self._transferred(place, tile, run.partition))
        return [*inward, evolve(run, operands=tuple(operands)), *outward]

    def _tile(self, partition: str, place: Slice, tiles: tuple[str, ...], *, outward: bool) -> Slice:
        """A local buffer as large as a tensor, in the local memory that is nearest to it."""
        near, draft = self._routes.nearest, self.buffers[place.of]
        there = (draft.memory,)
        move = near(tiles, there, draft.bytes) if outward else near(there, tiles, draft.bytes)
        if move is None:
            sources, targets = (tiles, there) if outward else (there, tiles)
            raise self._wrong(self._routes.missing(sources, targets))
        buffer = LocalBuffer(
            name=place.of, memory=move[0].source if outward else move[0].target, bytes=draft.bytes
        )
        tile = local_slot(partition, buffer, self._alignments[buffer.memory])
        self.buffers[tile.name] = tile
        return self.whole(tile.name)

    def _call(self, local: "_Local", call: Call) -> None:
        instance = self._work.instance(local.partition)
        operands = self._over(call, [self._operand(local, instance, operand) for operand in call.operands])
        run = Run(
            partition=local.partition.id,
            operator=call.operator or local.partition.operators[0].id,
            instance=instance.name,
            function=call.function,
            operands=operands,
            words=call.words,
            copies=call.copies,
        )
        for operand in operands:
            self._touched.add(operand.of)
            if operand.access.writes:
                self._tiles.written(self.touched(operand))
        self.items.append(run)

    @staticmethod
    def _over(call: Call, operands: list[Operand]) -> tuple[Operand, ...]:
        """The operands, with buffers for what each may be written over."""
        lies = {
            old.of: new.of
            for old, new in zip(call.operands, operands, strict=True)
            if old.access == Access.READ and not old.offset
        }

        def over(operand: Operand) -> tuple[str, ...]:
            names = (lies[name] for name in operand.over if name in lies and not operand.offset)
            return tuple(dict.fromkeys(names))

        return tuple(evolve(operand, over=over(operand)) if operand.over else operand for operand in operands)

    def _operand(self, local: "_Local", instance: Instance, operand: Operand) -> Operand:
        if operand.of in local.names:
            return operand.renamed(local.names[operand.of])
        if operand.access.reads:
            name = self._ensure(operand.of, self._needs.readable(instance), local.partition.id)
        if operand.access.writes:
            name = self._written(operand.of)
        return operand.renamed(name)

    def _move(self, local: "_Local", move: Move) -> None:
        inward, outward = move.target.of in local.names, move.source.of in local.names
        if not inward and not outward:
            raise self._wrong(f"a move from `{move.source.of}` to `{move.target.of}` names no local buffer")
        if inward and self._residence.reuse and self._is_there(local, move):
            return
        target = local.names[move.target.of] if inward else self._written(move.target.of)
        source = local.names[move.source.of] if outward else self._near(local, move.source.of, target)
        leaving, arriving = move.source.renamed(source), move.target.renamed(target)
        self._transfer(leaving, arriving, local.partition.id)
        self._touched |= {source, target}
        if not outward:
            self._tiles.moved(move.source, arriving)
        elif inward:
            self._tiles.written(arriving)
        else:
            self._tiles.known(move.target, leaving)

    def _is_there(self, local: "_Local", move: Move) -> bool:
        """True where the target holds those bytes already, be it that the buffer of a predecessor is taken
        over.
        """
        own = local.names[move.target.of]
        if own not in self._touched:
            memory, size = self.buffers[own].memory, self.buffers[own].bytes
            left = self._tiles.holders(move.source, move.target, local.left[memory])
            able = (n for n in left if n not in local.used and self.buffers[n].bytes == size)
            holder = next(able, None)
            if holder is not None:
                self._tiles.took_over(memory, own, holder)
                alignment = lcm(self.buffers[holder].alignment, self.buffers[own].alignment)
                self.buffers[holder] = evolve(self.buffers[holder], alignment=alignment)
                local.names[move.target.of] = holder
                local.used ^= {own, holder}
        return self._tiles.holds(move.source, move.target, local.names[move.target.of])

    def _near(self, local: "_Local", tensor: str, target: str) -> str:
        """The buffer of a tensor in a memory from which a path leads to that of a local buffer."""
        return self._ensure(tensor, self._needs.feeding((self.buffers[target].memory,)), local.partition.id)

    def _ensure(self, tensor: str, memories: Iterable[str], partition: str) -> str:
        """The buffer of a tensor in one of the memories; it is copied there when it lies in none of them."""
        lies, wanted = self._lying(tensor), tuple(memories)
        found = next((memory for memory in wanted if memory in lies), None)
        if found is not None:
            return lies[found]
        size = self._tensors[tensor].bytes
        options = [
            (seconds, number, memory, source)
            for number, memory in enumerate(wanted)
            for source in lies
            if (seconds := self._routes.route_seconds(source, memory, size)) is not None
        ]
        if not options:
            raise failure(
                StepError,
                "no-copy-path",
                self._place,
                f"tensor `{tensor}`: {self._routes.missing(lies, wanted)}",
            )
        _, _, memory, source = min(options)
        for path in self._routes.route(source, memory, size) or ():
            start, end = lies[path.source], self._lie(tensor, path.target, BufferKind.ACTIVATION)
            self._transfer(
                Slice(of=start, offset=0, row_bytes=size), Slice(of=end, offset=0, row_bytes=size), partition
            )
        return self._where[tensor][memory]

    def _lying(self, tensor: str) -> dict[str, str]:
        """The memories a tensor lies in, with its buffer there. A constant begins to lie when it is first
        asked for.
        """
        if tensor not in self._tensors:
            raise self._wrong(f"`{tensor}` is neither a tensor nor a local buffer of the kernel")
        if tensor not in self._where:
            if self._tensors[tensor].data is None:
                raise self._wrong(f"tensor `{tensor}` is read before anything wrote it")
            self._lie(tensor, self._residence.constants[tensor], BufferKind.CONSTANT)
        return self._where[tensor]

    def _written(self, tensor: str) -> str:
        """The buffer that a producer writes. Copies of an earlier content count no more."""
        home = self._residence.homes.get(tensor)
        if home is None or tensor not in self._made:
            raise self._wrong(f"`{tensor}` cannot be written: it is no result of the model")
        name = self._where.get(tensor, {}).get(home) or self._lie(tensor, home, BufferKind.ACTIVATION)
        self._where[tensor] = {home: name}
        return name

    def _lie(self, tensor: str, memory: str, kind: BufferKind) -> str:
        name = f"{tensor}@{memory}"
        self._where.setdefault(tensor, {})[memory] = name
        if name not in self.buffers:
            self.buffers[name] = Slot(
                name=name,
                kind=kind,
                memory=memory,
                bytes=self._tensors[tensor].bytes,
                alignment=self._alignments[memory],
                tensor=tensor,
            )
        return name

    def _transfer(self, source: Slice, target: Slice, partition: str) -> None:
        self.items.append(self._transferred(source, target, partition))

    def _transferred(self, source: Slice, target: Slice, partition: str) -> Transfer:
        for part in (source, target):
            if part.end > self.buffers[part.of].bytes:
                raise self._wrong(
                    f"`{part}` ends outside `{part.of}`, which has {self.buffers[part.of].bytes:,} B"
                )
        if source.bytes != target.bytes:
            raise self._wrong(f"a move of {source.bytes:,} B, `{source}`, to {target.bytes:,} B, `{target}`")
        start, end = self.buffers[source.of].memory, self.buffers[target.of].memory
        able = [
            (path, cut)
            for path in self._routes.direct(start, end)
            if (cut := pieces(path, source, target)) is not None
        ]
        if not able:
            raise self._no_path(source, target, start, end)
        path, cut = min(
            able,
            key=lambda way: (self._routes.seconds(way[0], source.bytes, len(way[1])), not way[0].is_async),
        )
        return Transfer(path=path, pieces=cut, partition=partition)

    def _no_path(self, source: Slice, target: Slice, start: str, end: str) -> Exception:
        known = self._routes.direct(start, end)
        if not known:
            return failure(
                StepError,
                "no-copy-path",
                self._place,
                f"move of `{source}`: {self._routes.missing([start], [end])}",
            )
        least = min(path.alignment for path in known)
        needs = (
            f"the copy path from `{start}` to `{end}` needs addresses and strides in multiples of {least} B"
        )
        return failure(StepError, "unaligned-move", self._place, f"{needs}, not `{source}` to `{target}`")

    def _wrong(self, message: str) -> Exception:
        return failure(StepError, "wrong-kernel", self._place, message)


def local_slot(partition: str, buffer: LocalBuffer, alignment: int) -> Slot:
    """A local buffer of a kernel in a memory whose paths ask for that alignment."""
    return Slot(
        name=f"{partition}.{buffer.name}",
        kind=BufferKind.LOCAL,
        memory=buffer.memory,
        bytes=buffer.bytes,
        alignment=lcm(buffer.alignment, alignment),
        partition=partition,
    )


def least_alignment(soc: SoC, memory: str) -> int:
    """An alignment that every path of the memory can carry; whole cache lines where some of these are
    invalidated.
    """
    paths = [path for path in soc.copies if memory in (path.source, path.target)]
    duties = any(path.cache != CacheDuty.NONE for path in paths) and soc.memory(memory).cached
    return lcm(ALIGNMENT, CACHE_LINE if duties else 1, *(path.alignment for path in paths))
