"""The arenas of a bundle, and the place of every buffer of a model in them.

An arena that only one model uses exists once per model; an arena that models use in turn exists once.
"""

from collections.abc import Iterator, Mapping, Sequence
from struct import pack

from attrs import evolve, field, frozen

from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.text.names import identifier
from target_arch.plan.memory import Arena, Buffer
from target_arch.plan.model_pools import ModelPool
from target_arch.soc.rounding import round_up


@frozen(kw_only=True)
class EmittedArena:
    """An arena of the bundle's C: the part of a pool that is one model's, or the models' in turn.

    `owner` is the only model that uses it, empty where models use it in turn. `symbol` is the arena as part
    of a C identifier: `sram`, `digits_ddr_constants`. `bytes` are whole cache lines where something writes
    behind the host's cache, so that nothing else has bytes of the last line. `buffers` are those of the first
    model that has any, sorted by offset, then by name.
    """

    pool: Arena
    owner: str
    name: str
    symbol: str
    visible: bool
    bytes: int
    alignment: int
    buffers: tuple[tuple[int, Buffer], ...] = field(repr=False)
    start: int = 0
    """Where it begins in a memory that the host does not see: behind those before it."""


@frozen(kw_only=True)
class ArenaOffset:
    """Where a buffer is: number of the arena and byte offset in it."""

    arena: int
    offset: int


@frozen(kw_only=True)
class Arenas:
    """Every arena of the bundle in the order of its number, and the place of every buffer of one model."""

    all: tuple[EmittedArena, ...]
    places: Mapping[str, ArenaOffset] = field(repr=False)

    def ref(self, buffer: str, offset: int = 0) -> str:
        """The `ta_ref` of a byte of a buffer, as a C initializer. KeyError for a buffer without a place."""
        place = self.places[buffer]
        return f"{{{place.arena}, {place.offset + offset}}}"

    def packed(self, buffer: str, offset: int = 0) -> bytes:
        """The bytes of that `ta_ref`."""
        place = self.places[buffer]
        return pack("<II", place.arena, place.offset + offset)


def arenas(inputs: EmitInputs) -> tuple[EmittedArena, ...]:
    """The arenas of the bundle, by pool, then by model. Only those that hold a buffer exist."""
    found: list[EmittedArena] = []
    for pool in inputs.pools.pools:
        owners = [number for number, member in enumerate(inputs.members) if _held(member, pool)]
        found += [_arena(inputs, pool, number) for number in (owners[:1] if pool.overlaid else owners)]
    return tuple(_apart(found))


def _apart(every: Sequence[EmittedArena]) -> Iterator[EmittedArena]:
    """The arenas, those that the host does not see one behind the other in their memory."""
    ends: dict[str, int] = {}
    for arena in every:
        start = round_up(ends.get(arena.pool.memory, 0), arena.alignment)
        yield arena if arena.visible else evolve(arena, start=start)
        ends[arena.pool.memory] = start + arena.bytes


def placed(inputs: EmitInputs, member: Member, every: Sequence[EmittedArena]) -> Arenas:
    """The arenas of the bundle, and where in them the buffers of one model are."""
    numbers = {(arena.pool, arena.owner): number for number, arena in enumerate(every)}
    owners = {pool.pool: "" if pool.overlaid else member.name for pool in inputs.pools.pools}
    number = inputs.members.index(member)
    starts = {pool.pool: pool.offsets[number] if pool.overlaid else 0 for pool in inputs.pools.pools}
    plan = member.lowered.memory
    places = {
        buffer.name: ArenaOffset(
            arena=numbers[buffer.arena, owners[buffer.arena]],
            offset=starts[buffer.arena] + plan.offsets[buffer.name],
        )
        for buffer in plan.buffers
    }
    return Arenas(all=tuple(every), places=places)


def constants_of(member: Member, every: Sequence[EmittedArena]) -> tuple[EmittedArena, ...]:
    """The arenas of a model's constants."""
    return tuple(arena for arena in every if arena.pool.constant and arena.owner == member.name)


def _held(member: Member, pool: ModelPool) -> list[tuple[int, Buffer]]:
    plan = member.lowered.memory
    held = ((plan.offsets[buffer.name], buffer) for buffer in plan.buffers if buffer.arena == pool.pool)
    return sorted(held, key=lambda item: (item[0], item[1].name))


def _arena(inputs: EmitInputs, pool: ModelPool, number: int) -> EmittedArena:
    """The arena of a pool that models use in turn, or the part of the model of that number."""
    member = inputs.members[number]
    own = not pool.overlaid
    start = 0 if own else pool.offsets[number]
    held = [(start + offset, buffer) for offset, buffer in _held(member, pool)]
    size = pool.peaks[number] if pool.pool.constant else pool.part(number)
    return EmittedArena(
        pool=pool.pool,
        owner=member.name if own else "",
        name=f"{pool.pool} of {member.name}" if own and inputs.several else str(pool.pool),
        symbol=f"{_prefix(inputs, member, pool)}{identifier(str(pool.pool))}",
        visible=inputs.soc.memory(pool.memory).base is not None,
        bytes=round_up(size, inputs.soc.own_line(pool.memory)),
        alignment=pool.alignment,
        buffers=tuple(held),
    )


def _prefix(inputs: EmitInputs, member: Member, pool: ModelPool) -> str:
    """Constants have external linkage, and so their model's name; arenas have it where each model has one."""
    if pool.pool.constant:
        return f"{member.stem}_"
    return "" if pool.overlaid else inputs.prefix(member)
