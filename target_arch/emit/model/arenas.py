"""Which arenas the bundle has, and where in them every buffer lies."""

from collections.abc import Mapping

from attrs import field, frozen

from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.text.names import identifier
from target_arch.plan.memory import Buffer, BufferKind

_ALIGNMENT = 16  # of every arena at least: what the widest load of a small core wants


@frozen(kw_only=True)
class Arena:
    """A run of bytes carved from one memory. `buffers` are sorted by offset, then by name."""

    name: str
    memory: str
    constant: bool
    visible: bool
    bytes: int
    alignment: int
    buffers: tuple[tuple[int, Buffer], ...] = field(repr=False)
    symbol: str = ""

    @property
    def identifier(self) -> str:
        """The arena as part of a C identifier: `sram`, `ddr_constants`."""
        return self.symbol or identifier(self.name)


@frozen(kw_only=True)
class Place:
    """Where a buffer lies: number of the arena and byte offset in it."""

    arena: int
    offset: int


@frozen(kw_only=True)
class Arenas:
    """Every arena in the order of its number (by name), and the place of every buffer by name."""

    all: tuple[Arena, ...]
    places: Mapping[str, Place] = field(repr=False)

    def ref(self, buffer: str, offset: int = 0) -> str:
        """The `ta_ref` of a byte of a buffer, as a C initializer. KeyError for a buffer without a place."""
        place = self.places[buffer]
        return f"{{{place.arena}, {place.offset + offset}}}"


def arenas(inputs: EmitInputs) -> Arenas:
    """The arenas of a plan. Only those that hold a buffer exist."""
    held: dict[str, list[tuple[int, Buffer]]] = {}
    for buffer in inputs.plan.buffers:
        held.setdefault(buffer.arena, []).append((inputs.plan.offsets[buffer.name], buffer))
    every = tuple(_arena(inputs, name, held[name]) for name in sorted(held))
    places = {
        buffer.name: Place(arena=number, offset=offset)
        for number, arena in enumerate(every)
        for offset, buffer in arena.buffers
    }
    return Arenas(all=every, places=places)


def _arena(inputs: EmitInputs, name: str, held: list[tuple[int, Buffer]]) -> Arena:
    first = held[0][1]
    return Arena(
        name=name,
        memory=first.memory,
        constant=first.kind == BufferKind.CONSTANT,
        visible=inputs.soc.memory(first.memory).base is not None,
        bytes=max(offset + buffer.bytes for offset, buffer in held),
        alignment=max(_ALIGNMENT, *(buffer.alignment for _, buffer in held)),
        buffers=tuple(sorted(held, key=lambda item: (item[0], item[1].name))),
    )
