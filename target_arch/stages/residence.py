"""The memories tensors live in: where each is left by its producer, where each constant lies.

A tensor's *home* is the memory its producer writes. Among the memories the producer can write, the one is
taken from which most consumers are served without another copy; the preference of the description decides
between equals. When a memory overflows, `spilled` moves tensors on to their next candidate.
"""

from collections.abc import Iterable, Iterator, Mapping

from attrs import field, frozen

from target_arch.plan.kernels import Call, Move
from target_arch.plan.model import Operator, Tensor
from target_arch.plan.partitions import Partition
from target_arch.soc.model import Instance, MemoryMode, SoC
from target_arch.stages import access
from target_arch.stages.copy_paths import Routes
from target_arch.stages.errors import StepError, failure
from target_arch.stages.work import Work

NOTHING: Mapping[str, int] = {}


@frozen(kw_only=True)
class Residence:
    """Where tensors live. `others` are the homes a tensor could still be spilled to, preferred first.

    `drained` are the memories in which bytes are scarce: before a new buffer begins there, the step stage
    waits for everything that is in flight on buffers nobody needs any more.
    """

    homes: Mapping[str, str]
    constants: Mapping[str, str]
    others: Mapping[str, tuple[str, ...]] = field(factory=dict, repr=False)
    drained: tuple[str, ...] = ()
    reuse: bool = True
    """Whether an accelerator may go on with tiles that the partition before it left in its memory."""


@frozen(kw_only=True)
class Touch:
    """A partition needs a tensor: to read it in one of `memories`, or to leave it in one of them."""

    tensor: str
    write: bool
    memories: tuple[str, ...]


def assign_residence(
    work: Work, drained: tuple[str, ...] = (), spilled: Mapping[str, int] = NOTHING
) -> Residence:
    """Choose a home for every tensor, and a memory for every constant that some partition names.

    `spilled` tells how many of its candidates a tensor is to pass over. Raises StepError where no declared
    path connects producer and consumer.
    """
    routes, model, mode = work.routes(), work.graph.model, work.mode
    reads: dict[str, list[tuple[str, ...]]] = {}
    writes: dict[str, list[tuple[str, ...]]] = {}
    for partition in work.graph.partitions:
        for touch in dict.fromkeys(touches(work, routes, partition)):
            (writes if touch.write else reads).setdefault(touch.tensor, []).append(touch.memories)
    tensors = work.tensors()
    for name in model.outputs:
        reads.setdefault(name, []).append(mode.io)
    made = {operator.output for operator in model.operators}
    candidates = {
        name: _preferred(work, name, _common(found)) for name, found in writes.items() if name in made
    }
    candidates |= dict.fromkeys(model.inputs, mode.io)
    chooser = _Chooser(routes, reads)
    ordered = {name: chooser.ordered(tensors[name], homes) for name, homes in candidates.items()}
    fixed = [tensors[name] for name in reads if name in tensors and tensors[name].data is not None]
    return Residence(
        homes={name: found[min(spilled.get(name, 0), len(found) - 1)] for name, found in ordered.items()},
        constants=_constants(work.soc, mode, chooser, fixed),
        others={name: found[spilled.get(name, 0) + 1 :] for name, found in ordered.items()},
        drained=drained,
    )


def touches(work: Work, routes: Routes, partition: Partition) -> Iterator[Touch]:
    """Every need of a partition, as its kernel states it, or as its operators suggest while it has none."""
    kernel = work.kernels.get(partition.id)
    if kernel is None:
        for operator in partition.operators:
            yield from expected(work, routes, operator, work.instance(partition))
        return
    where = {buffer.name: buffer.memory for buffer in kernel.buffers}
    for action in kernel.actions:
        if isinstance(action, Call):
            yield from _call_touches(work, work.instance(partition), action, where)
        else:
            yield from _move_touches(work, routes, action, where)


def expected(work: Work, routes: Routes, operator: Operator, instance: Instance) -> Iterator[Touch]:
    """The needs of an operator that is not lowered yet: whole tensors for C, tiles of them for an
    accelerator.
    """
    whole, tiles = work.is_c(instance), access.local(instance)
    for name in dict.fromkeys((*operator.inputs, *operator.constants)):
        memories = access.readable(work.soc, instance) if whole else feeding(work, routes, tiles)
        yield Touch(tensor=name, write=False, memories=memories)
    memories = access.results(work.soc, work.mode, instance) if whole else draining(work, routes, tiles)
    yield Touch(tensor=operator.output, write=True, memories=memories)


