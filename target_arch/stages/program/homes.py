"""The memories of tensors: the one that each producer writes, and one for each constant.

A tensor's *home* is the memory its producer writes. Among the memories that the producer can write, the home
is the one that costs the least time: of copies to the memories in which consumers read, hop by hop, and of
moves out of and into the tiles of accelerators. Ties go to the memory that the SoC file names first: what a
core takes to compute does not depend on where it reads and writes. When a memory overflows, `spilled` moves
tensors to their next candidate.
"""

from collections.abc import Collection, Iterator, Mapping

from attrs import field, frozen

from target_arch.plan.kernels import Access, Call, Kernel, Move
from target_arch.plan.model import Tensor
from target_arch.plan.partitions import Partition, border
from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.stages.errors import StepError, failure
from target_arch.stages.paths import reach as access
from target_arch.stages.paths.routes import PICO, Routes
from target_arch.stages.program.partial import PartialLowering

Ends = dict[str, dict["End", None]]
"""By tensor, the ends of its ways to or from kernels, each once, in the order of the program."""

NOTHING: Mapping[str, int] = {}
OnTheWay = tuple[str, str]
"""A constant, and a memory through which it goes."""
ALL_WHOLE: Mapping[OnTheWay, int] = {}
NOWHERE: Mapping[str, str] = {}


@frozen(kw_only=True)
class TensorHomes:
    """The memory of every tensor and constant. `others` are the homes a tensor could still be spilled to,
    preferred first.

    `drained` are the memories in which bytes are scarce: before a new buffer begins there, the step stage
    waits for all steps in flight on dead buffers.
    """

    homes: Mapping[str, str]
    constants: Mapping[str, str]
    others: Mapping[str, tuple[str, ...]] = field(factory=dict, repr=False)
    drained: tuple[str, ...] = ()
    strict: bool = False
    """Whether to wait for dead buffers of the same partition, too."""
    reuse: bool = True
    """Whether an accelerator may reuse tiles that the partition before left in its memory."""
    streamed: Mapping[OnTheWay, int] = field(factory=dict, repr=False)
    """The copies of constants that do not exist whole: pieces of at most so many bytes go through
    a ring in that memory.
    """


@frozen(kw_only=True, cache_hash=True)
class End:
    """The memories in which a kernel accepts a tensor, or leaves it, and those of the tiles that are moved
    out of them or into them; none where it touches the tensor in place.
    """

    memories: tuple[str, ...]
    tiles: tuple[str, ...] = ()


@frozen(kw_only=True)
class Demand:
    """A partition reads or writes a tensor, which must then be in one of the memories of the `end` of its
    way.
    """

    tensor: str
    write: bool
    end: End

    @property
    def memories(self) -> tuple[str, ...]:
        return self.end.memories

    @property
    def access(self) -> Access:
        """The access as a call states it."""
        return Access.WRITE if self.write else Access.READ


def choose_homes(
    work: PartialLowering,
    drained: tuple[str, ...] = (),
    spilled: Mapping[str, int] = NOTHING,
    pinned: Mapping[str, str] = NOWHERE,
) -> TensorHomes:
    """Choose a home for every tensor, and a memory for every constant that a partition reads.

    `spilled` is how many of its candidates a tensor skips; `pinned` is its home if producer and consumers
    allow it. Raises StepError where no declared path connects producer and consumer.
    """
    routes, model, mode = work.routes, work.graph.model, work.mode
    needs = MemoryDemands(work)
    reads: Ends = {}
    writes: Ends = {}
    for partition in work.graph.partitions:
        for touch in needs.of(partition, work.kernels.get(partition.id)):
            (writes if touch.write else reads).setdefault(touch.tensor, {})[touch.end] = None
    tensors = work.tensors
    for name in model.outputs:
        reads.setdefault(name, {})[End(memories=mode.io)] = None
    for name in (state.initial for state in model.states if state.initial is not None):
        reads.setdefault(name, {})[End(memories=mode.constants)] = None
    made = {operator.output for operator in model.operators}
    outputs = frozenset(model.outputs)
    candidates = {name: _common(found) for name, found in writes.items() if name in made}
    candidates |= {name: _preferred(mode, candidates[name]) for name in candidates if name in outputs}
    candidates |= dict.fromkeys(model.inputs, mode.io)
    candidates |= {state.tensor: candidates[state.next] for state in model.states}
    chooser = _Chooser(routes, reads, writes)
    ordered = {name: chooser.ordered(tensors[name], homes) for name, homes in candidates.items()}
    fixed = [tensors[name] for name in reads if name in tensors and tensors[name].data is not None]
    homes = {name: _home(found, spilled.get(name, 0), pinned.get(name)) for name, found in ordered.items()}
    return TensorHomes(
        homes=homes | {state.next: homes[state.tensor] for state in model.states},
        constants=_constants(work.soc, mode, chooser, fixed),
        others={name: found[spilled.get(name, 0) + 1 :] for name, found in ordered.items()},
        drained=drained,
    )


