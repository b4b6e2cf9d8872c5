"""The ledger: what every memory still has for partitions that are not lowered yet, kept up to date at little
cost.

It is made once from the program of what is known (kernels, and stand-ins for all other partitions) and then
follows the lowering: a kernel that touches its tensors where its stand-in did changes nothing but the bytes
of its own buffers and constants, and which results may lie over operands. Tensors that are the same bytes
(`merge`) count once where the kernel that copies them was known then; `copying` tells how many such kernels
came later. A kernel that touches tensors elsewhere is *strange*: what the ledger says after it holds only as
long as the tensors it wants elsewhere are in nobody's way, which the memory plan tells at the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from attrs import evolve, frozen

from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.memory import Budget, Buffer, BufferKind, PoolBudget
from target_arch.plan.partitions import Partition
from target_arch.soc.model import SoC
from target_arch.soc.rounding import round_up
from target_arch.stages.lowering.constant_bytes import ConstantUse
from target_arch.stages.memory.live_sums import IntervalSums, Span
from target_arch.stages.memory.pool_ledger import Block, PoolLedger
from target_arch.stages.paths import reach as access
from target_arch.stages.program.alias import alias_whole
from target_arch.stages.program.homes import MemoryDemands, TensorHomes
from target_arch.stages.program.in_place import in_place_calls, reusable_operands
from target_arch.stages.program.items import Item, Run, Slot
from target_arch.stages.program.join import join, least_alignment, local_slot
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program

_HELD = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.ACTIVATION)


@frozen(kw_only=True)
class Overdrawn:
    """A kernel takes more of a memory than there is for it at a call site."""

    site: str
    memory: str
    needed: int
    available: int


class Ledger:
    """Budgets for the partitions that have no kernel yet, by the call sites of the program."""

    def __init__(self, work: PartialLowering, residence: TensorHomes) -> None:
        self._work, self.residence = work, residence
        self._needs = MemoryDemands(work)
        self.known = frozenset(work.kernels)
        joined = join(work, residence)
        self._program, gone = alias_whole(joined, self.known)
        self._numbers = {partition.id: number for number, partition in enumerate(work.graph.partitions)}
        self._sites, self._turns = _call_sites(work, self._program.items)
        self._lies = _stood_in(work, joined, gone)
        self._liveness = self._program.liveness
        self._over = self._among_held(self._liveness.reuses)
        self._pools: dict[str, PoolLedger] = {}
        self._taken: dict[str, dict[int, Sequence[Buffer]]] = {}
        self._promised: dict[tuple[str, str], Block] = {}
        self._fixed = ConstantUse(work, residence, partial(_whole, work.soc))
        self._grown: dict[str, int] = {}
        self.strange, self.copying, self.short = 0, 0, False
        for partition in work.graph.partitions:
            kernel = work.kernels.get(partition.id)
            if kernel is not None:
                self._note(partition, kernel)

    @property
    def offsets(self) -> Mapping[str, int]:
        """The witness: offsets at which everything fits that was promised and taken, per memory asked for."""
        return {name: offset for pool in self._pools.values() for name, offset in pool.offsets.items()}

    def crowded(self, partition: Partition) -> bool:
        """True where a memory of the partition's instance does not even hold what is known so far."""
        return any(not self._pool(memory).fits for memory in self._memories(partition))

    def replaces(self, other: "Ledger") -> bool:
        """True where this one knows of a plan in every memory that the other was asked about."""
        return all(self._pool(memory).fits for memory in other._pools)

    def budget(self, partition: Partition) -> Budget:
        """What the partition may take, per call site and memory of its instance.

        A block is promised for the whole turn of the partition: one ring of buffers may serve all its call
        sites.
        """
        blocks = {memory: self._promise(partition, memory) for memory in self._memories(partition)}
        return Budget(
            partition=partition.id,
            sites={
                operator.id: tuple(
                    self._budget(partition, operator.id, memory, blocks[memory]) for memory in blocks
                )
                for operator in partition.operators
            },
        )

    def take(self, partition: Partition, kernel: Kernel) -> Overdrawn | None:
        """What the kernel really takes replaces its promise. Something is returned, and nothing changed,
        where it takes what is not there.
        """
        grown = self._fixed.change(partition, kernel)
        refused = self._hold(partition, kernel, grown)
        if refused is None:
            refused = self._take(partition, kernel)
            if refused is not None:
                for memory, size in grown.items():
                    self._grow(memory, -size)
        if refused is None:
            self._fixed.replace(partition, kernel)
            self.copying += any(isinstance(action, Call) and action.copies for action in kernel.actions)
            if self._conforms(partition, kernel):
                self._share(partition, kernel)
            else:
                self.strange += 1
        return refused

    def _share(self, partition: Partition, kernel: Kernel) -> None:
        """Count results once with the operands over which the kernel may write them."""
        for run in in_place_calls(partition, kernel, self._lies[partition.id]):
            able = reusable_operands(self._program.buffers, self._program.kept, run)
            for result, places in self._among_held(self._liveness.dying(able)).items():
                self._over[result] = places
                pool = self._pools.get(self._program.buffers[result].memory)
                if pool is not None:
                    pool.share(result, places)

    def _hold(self, partition: Partition, kernel: Kernel, grown: Mapping[str, int]) -> Overdrawn | None:
        """Constants take so many bytes more. What C needs, it needs; of accelerators those are refused that
        took so much before that this does not fit (`pressed`), else this one. Where only the witness is at a
        loss, the memory plan will tell.
        """
        for number, memory in enumerate(grown):
            missing = self._grow(memory, grown[memory])
            self.short = self.short or missing > 0
            accelerated = not self._work.setting.is_function(partition.instance)
            if missing and accelerated and self._pools[memory].overfull and not self.pressed(memory):
                for other in tuple(grown)[: number + 1]:
                    self._grow(other, -grown[other])
                own = sum(buffer.bytes for buffer in kernel.buffers if buffer.memory == memory)
                needed = grown[memory] + own
                site = partition.operators[0].id
                return Overdrawn(site=site, memory=memory, needed=needed, available=max(needed - missing, 0))
        return None

    def _grow(self, memory: str, size: int) -> int:
        """Constants of a memory take so many bytes more; how many are missing then."""
        self._grown[memory] = self._grown.get(memory, 0) + size
        return self._pools[memory].hold(size) if memory in self._pools else 0

    def _take(self, partition: Partition, kernel: Kernel) -> Overdrawn | None:
        buffers = self._locals(partition, kernel)
        for memory, own in buffers.items():
            refused = self._overdrawn(partition, memory, own)
            if refused is not None:
                return refused
        for memory, own in buffers.items():
            block = self._promised.pop((partition.id, memory), None)
            if memory in self._pools and not self._pools[memory].take(
                self._numbers[partition.id], own, block
            ):
                needed = sum(buffer.bytes for buffer in own)
                there = 0 if block is None else block.bytes
                return Overdrawn(
                    site=partition.operators[0].id, memory=memory, needed=needed, available=there
                )
            self._taken.setdefault(memory, {})[self._numbers[partition.id]] = own
        return None

    def pressed(self, memory: str) -> dict[str, int]:
        """The partitions (by id) that took more of a memory than later constants leave, and by how much."""
        found = self._pools[memory].pressed() if memory in self._pools else {}
        return {self._work.graph.partitions[number].id: over for number, over in found.items()}

    def alive(self, partition: Partition, site: str, memory: str) -> tuple[tuple[str, int], ...]:
        """What others hold of a memory at a call site, the largest first."""
        there = self._pool(memory).alive(self._sites[partition.id][site])
        return tuple(sorted(there, key=lambda held: (-held[1], held[0])))

    def _overdrawn(self, partition: Partition, memory: str, own: Sequence[Buffer]) -> Overdrawn | None:
        if (pool := self._pools.get(memory)) is None:
            return None
        taken = IntervalSums(own)
        for site, span in self._sites[partition.id].items():
            needed = taken.within(span)
            if needed > pool.available - pool.live(span):
                there = max(pool.available - pool.live(span), 0)
                return Overdrawn(site=site, memory=memory, needed=needed, available=there)
        return None

    def _memories(self, partition: Partition) -> tuple[str, ...]:
        return tuple(dict.fromkeys(access.owned(self._work.instance(partition))))

    def _promise(self, partition: Partition, memory: str) -> Block:
        block = self._pool(memory).promise(self._turns[self._numbers[partition.id]])
        self._promised[partition.id, memory] = block
        return block

    def _budget(self, partition: Partition, site: str, memory: str, block: Block) -> PoolBudget:
        pool, size = self._pool(memory), self._work.soc.memory(memory).size
        live = pool.live(self._sites[partition.id][site])
        return PoolBudget(
            memory=memory,
            live=size - pool.available + live,
            remaining=max(pool.available - live, 0),
            guaranteed=block.bytes,
        )

    def _pool(self, memory: str) -> PoolLedger:
        if memory not in self._pools:
            self._pools[memory] = self._open(memory)
        return self._pools[memory]

    def _open(self, memory: str) -> PoolLedger:
        there = [slot for slot in self._program.buffers.values() if slot.memory == memory]
        lives = self._liveness.lives
        constants = sum(
            _whole(self._work.soc, memory, slot.bytes) for slot in there if slot.kind == BufferKind.CONSTANT
        )
        return PoolLedger(
            available=self._work.soc.memory(memory).size - constants - self._grown.get(memory, 0),
            unit=least_alignment(self._work.soc, memory),
            end=len(self._program.items),
            turns=self._turns,
            held=[self._held(slot) for slot in there if slot.kind in _HELD and slot.name in lives],
            taken=self._taken.get(memory, {}),
        )

    def _held(self, slot: Slot) -> Buffer:
        return evolve(_buffer(slot, self._liveness.lives[slot.name]), over=self._over.get(slot.name, ()))

    def _among_held(self, over: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """The results with the places that the ledger counts itself: those of tensors."""
        buffers = self._program.buffers
        held = {name: tuple(p for p in places if buffers[p].kind in _HELD) for name, places in over.items()}
        return {name: places for name, places in held.items() if places}

    def _note(self, partition: Partition, kernel: Kernel) -> None:
        for memory, own in self._locals(partition, kernel).items():
            self._taken.setdefault(memory, {})[self._numbers[partition.id]] = own

    def _locals(self, partition: Partition, kernel: Kernel) -> dict[str, list[Buffer]]:
        """The kernel's buffers by memory, each living while its call sites have their turn."""
        if not kernel.buffers:
            return {}
        sites = self._sites[partition.id]
        names = {buffer.name: set[str]() for buffer in kernel.buffers}
        for site, touched in _touched(partition, kernel):
            for name in touched & names.keys():
                names[name].add(site)
        found: dict[str, list[Buffer]] = {}
        for buffer in kernel.buffers:
            spans = [sites[site] for site in sorted(names[buffer.name])]
            if spans:
                life = (min(first for first, _ in spans), max(last for _, last in spans))
                draft = local_slot(partition.id, buffer, least_alignment(self._work.soc, buffer.memory))
                found.setdefault(buffer.memory, []).append(_buffer(draft, life))
        return found

    def _conforms(self, partition: Partition, kernel: Kernel) -> bool:
        """True where the kernel takes its tensors where the stand-in left them."""
        lies = self._lies[partition.id]
        fixed, buffers = self._work.mode.constants, self._program.buffers
        for touch in dict.fromkeys(self._needs.of(partition, kernel)):
            memory = buffers[lies[touch.tensor]].memory if touch.tensor in lies else None
            if memory is None and not touch.write:
                memory = next((name for name in fixed if name in touch.memories), None)
            if memory is None or memory not in touch.memories:
                return False
        return True


def _whole(soc: SoC, memory: str, bytes: int) -> int:
    """The bytes that a constant takes of a memory."""
    unit = least_alignment(soc, memory)
    return round_up(bytes, unit)


def _call_sites(
    work: PartialLowering, items: Sequence[Item]
) -> tuple[dict[str, dict[str, Span]], list[Span]]:
    """The items of every operator's turn, by partition and operator, and of every partition's turn in order.

    Copies belong to the run that follows them in their partition, the last ones to the run before them.
    """
    turns = _turns(work, items)
    sites: dict[str, dict[str, Span]] = {}
    for partition, turn in zip(work.graph.partitions, turns, strict=True):
        found: dict[str, Span] = {}
        start = turn[0]
        for number in range(turn[0], turn[1] + 1):
            item = items[number] if number < len(items) else None
            if isinstance(item, Run) and item.partition == partition.id:
                first, _ = found.get(item.operator, (start, start))
                found[item.operator] = (min(first, start), number)
                start = number + 1
        last = max((span[1] for span in found.values()), default=turn[1])
        sites[partition.id] = {
            operator.id: (span[0], turn[1] if span[1] == last else span[1])
            for operator in partition.operators
            for span in (found.get(operator.id, turn),)
        }
    return sites, turns


def _turns(work: PartialLowering, items: Sequence[Item]) -> list[Span]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, item in enumerate(items):
        first.setdefault(item.partition, number)
        last[item.partition] = number
    turns: list[Span] = []
    after = 0
    for partition in work.graph.partitions:
        start = first.get(partition.id, after)
        turns.append((start, last.get(partition.id, start)))
        after = turns[-1][1]
    return turns


def _stood_in(work: PartialLowering, joined: Program, gone: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """By partition: the buffer in which each tensor lay for it, where some are `gone` into others."""
    found: dict[str, dict[str, str]] = {partition.id: {} for partition in work.graph.partitions}
    for item in joined.items:
        if isinstance(item, Run):
            for operand in item.operands:
                tensor = joined.buffers[operand.of].tensor
                if tensor is not None:
                    found[item.partition][tensor] = gone.get(operand.of, operand.of)
    return found


def _touched(partition: Partition, kernel: Kernel) -> Iterator[tuple[str, set[str]]]:
    """What every action touches, with the call site it belongs to: a move in to the call after it, a move out
    to the one before.
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


def _buffer(draft: Slot, life: Span) -> Buffer:
    return Buffer(
        name=draft.name,
        kind=draft.kind,
        memory=draft.memory,
        bytes=draft.bytes,
        alignment=draft.alignment,
        first=life[0],
        last=life[1],
        tensor=draft.tensor,
    )
