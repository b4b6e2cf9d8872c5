"""The ledger: what every memory still has for partitions that are not lowered yet, kept up to date at little
cost.

It is made once from the program of what is known (kernels, and stand-ins for all other partitions) and then
follows the lowering: a kernel that touches its tensors where its stand-in did changes nothing but the bytes
of its own buffers and constants, and which results may take the place of operands. Tensors that are the same
bytes (`alias`) count once where the kernel that copies them was known then; `aliasing` counts such kernels
that came later. A kernel that touches tensors elsewhere is `unforeseen`: what the ledger says after it holds
only as long as the tensors it wants elsewhere are in nobody's way, which the memory plan shows at the end.

A ledger is a value: a kernel, a promise and a memory that is asked for make a new one. So do refusals, which
cost effort (see `pool_ledger`).

Tests: `tests/stages/lowering/test_ledger.py`, `test_exact_budgets.py`.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.memory import Budget, Buffer, PoolBudget
from target_arch.plan.partitions import Partition
from target_arch.stages.lowering.constant_bytes import ConstantUse
from target_arch.stages.lowering.foreseen import Foreseen
from target_arch.stages.memory.live_sums import IntervalSums
from target_arch.stages.memory.offsets import Block
from target_arch.stages.memory.pool_ledger import PoolLedger
from target_arch.stages.overlay import Overlay
from target_arch.stages.paths import reach as access
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.program.partial import PartialLowering


@frozen(kw_only=True)
class Overdrawn:
    """A kernel takes more of a memory than there is for it at a call site."""

    site: str
    memory: str
    needed: int
    available: int


@frozen(kw_only=True, eq=False)
class Ledger:
    """Budgets for the partitions that have no kernel yet, by the call sites of the program.

    Three facts tell how far it can be trusted: the kernels since it was made that are `unforeseen`, those
    that copy bytes which an alias could save (`aliasing`), and whether constants were ever missing bytes.
    """

    _foreseen: Foreseen = field(repr=False)
    _constants: ConstantUse = field(repr=False)
    _pools: Mapping[str, PoolLedger] = field(factory=dict, repr=False)
    """Of the memories that were asked about."""
    _growth: Mapping[str, int] = field(factory=dict, repr=False)
    """The bytes that constants of a memory take more than at first."""
    _taken: Overlay[int, Mapping[str, Sequence[Buffer]]] = field(factory=Overlay, repr=False)
    """What kernels took, by number of the partition and memory."""
    _reuses: Overlay[str, tuple[str, ...]] = field(factory=Overlay, repr=False)
    _promised: Overlay[tuple[str, str], Block] = field(factory=Overlay, repr=False)
    """By partition and memory."""
    unforeseen: int = 0
    aliasing: int = 0
    constants_missing: bool = False

    @classmethod
    def of(cls, work: PartialLowering, homes: TensorHomes) -> "Ledger":
        """The ledger of what is known of a model, with tensors in these homes."""
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
        """Where it takes tensors to live."""
        return self._foreseen.homes

    @property
    def aliased(self) -> frozenset[str]:
        """The partitions whose copies it left out where both ends can be the same bytes."""
        return self._foreseen.known

    @property
    def offsets(self) -> Mapping[str, int]:
        """The witness: offsets at which everything fits that was promised and taken, per memory asked for."""
        return {name: offset for pool in self._pools.values() for name, offset in pool.offsets.items()}

    @property
    def memories(self) -> Iterable[str]:
        """The memories that it was asked about."""
        return self._pools.keys()

    def crowded(self, partition: Partition) -> bool:
        """True where a memory of the partition's instance, asked about before, does not even hold what is
        known so far.
        """
        return not self.has_plan(self._memories(partition))

    def has_plan(self, memories: Iterable[str]) -> bool:
        """True where it knows of a plan in each of these memories, asked about before."""
        return all(self._pools[memory].fits for memory in memories)

    def over_budget(self, memory: str) -> dict[str, int]:
        """The partitions (by id) that took more of a memory than later constants leave, and by how much."""
        found = self._pools[memory].over_budget() if memory in self._pools else {}
        return {self._foreseen.partition(number).id: over for number, over in found.items()}

    def alive(self, partition: Partition, site: str, memory: str) -> tuple[tuple[str, int], ...]:
        """What others hold of a memory, asked about before, at a call site, the largest first."""
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
        """What the partition may take, per call site and memory of its instance, and the ledger in which that
        is promised.

        A block is promised for the whole turn of the partition: one ring of buffers may serve all its call
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
        """The ledger in which the kernel has taken its bytes, instead of those promised.

        Where it takes bytes that are not there, the answer says so, and nothing is taken.
        """
        constants, growth = self._constants.with_kernel(partition, kernel)
        ledger, refused = self._with_constants(partition, kernel, growth)
        if refused is not None:
            return ledger, refused
        ledger, refused = ledger._with_buffers(partition, kernel)
        if refused is not None:
            return ledger._holding({memory: -size for memory, size in growth.items()}), refused
        copies = any(isinstance(action, Call) and action.copies for action in kernel.actions)
        ledger = evolve(ledger, constants=constants, aliasing=self.aliasing + copies)
        if not self._foreseen.conforms(partition, kernel):
            return evolve(ledger, unforeseen=self.unforeseen + 1), None
        return ledger._sharing(list(self._foreseen.dying(partition, kernel))), None

    def _with_constants(
        self, partition: Partition, kernel: Kernel, growth: Mapping[str, int]
    ) -> tuple["Ledger", Overdrawn | None]:
        """Constants take so many bytes more. C is never refused. If constants no longer fit, the accelerators
        that took too much before are over budget, else this one is refused. Where the witness alone has no
        room, the memory plan decides.
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
        """The ledger with constants that take so many bytes more of each memory."""
        grown = {memory: self._growth.get(memory, 0) + size for memory, size in growth.items()}
        pools = {m: self._pools[m].holding(size) for m, size in growth.items() if m in self._pools}
        return evolve(self, growth={**self._growth, **grown}, pools={**self._pools, **pools})

    def _with_buffers(self, partition: Partition, kernel: Kernel) -> tuple["Ledger", Overdrawn | None]:
        """The ledger in which the kernel has its own buffers; where there is no room, only effort is lost."""
        own, number = self._foreseen.own(partition, kernel), self._foreseen.number(partition)
        there = {memory: buffers for memory, buffers in own.items() if memory in self._pools}
        for memory, buffers in there.items():
            refused = self._overdrawn(partition, memory, buffers)
            if refused is not None:
                return self, refused
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
        return evolve(self, pools=pools, taken=self._taken.changed({number: own} if own else {})), None

    def _sharing(self, places: Sequence[tuple[str, tuple[str, ...]]]) -> "Ledger":
        """The ledger that counts results once with the operands whose place they may take."""
        found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for result, operands in places:
            found.setdefault(self._foreseen.memory(result), []).append((result, operands))
        pools = {m: self._pools[m].sharing(mine) for m, mine in found.items() if m in self._pools}
        if not found:
            return self
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
        """The account of a memory, with what kernels took of it so far."""
        taken = {number: own[memory] for number, own in self._taken.items() if memory in own}
        return self._foreseen.pool(memory, self._growth.get(memory, 0), self._reuses, taken)
