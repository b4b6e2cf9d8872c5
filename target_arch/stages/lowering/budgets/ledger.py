"""The ledger: the bytes of every memory that are left for partitions without a kernel, updated at little
cost.

It is built once from the program so far (kernels, and stand-ins for all other partitions) and then updated
kernel by kernel. A kernel that touches its tensors in the memories that its stand-in assumed changes only
three things: the bytes of its own buffers, the bytes of constants, and the results that may reuse the place
of an operand. Aliased tensors (`alias`) count once if the kernel that copies them was known at the start;
`aliasing` counts such kernels that came later. A kernel that touches tensors in other memories is
`unforeseen`: after it, promises hold only if these tensors fit beside everything else, which the memory plan
shows at the end.

A ledger is a value: a new kernel, a promise, or a question about another memory returns a new ledger. So does
a refusal, as it uses up search effort (`pool_ledger`).

Tests: `tests/stages/lowering/budgets/test_ledger.py`, `test_exact_budgets.py`.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.memory import Budget, Buffer, PoolBudget
from target_arch.plan.partitions import Partition
from target_arch.stages.lowering.budgets.constant_bytes import ConstantUse
from target_arch.stages.lowering.budgets.foreseen import Foreseen
from target_arch.stages.memory.offsets import Block
from target_arch.stages.memory.packing.live_sums import IntervalSums
from target_arch.stages.memory.pool_ledger import PoolLedger
from target_arch.stages.overlay import Overlay
from target_arch.stages.paths import reach as access
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.program.partial import PartialLowering


@frozen(kw_only=True)
class Overdrawn:
    """A kernel needs more of a memory than is left for it at a call site."""

    site: str
    memory: str
    needed: int
    available: int


@frozen(kw_only=True, eq=False)
class Ledger:
    """Budgets for the partitions that have no kernel yet, by the call sites of the program.

    Three facts say how reliable it still is: how many later kernels are `unforeseen`, how many copy bytes
    that an alias could save (`aliasing`), and whether constants ever lacked bytes.
    """

    _foreseen: Foreseen = field(repr=False)
    _constants: ConstantUse = field(repr=False)
    _pools: Mapping[str, PoolLedger] = field(factory=dict, repr=False)
    """By memory, for those asked about."""
    _growth: Mapping[str, int] = field(factory=dict, repr=False)
    """By memory, the bytes by which constants have grown."""
    _taken: Overlay[int, Mapping[str, Sequence[Buffer]]] = field(factory=Overlay, repr=False)
    """The buffers of kernels, by number of the partition and memory."""
    _reuses: Overlay[str, tuple[str, ...]] = field(factory=Overlay, repr=False)
    _promised: Overlay[tuple[str, str], Block] = field(factory=Overlay, repr=False)
    """By partition and memory."""
    unforeseen: int = 0
    aliasing: int = 0
    constants_missing: bool = False

    @classmethod
    def of(cls, work: PartialLowering, homes: TensorHomes) -> "Ledger":
        """The ledger of the lowering so far, with tensors in these homes."""
        foreseen = Foreseen.of(work, homes)
        kernels = ((p, work.kernels[p.id]) for p in work.graph.partitions if p.id in work.kernels)
        return cls(
            foreseen=foreseen,
            constants=ConstantUse.of(work, foreseen.demands, homes),
            taken=Overlay({foreseen.number(p): foreseen.own(p, kernel) for p, kernel in kernels}),
            reuses=Overlay(foreseen.reuses),
        )

    @property
    def homes(self) -> TensorHomes:
        """The home of each tensor."""
        return self._foreseen.homes

    @property
    def aliased(self) -> frozenset[str]:
        """The partitions whose copies were elided, as both ends can be the same bytes."""
        return self._foreseen.known

    @property
    def offsets(self) -> Mapping[str, int]:
        """The known plan: by memory asked about, offsets at which all promised and used bytes fit."""
        return {name: offset for pool in self._pools.values() for name, offset in pool.offsets.items()}

    @property
    def memories(self) -> Iterable[str]:
        """The memories asked about."""
        return self._pools.keys()

    def crowded(self, partition: Partition) -> bool:
        """True if a memory of the partition's instance (asked about before) is too small for the buffers
        known so far.
        """
        return not self.has_plan(self._memories(partition))

    def has_plan(self, memories: Iterable[str]) -> bool:
        """True if the known plan fits each of these memories (asked about before)."""
        return all(self._pools[memory].fits for memory in memories)

    def over_budget(self, memory: str) -> dict[str, int]:
        """The partitions (by id) that took more of a memory than later constants leave, and the excess in
        bytes.
        """
        found = self._pools[memory].over_budget() if memory in self._pools else {}
        return {self._foreseen.partition(number).id: over for number, over in found.items()}

    def alive(self, partition: Partition, site: str, memory: str) -> tuple[tuple[str, int], ...]:
        """The buffers of others in a memory (asked about before) at a call site, the largest first."""
        there = self._pools[memory].alive(self._foreseen.site(partition, site))
        return tuple(sorted(there, key=lambda held: (-held[1], held[0])))

    def asked_about(self, memories: Iterable[str]) -> "Ledger":
        """The ledger with an account of each of these memories."""
        missing = [memory for memory in dict.fromkeys(memories) if memory not in self._pools]
        return (
            evolve(self, pools={**self._pools, **{m: self._opened(m) for m in missing}}) if missing else self
        )

    def asked_by(self, partition: Partition) -> "Ledger":
        """The ledger with an account of each memory of the partition's instance."""
        return self.asked_about(self._memories(partition))

    def budget(self, partition: Partition) -> tuple["Ledger", Budget]:
        """The bytes the partition may use, per call site and memory of its instance, and the ledger with this
        promise.

        A block is promised for as long as the partition runs: one ring of buffers may serve all its call
        sites.
        """
        opened, turn = self.asked_by(partition), self._foreseen.turn(partition)
        found = {memory: opened._pools[memory].promise(turn) for memory in self._memories(partition)}
        blocks = {memory: block for memory, (_, block) in found.items()}
        ledger = evolve(
            opened,
            pools={**opened._pools, **{memory: pool for memory, (pool, _) in found.items()}},
            promised=self._promised.changed({(partition.id, m): block for m, block in blocks.items()}),
        )
        sites = {
            operator.id: tuple(ledger._budget(partition, operator.id, m, blocks[m]) for m in blocks)
            for operator in partition.operators
        }
        return ledger, Budget(partition=partition.id, sites=sites)

    def with_kernel(self, partition: Partition, kernel: Kernel) -> tuple["Ledger", Overdrawn | None]:
        """The ledger with the kernel's bytes in place of the promised ones.

        If these bytes are not free, the second result says so, and the ledger takes nothing.
        """
        constants, growth = self._constants.with_kernel(partition, kernel)
        ledger, refused = self._with_constants(partition, kernel, growth)
        if refused is not None:
            return ledger, refused
        ledger, refused = ledger._with_buffers(partition, kernel)
        if refused is not None:
            return ledger._holding({memory: -size for memory, size in growth.items()}), refused
        copies = any(isinstance(action, Call) and action.copies for action in kernel.actions)
        if copies or constants is not self._constants:
            ledger = evolve(ledger, constants=constants, aliasing=self.aliasing + copies)
        if not self._foreseen.conforms(partition, kernel):
            return evolve(ledger, unforeseen=self.unforeseen + 1), None
        return ledger._sharing(list(self._foreseen.dying(partition, kernel))), None

    def _with_constants(
        self, partition: Partition, kernel: Kernel, growth: Mapping[str, int]
    ) -> tuple["Ledger", Overdrawn | None]:
        """Let constants grow. C is never refused. If constants no longer fit, the accelerators that took too
        much before are over budget, else this one is refused. Where only the known plan has no room, the
        memory plan decides.
        """
        ledger, grown = self, dict[str, int]()
        accelerated = not self._foreseen.work.setting.is_function(partition.instance)
        for memory, size in growth.items():
            grown[memory] = size
            ledger = ledger._holding({memory: size})
            missing = ledger._pools[memory].missing if memory in ledger._pools else 0
            ledger = evolve(ledger, constants_missing=ledger.constants_missing or missing > 0)
            if not (missing and accelerated and ledger._pools[memory].overfull):
                continue
            if not ledger.over_budget(memory):
                own = sum(buffer.bytes for buffer in kernel.buffers if buffer.memory == memory)
                needed, site = size + own, partition.operators[0].id
                refused = Overdrawn(
                    site=site, memory=memory, needed=needed, available=max(needed - missing, 0)
                )
                return ledger._holding({name: -more for name, more in grown.items()}), refused
        return ledger, None

    def _holding(self, growth: Mapping[str, int]) -> "Ledger":
        """The ledger with constants that grew by these bytes, by memory."""
        grown = {memory: self._growth.get(memory, 0) + size for memory, size in growth.items()}
        pools = {m: self._pools[m].holding(size) for m, size in growth.items() if m in self._pools}
        return evolve(self, growth={**self._growth, **grown}, pools={**self._pools, **pools})

    def _with_buffers(self, partition: Partition, kernel: Kernel) -> tuple["Ledger", Overdrawn | None]:
        """The ledger with the kernel's own buffers; where there is no room, only search effort is used up."""
        own, number = self._foreseen.own(partition, kernel), self._foreseen.number(partition)
        there = {memory: buffers for memory, buffers in own.items() if memory in self._pools}
        for memory, buffers in there.items():
            refused = self._overdrawn(partition, memory, buffers)
            if refused is not None:
                return self, refused
        if not own:
            return self, None
        pools = dict(self._pools)
        for memory, buffers in there.items():
            block = self._promised.get((partition.id, memory))
            pools[memory], found = pools[memory].take(number, buffers, block)
            if not found:
                refused = Overdrawn(
                    site=partition.operators[0].id,
                    memory=memory,
                    needed=sum(buffer.bytes for buffer in buffers),
                    available=0 if block is None else block.bytes,
                )
                return evolve(self, pools={**self._pools, memory: pools[memory]}), refused
        return evolve(self, pools=pools, taken=self._taken.changed({number: own})), None

    def _sharing(self, places: Sequence[tuple[str, tuple[str, ...]]]) -> "Ledger":
        """The ledger in which a result and the operand whose place it may reuse count once."""
        found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for result, operands in places:
            found.setdefault(self._foreseen.memory(result), []).append((result, operands))
        if not found:
            return self
        pools = {m: self._pools[m].sharing(mine) for m, mine in found.items() if m in self._pools}
        return evolve(self, pools={**self._pools, **pools}, reuses=self._reuses.changed(dict(places)))

    def _overdrawn(self, partition: Partition, memory: str, own: Sequence[Buffer]) -> Overdrawn | None:
        pool, taken = self._pools[memory], IntervalSums(own)
        for site, span in self._foreseen.sites(partition).items():
            needed, left = taken.within(span), pool.available - pool.live(span)
            if needed > left:
                return Overdrawn(site=site, memory=memory, needed=needed, available=max(left, 0))
        return None

    def _memories(self, partition: Partition) -> tuple[str, ...]:
        return tuple(dict.fromkeys(access.owned(self._foreseen.work.instance(partition))))

    def _budget(self, partition: Partition, site: str, memory: str, block: Block) -> PoolBudget:
        pool, size = self._pools[memory], self._foreseen.work.soc.memory(memory).size
        live = pool.live(self._foreseen.site(partition, site))
        return PoolBudget(
            memory=memory,
            live=size - pool.available + live,
            remaining=max(pool.available - live, 0),
            guaranteed=block.bytes,
        )

    def _opened(self, memory: str) -> PoolLedger:
        """The account of a memory, with the buffers of kernels so far."""
        taken = {number: own[memory] for number, own in self._taken.items() if memory in own}
        return self._foreseen.pool(memory, self._growth.get(memory, 0), self._reuses, taken)
