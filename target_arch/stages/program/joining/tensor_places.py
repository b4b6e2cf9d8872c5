"""The buffers that hold each tensor, while items are added to a program one after another.

A tensor has at most one buffer in each memory. Its producer writes the one in its home; a reader that cannot
use any of its buffers gets another, and the copies that fill it, right before the reader.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice

from attrs import define, evolve, field

from target_arch.plan.kernels import LocalBuffer, Operand, Slice
from target_arch.plan.memory import BufferKind, IoOwner
from target_arch.plan.model import State
from target_arch.plan.steps import StateBuffers
from target_arch.soc.rounding import ceil_div, round_up
from target_arch.stages.paths.routes import chunks
from target_arch.stages.program.homes import TensorHomes
from target_arch.stages.program.items import Item, Slot, local_slot
from target_arch.stages.program.joining.transfers import InsertionPoint, Transfers
from target_arch.stages.program.partial import PartialLowering

RING = 2
"""The pieces of a ring: one is filled while the other is emptied."""


@define(kw_only=True, eq=False, slots=False)
class TensorPlaces:
    """The program so far: its `items`, its buffers (`slots`), and which of these hold each tensor.

    Methods add items and buffers. They raise StepError for tensors that do not exist, are read before they
    are written, or cannot be copied.
    """

    work: PartialLowering = field(repr=False)
    homes: TensorHomes = field(repr=False)
    items: list[Item] = field(factory=list, repr=False)
    slots: dict[str, Slot] = field(factory=dict, repr=False)
    _buffers: dict[str, dict[str, str]] = field(factory=dict, repr=False)
    """By tensor and memory, the buffer that holds the tensor there."""

    @cached_property
    def transfers(self) -> Transfers:
        """Transfers between the buffers."""
        return Transfers(routes=self.work.routes, slots=self.slots)

    def input(self, tensor: str) -> str:
        """The buffer in which the caller leaves a model input."""
        name = self._add(tensor, self.homes.homes[tensor], BufferKind.INPUT)
        return self._lent(name)

    def state(self, state: State) -> StateBuffers:
        """The buffers of a state; the one of its next value is written by an item that is still to come."""
        now = self._add(state.tensor, self.homes.homes[state.tensor], BufferKind.STATE)
        later = self._add(state.next, self.homes.homes[state.next], BufferKind.NEXT, now)
        initial = None
        if state.initial is not None:
            home = self.homes.constants[state.initial]
            initial = self._add(state.initial, home, BufferKind.CONSTANT)
        return StateBuffers(tensor=state.tensor, now=now, next=later, initial=initial)

    def output(self, tensor: str) -> str:
        """The buffer in which the caller finds a model output."""
        name = self.readable(
            tensor, self.work.mode.io, InsertionPoint(partition="", place=f"output {tensor}")
        )
        if self.slots[name].kind == BufferKind.ACTIVATION:
            self.slots[name] = evolve(self.slots[name], kind=BufferKind.OUTPUT)
        return self._lent(name)

    def _lent(self, name: str) -> str:
        """The buffer of an input or output, with bytes of its owner."""
        if self.work.setting.io is IoOwner.CALLER:
            self.slots[name] = evolve(self.slots[name], caller=True)
        return name

    def local(self, partition: str, buffer: LocalBuffer) -> str:
        """A local buffer of a partition, under its name in the program."""
        slot = local_slot(partition, buffer, self.work.setting.alignments[buffer.memory])
        self.slots[slot.name] = slot
        return slot.name

    def whole(self, buffer: str) -> Slice:
        """All bytes of a buffer."""
        return Slice(of=buffer, offset=0, row_bytes=self.slots[buffer].bytes)

    def touched(self, operand: Operand) -> Slice:
        """The bytes of its buffer that an operand touches."""
        return operand.touched(self.slots[operand.of].bytes)

    def readable(self, tensor: str, memories: Iterable[str], site: InsertionPoint) -> str:
        """A buffer that holds the tensor in one of the memories; the first of these that has one, else the
        one to which copies are fastest.
        """
        wanted = tuple(memories)
        memory, source = self._nearest(tensor, wanted, site)
        if memory != source:
            self._copy(tensor, source, memory, site)
        return self._buffers[tensor][memory]

    def streamed(self, tensor: str, memories: Iterable[str], site: InsertionPoint) -> tuple[str, str] | None:
        """The buffer from which a tensor goes through a ring in one of the memories, and this memory; None
        where it is, or comes, there whole.
        """
        memory, source = self._nearest(tensor, tuple(memories), site)
        hops = self.work.routes.route(source, memory, self.work.tensors[tensor].bytes) or ()
        through = (tensor, memory) in self.homes.streamed and len(hops) == 1
        return (self._buffers[tensor][source], memory) if through else None

    def stream(self, tensor: str, memory: str, source: Slice, target: Slice, site: InsertionPoint) -> None:
        """Carry a slice of a tensor to another memory piece by piece, through a ring in between."""
        block, unit = self.homes.streamed[tensor, memory], self.work.setting.alignments[memory]
        for number, (start, end) in enumerate(chunks(source, target, block, unit)):
            piece = self._piece(memory, number % RING, start, site)
            self.items.append(self.transfers.transfer(start, piece, site))
            self.items.append(self.transfers.transfer(piece, end, site))

    def passing(self, tensor: str, memory: str, source: str, site: InsertionPoint) -> list[Slice]:
        """The most that a ring in a memory holds of a tensor on its way to a kernel that does not exist yet,
        with the copies that fill it.
        """
        block, whole, held = self.homes.streamed[tensor, memory], self.whole(source), list[Slice]()
        most = min(block, ceil_div(whole.row_bytes, RING))
        for number, (start, _) in enumerate(islice(chunks(whole, whole, most), RING)):
            piece = self._piece(memory, number, start, site, room=block)
            self.items.append(self.transfers.transfer(start, piece, site))
            held.append(piece)
        return held

    def _piece(self, memory: str, number: int, like: Slice, site: InsertionPoint, room: int = 0) -> Slice:
        """The part of a ring that takes a slice. A ring has the bytes of the largest piece of its partition,
        or the `room` for it.
        """
        alignment = self.work.setting.alignments[memory]
        stride = round_up(like.row_bytes, alignment) if like.rows > 1 else 0
        size = max(stride * (like.rows - 1) + like.row_bytes, room)
        buffer = LocalBuffer(name=f"ring.{memory}.{number}", memory=memory, bytes=round_up(size, alignment))
        slot = local_slot(site.partition, buffer, alignment)
        known = self.slots.get(slot.name, slot)
        self.slots[slot.name] = known if known.bytes >= slot.bytes else slot
        return Slice(of=slot.name, offset=0, row_bytes=like.row_bytes, rows=like.rows, stride=stride)

    def _nearest(self, tensor: str, wanted: tuple[str, ...], site: InsertionPoint) -> tuple[str, str]:
        """The memory in which a tensor will be read, and the one from which it is copied there: the same
        where it is there already.
        """
        known = self._known(tensor, site)
        found = next((memory for memory in wanted if memory in known), None)
        if found is not None:
            return found, found
        size = self.work.tensors[tensor].bytes
        options = [
            (seconds, number, memory, source)
            for number, memory in enumerate(wanted)
            for source in known
            if (seconds := self.work.routes.route_seconds(source, memory, size)) is not None
        ]
        if not options:
            missing = self.work.routes.missing(known, wanted)
            raise site.error(f"tensor `{tensor}`: {missing}", "no-copy-path")
        _, _, memory, source = min(options)
        return memory, source

    def written(self, tensor: str, site: InsertionPoint) -> str:
        """The buffer that the producer of a tensor writes. Its earlier copies are no longer valid."""
        home = self.homes.homes.get(tensor)
        if home is None or tensor not in self._results:
            raise site.error(f"`{tensor}` cannot be written: it is no result of the model")
        name = self._buffers.get(tensor, {}).get(home) or self._add(tensor, home, BufferKind.ACTIVATION)
        self._buffers[tensor] = {home: name}
        return name

    def _known(self, tensor: str, site: InsertionPoint) -> Mapping[str, str]:
        """By memory the buffers that hold a tensor. A constant gets its buffer at its first use."""
        if tensor not in self.work.tensors:
            raise site.error(f"`{tensor}` is neither a tensor nor a local buffer of the kernel")
        if tensor not in self._buffers:
            if self.work.tensors[tensor].data is None:
                raise site.error(f"tensor `{tensor}` is read before anything wrote it")
            self._add(tensor, self.homes.constants[tensor], BufferKind.CONSTANT)
        return self._buffers[tensor]

    def _copy(self, tensor: str, source: str, memory: str, site: InsertionPoint) -> None:
        """Copy a tensor from memory to memory, hop by hop."""
        hops = list(self.work.routes.route(source, memory, self.work.tensors[tensor].bytes) or ())
        while hops:
            path = hops.pop(0)
            start = self.whole(self._buffers[tensor][path.source])
            through = path.target if hops and (tensor, path.target) in self.homes.streamed else None
            path = path if through is None else hops.pop(0)
            end = self.whole(self._add(tensor, path.target, BufferKind.ACTIVATION))
            if through is None:
                self.items.append(self.transfers.transfer(start, end, site))
            else:
                self.stream(tensor, through, start, end, site)

    def _add(self, tensor: str, memory: str, kind: BufferKind, replaces: str | None = None) -> str:
        name = f"{tensor}@{memory}"
        self._buffers.setdefault(tensor, {})[memory] = name
        if name not in self.slots:
            self.slots[name] = Slot(
                name=name,
                kind=kind,
                memory=memory,
                bytes=self.work.tensors[tensor].bytes,
                alignment=self.work.setting.alignments[memory],
                tensor=tensor,
                replaces=replaces,
            )
        return name

    @cached_property
    def _results(self) -> frozenset[str]:
        return frozenset(operator.output for operator in self.work.graph.model.operators)