class MemoryDemands:
    """The demands of partitions: those of their kernels, or while they have none, those expected of their
    operators.
    """

    def __init__(self, work: PartialLowering) -> None:
        self._work = work
        self._whole: dict[tuple[str, bool], End] = {}
        self._tiles: dict[tuple[str, bool], End] = {}
        self._expected: dict[str, tuple[End, End]] = {}

    def of(self, partition: Partition, kernel: Kernel | None) -> Iterator[Demand]:
        """Every demand of a partition with this kernel, or without one yet."""
        if kernel is None:
            for _, touches in self.expected(partition):
                yield from touches
            return
        instance = self._work.instance(partition)
        where = {buffer.name: buffer.memory for buffer in kernel.buffers}
        for action in kernel.actions:
            if isinstance(action, Call):
                yield from self._call(instance, action, where)
            else:
                yield from self._move(action, where)

    def expected(self, partition: Partition) -> Iterator[tuple[str, tuple[Demand, ...]]]:
        """The demands expected of a partition that is not lowered yet, by operator: whole tensors for C,
        tiles of them for an accelerator. A chain has all demands at its first operator, and only for tensors
        that cross its border.
        """
        instance, operators = self._work.instance(partition), partition.operators
        if self._work.setting.takes_chains(instance.name):
            reads, writes = border(self._work.graph.model, operators)
            fixed = (name for operator in operators for name in (*operator.inputs, *operator.constants))
            tensors = self._work.tensors
            constants = (name for name in fixed if tensors[name].data is not None)
            yield operators[0].id, self._touches(instance, (*reads, *constants), writes)
            return
        for operator in operators:
            reads = (*operator.inputs, *operator.constants)
            yield operator.id, self._touches(instance, reads, (operator.output,))

    def _touches(
        self, instance: Instance, reads: tuple[str, ...], writes: tuple[str, ...]
    ) -> tuple[Demand, ...]:
        start, end = self._access(instance)
        return (
            *(Demand(tensor=name, write=False, end=start) for name in dict.fromkeys(reads)),
            *(Demand(tensor=name, write=True, end=end) for name in writes),
        )

    def _access(self, instance: Instance) -> tuple[End, End]:
        """Where a partition without a kernel reads on the instance, and where it leaves results."""
        if instance.name not in self._expected:
            work, whole = self._work, self._work.setting.touches_whole(instance.name)
            there = access.memory_access(work.soc, work.mode, instance, whole=whole)
            ends = (End(memories=names, tiles=there.local) for names in (there.reads, there.writes))
            self._expected[instance.name] = (next(ends), next(ends))
        return self._expected[instance.name]

    def whole(self, instance: Instance, *, write: bool) -> End:
        """Where the instance reads whole operands, or leaves whole results: see `reach.readable` and
        `reach.results`.
        """
        key = (instance.name, write)
        if key not in self._whole:
            soc, mode = self._work.soc, self._work.mode
            there = access.results(soc, mode, instance) if write else access.readable(soc, instance)
            self._whole[key] = End(memories=there)
        return self._whole[key]

    def tile(self, memory: str, *, write: bool) -> End:
        """Where tiles in a memory come from, or go to: see `reach.feeding` and `reach.draining`."""
        key = (memory, write)
        if key not in self._tiles:
            moved = access.draining if write else access.feeding
            there = moved(self._work.soc, self._work.mode, (memory,))
            self._tiles[key] = End(memories=there, tiles=(memory,))
        return self._tiles[key]

    def _call(self, instance: Instance, call: Call, local: Mapping[str, str]) -> Iterator[Demand]:
        for operand in call.operands:
            if operand.of not in local:
                write = operand.access.writes
                yield Demand(tensor=operand.of, write=write, end=self.whole(instance, write=write))

    def _move(self, move: Move, local: Mapping[str, str]) -> Iterator[Demand]:
        source, target = local.get(move.source.of), local.get(move.target.of)
        if source is None and target is not None:
            yield Demand(tensor=move.source.of, write=False, end=self.tile(target, write=False))
        if target is None and source is not None:
            yield Demand(tensor=move.target.of, write=True, end=self.tile(source, write=True))


