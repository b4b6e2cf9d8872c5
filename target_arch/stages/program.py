"""Kernels joined into one program over buffers, as if every action were over before the next begins.

Here the whole-tensor copies appear: just before the action that needs a tensor in a memory where it does not
lie yet. Waits, events and DMA channels are added afterwards (`hazards`).
"""

from collections.abc import Iterable, Mapping
from math import lcm

from attrs import evolve, frozen, mutable

from target_arch.plan.kernels import Call, Kernel, Move, Operand, Slice
from target_arch.plan.partitions import Partition
from target_arch.soc.model import CopyPath, Instance, SoC
from target_arch.stages import access
from target_arch.stages.copy_paths import pieces
from target_arch.stages.errors import StepError, failure
from target_arch.stages.residence import Residence, expected, feeding
from target_arch.stages.work import Work

ALIGNMENT = 16
"""Bytes to which every tensor is aligned, so that kernels may use vector loads."""

CACHE_LINE = 64
"""Alignment of buffers that share a cached memory with cache duties: no two buffers lie in one line."""


@frozen(kw_only=True)
class Transfer:
    """A copy over one path, in as many pieces as the path demands."""

    path: CopyPath
    pieces: tuple[tuple[Slice, Slice], ...]
    partition: str


@frozen(kw_only=True)
class Run:
    """A call on an instance. With `reserved`, a stand-in for a partition not lowered yet: it may touch all of
    these memories.
    """

    partition: str
    operator: str
    instance: str
    function: str
    operands: tuple[Operand, ...]
    words: tuple[int, ...] = ()
    reserved: tuple[str, ...] = ()


Item = Transfer | Run


@mutable(kw_only=True)
class Draft:
    """A buffer whose lifetime is not known yet."""

    name: str
    kind: str
    memory: str
    bytes: int
    alignment: int
    tensor: str | None = None
    partition: str | None = None
    """Whose local buffer it is."""


@frozen(kw_only=True)
class Program:
    """All items in order, the buffers they name, and the buffers of the model's inputs and outputs."""

    items: tuple[Item, ...]
    buffers: Mapping[str, Draft]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


def join(work: Work, residence: Residence) -> Program:
    """The program of a whole graph. Raises StepError for a kernel that names what does not exist or cannot be
    copied.
    """
    joiner = _Joiner(work, residence)
    inputs = tuple((name, joiner.arrive(name)) for name in work.graph.model.inputs)
    for partition in work.graph.partitions:
        kernel = work.kernels.get(partition.id)
        if kernel is None:
            joiner.reserve(partition)
        else:
            joiner.add(partition, kernel)
    outputs = tuple((name, joiner.leave(name)) for name in work.graph.model.outputs)
    return Program(items=tuple(joiner.items), buffers=joiner.buffers, inputs=inputs, outputs=outputs)