def feeding(work: Work, routes: Routes, local: Iterable[str]) -> tuple[str, ...]:
    """Memories from which a direct path leads into one of the local memories, preferred first."""
    tiles = tuple(local)
    near = (*access.resting(work.mode), *work.mode.constants, *(memory.name for memory in work.soc.memories))
    return tuple(name for name in dict.fromkeys(near) if any(routes.direct(name, tile) for tile in tiles))


def draining(work: Work, routes: Routes, local: Iterable[str]) -> tuple[str, ...]:
    """Memories into which a direct path leads out of one of the local memories, preferred first."""
    tiles = tuple(local)
    near = tuple(name for name in access.resting(work.mode) if work.soc.memory(name).writable)
    return tuple(name for name in near if any(routes.direct(tile, name) for tile in tiles))


def _call_touches(work: Work, instance: Instance, call: Call, local: Mapping[str, str]) -> Iterator[Touch]:
    for operand in call.operands:
        if operand.of in local:
            continue
        write = "w" in operand.access
        results = access.results(work.soc, work.mode, instance)
        yield Touch(
            tensor=operand.of, write=write, memories=results if write else access.readable(work.soc, instance)
        )


def _move_touches(work: Work, routes: Routes, move: Move, local: Mapping[str, str]) -> Iterator[Touch]:
    source, target = local.get(move.source.of), local.get(move.target.of)
    if source is None and target is not None:
        yield Touch(tensor=move.source.of, write=False, memories=feeding(work, routes, (target,)))
    if target is None and source is not None:
        yield Touch(tensor=move.target.of, write=True, memories=draining(work, routes, (source,)))


def _common(options: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The memories that all needs agree on, in the order of the first."""
    return tuple(name for name in options[0] if all(name in other for other in options))


def _preferred(work: Work, name: str, homes: tuple[str, ...]) -> tuple[str, ...]:
    """Model outputs are best left where the caller reads them."""
    if name not in work.graph.model.outputs:
        return homes
    return tuple(dict.fromkeys((*(memory for memory in work.mode.io if memory in homes), *homes)))


class _Chooser:
    def __init__(self, routes: Routes, reads: Mapping[str, list[tuple[str, ...]]]) -> None:
        self._routes = routes
        self._reads = reads

    def ordered(self, tensor: Tensor, homes: tuple[str, ...]) -> tuple[str, ...]:
        """The homes from which all consumers can be served, those that save copies first. StepError for
        none.
        """
        able = [
            home
            for home in homes
            if all(self._served(home, want, tensor.bytes) for want in self._wants(tensor))
        ]
        if not able:
            wanted = [
                want
                for want in self._wants(tensor)
                if not any(self._served(h, want, tensor.bytes) for h in homes)
            ]
            goal = wanted[0] if wanted else homes
            raise failure(
                StepError, "no-copy-path", f"tensor {tensor.name}", self._routes.missing(homes, goal)
            )
        return tuple(sorted(able, key=lambda home: (self.copies(home, tensor), homes.index(home))))

    def copies(self, home: str, tensor: Tensor) -> int:
        """How many further memories the tensor must be copied to if it lives there."""
        return len({want for want in self._wants(tensor) if home not in want})

    def _wants(self, tensor: Tensor) -> list[tuple[str, ...]]:
        return self._reads.get(tensor.name, [])

    def _served(self, home: str, want: tuple[str, ...], bytes: int) -> bool:
        return any(self._routes.route(home, memory, bytes) is not None for memory in want)


def _constants(soc: SoC, mode: MemoryMode, chooser: _Chooser, tensors: list[Tensor]) -> dict[str, str]:
    """A memory for every constant: the one that saves copies, then the preferred one, while there is room."""
    room = {name: soc.memory(name).size for name in mode.constants}
    chosen = {}
    for tensor in tensors:
        ordered = chooser.ordered(tensor, mode.constants)
        memory = next((name for name in ordered if room[name] >= tensor.bytes), ordered[0])
        room[memory] -= tensor.bytes
        chosen[tensor.name] = memory
    return chosen