def _home(candidates: tuple[str, ...], passed_over: int, pinned: str | None) -> str:
    if pinned in candidates:
        return pinned
    return candidates[min(passed_over, len(candidates) - 1)]


def _common(ends: Collection[End]) -> tuple[str, ...]:
    """The memories that satisfy all demands, in the order of the first."""
    options = [end.memories for end in ends]
    return tuple(name for name in options[0] if all(name in other for other in options))


def _preferred(mode: MemoryMode, homes: tuple[str, ...]) -> tuple[str, ...]:
    """The homes of a model output, with those first that the caller can read."""
    return tuple(dict.fromkeys((*(memory for memory in mode.io if memory in homes), *homes)))


class _Chooser:
    def __init__(self, routes: Routes, reads: Ends, writes: Ends) -> None:
        self._routes = routes
        self._reads, self._writes = reads, writes

    def ordered(self, tensor: Tensor, homes: tuple[str, ...]) -> tuple[str, ...]:
        """The homes from which all consumers can be served, the cheapest first. Raises StepError if there is
        none.
        """
        wants = self._reads.get(tensor.name, {})
        able = [home for home in homes if all(self._served(home, end) for end in wants)]
        if not able:
            unserved = (end for end in wants if not any(self._served(home, end) for home in homes))
            goal = next((end.memories for end in unserved), homes)
            raise failure(
                StepError, "no-copy-path", f"tensor {tensor.name}", self._routes.missing(homes, goal)
            )
        if len(able) == 1:
            return tuple(able)
        return tuple(sorted(able, key=lambda home: (self.seconds(home, tensor), homes.index(home))))

    def seconds(self, home: str, tensor: Tensor) -> int:
        """The picoseconds of the copies and moves of a tensor that lives there: out of the tiles of its
        producer, and to each consumer.
        """
        time = 0
        for end in self._writes.get(tensor.name, ()):
            time += self._move(end.tiles, (home,), tensor.bytes)
        for end in self._reads.get(tensor.name, ()):
            time += self._brought(home, end, tensor.bytes)
        return time

    def _brought(self, home: str, end: End, bytes: int) -> int:
        """From the home to where a consumer reads, as `TensorPlaces` brings it, and into its tiles."""
        if home in end.memories:
            return self._move((home,), end.tiles, bytes)
        ways = (
            (round(seconds * PICO), number, memory)
            for number, memory in enumerate(end.memories)
            if (seconds := self._routes.route_seconds(home, memory, bytes)) is not None
        )
        way, _, memory = min(ways)
        return way + self._move((memory,), end.tiles, bytes)

    def _move(self, sources: tuple[str, ...], targets: tuple[str, ...], bytes: int) -> int:
        """Between a memory and tiles; nothing where there are none, or no direct path."""
        if not sources or not targets:
            return 0
        found = self._routes.nearest(sources, targets, bytes)
        return 0 if found is None else found[1]

    def _served(self, home: str, end: End) -> bool:
        return self._routes.leads(home, end.memories)


def _constants(soc: SoC, mode: MemoryMode, chooser: _Chooser, tensors: list[Tensor]) -> dict[str, str]:
    """A memory for every constant: the cheapest first, then the preferred memory, while there is room."""
    room = {name: soc.memory(name).size for name in mode.constants}
    chosen = {}
    for tensor in tensors:
        ordered = chooser.ordered(tensor, mode.constants)
        memory = next((name for name in ordered if room[name] >= tensor.bytes), ordered[0])
        room[memory] -= tensor.bytes
        chosen[tensor.name] = memory
    return chosen