class _Joiner:
    def __init__(self, work: Work, residence: Residence) -> None:
        self.items: list[Item] = []
        self.buffers: dict[str, Draft] = {}
        self._work, self._residence = work, residence
        self._routes, self._tensors = work.routes(), work.tensors()
        self._where: dict[str, dict[str, str]] = {}
        self._alignments = {
            memory.name: least_alignment(work.soc, memory.name) for memory in work.soc.memories
        }
        self._feeding: dict[str, tuple[str, ...]] = {}
        self._place = ""

    def arrive(self, tensor: str) -> str:
        """The buffer in which the caller leaves a model input."""
        return self._lie(tensor, self._residence.homes[tensor], "input")

    def leave(self, tensor: str) -> str:
        """The buffer in which the caller finds a model output."""
        self._place = f"output {tensor}"
        name = self._ensure(tensor, self._work.mode.io, "")
        if self.buffers[name].kind == "activation":
            self.buffers[name].kind = "output"
        return name

    def add(self, partition: Partition, kernel: Kernel) -> None:
        """Append the actions of a kernel."""
        self._place = f"partition {partition.id} on {partition.instance}"
        local = {buffer.name: f"{partition.id}.{buffer.name}" for buffer in kernel.buffers}
        for buffer in kernel.buffers:
            alignment = lcm(buffer.alignment, self._alignments[buffer.memory])
            name = local[buffer.name]
            self.buffers[name] = Draft(
                name=name,
                kind="local",
                memory=buffer.memory,
                bytes=buffer.bytes,
                alignment=alignment,
                partition=partition.id,
            )
        for action in kernel.actions:
            if isinstance(action, Call):
                self._call(partition, action, local)
            else:
                self._move(partition, action, local)

    def reserve(self, partition: Partition) -> None:
        """Append a stand-in for each operator of a partition not lowered yet: its tensors lie where they
        must.
        """
        self._place = f"partition {partition.id} on {partition.instance}"
        instance = self._work.instance(partition)
        for operator in partition.operators:
            operands = []
            for touch in expected(self._work, self._routes, operator, instance):
                if touch.write:
                    operands.append(Operand(of=self._written(touch.tensor), access="w"))
                else:
                    operands.append(
                        Operand(of=self._ensure(touch.tensor, touch.memories, partition.id), access="r")
                    )
            run = Run(
                partition=partition.id,
                operator=operator.id,
                instance=partition.instance,
                function="",
                operands=tuple(operands),
                reserved=access.owned(instance),
            )
            self.items.append(run)

    def _call(self, partition: Partition, call: Call, local: Mapping[str, str]) -> None:
        instance = self._work.instance(partition)
        operands = tuple(self._operand(partition, instance, operand, local) for operand in call.operands)
        run = Run(
            partition=partition.id,
            operator=call.operator or partition.operators[0].id,
            instance=instance.name,
            function=call.function,
            operands=operands,
            words=call.words,
        )
        self.items.append(run)

    def _operand(
        self, partition: Partition, instance: Instance, operand: Operand, local: Mapping[str, str]
    ) -> Operand:
        if operand.of in local:
            return Operand(of=local[operand.of], access=operand.access, offset=operand.offset)
        if "r" in operand.access:
            name = self._ensure(operand.of, access.readable(self._work.soc, instance), partition.id)
        if "w" in operand.access:
            name = self._written(operand.of)
        return Operand(of=name, access=operand.access, offset=operand.offset)

    def _move(self, partition: Partition, move: Move, local: Mapping[str, str]) -> None:
        source, target = local.get(move.source.of), local.get(move.target.of)
        if source is None and target is None:
            raise self._wrong(f"a move from `{move.source.of}` to `{move.target.of}` names no local buffer")
        if source is None:
            source = self._ensure(
                move.source.of, self._feeds(self.buffers[target or ""].memory), partition.id
            )
        if target is None:
            target = self._written(move.target.of)
        self._transfer(evolve(move.source, of=source), evolve(move.target, of=target), partition.id)

    def _feeds(self, memory: str) -> tuple[str, ...]:
        if memory not in self._feeding:
            self._feeding[memory] = feeding(self._work, self._routes, (memory,))
        return self._feeding[memory]

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
            start, end = lies[path.source], self._lie(tensor, path.target, "activation")
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
            self._lie(tensor, self._residence.constants[tensor], "constant")
        return self._where[tensor]

    def _written(self, tensor: str) -> str:
        """The buffer that a producer writes. Copies of an earlier content count no more."""
        home = self._residence.homes.get(tensor)
        if home is None:
            raise self._wrong(f"`{tensor}` cannot be written: it is no activation of the model")
        name = self._where.get(tensor, {}).get(home) or self._lie(tensor, home, "activation")
        self._where[tensor] = {home: name}
        return name

    def _lie(self, tensor: str, memory: str, kind: str) -> str:
        name = f"{tensor}@{memory}"
        self._where.setdefault(tensor, {})[memory] = name
        if name not in self.buffers:
            self.buffers[name] = Draft(
                name=name,
                kind=kind,
                memory=memory,
                bytes=self._tensors[tensor].bytes,
                alignment=self._alignments[memory],
                tensor=tensor,
            )
        return name

    def _transfer(self, source: Slice, target: Slice, partition: str) -> None:
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
        self.items.append(Transfer(path=path, pieces=cut, partition=partition))

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


def least_alignment(soc: SoC, memory: str) -> int:
    """An alignment that every path of the memory can carry; whole cache lines where some of these are
    invalidated.
    """
    paths = [path for path in soc.copies if memory in (path.source, path.target)]
    duties = any(path.cache != "none" for path in paths) and soc.memory(memory).cached
    return lcm(ALIGNMENT, CACHE_LINE if duties else 1, *(path.alignment for path in paths))
