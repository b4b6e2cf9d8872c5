"""Bytes over time: buffers, pools, budgets and the memory plan.

Offsets count from the start of an arena (`Arena`).

Time is counted in steps. A buffer is live from the step `first` to the step `last`, both included.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from attrs import field, frozen

from target_arch.soc.words import member_or_text


class IoOwner(StrEnum):
    """The owner of the bytes of model inputs and outputs: the arenas of the bundle, or the caller, who brings
    addresses to every run.
    """

    ARENA = "arena"
    CALLER = "caller"


def io_owner(text: str) -> IoOwner | str:
    """Converter: the owner of that name; another text as it is."""
    return member_or_text(IoOwner, text)


class BufferKind(StrEnum):
    """The content of a buffer: a model input or output, another tensor that the model computes, constants,
    bytes that one kernel needs for itself, a state as a run finds it, the value that the run leaves there, or
    constants that were copied there at `init` and stay.

    It is `settled` where its bytes are never free: those of constants, states and residents.
    """

    settled: bool

    INPUT = "input"
    OUTPUT = "output"
    ACTIVATION = "activation"
    CONSTANT = "constant"
    LOCAL = "local"
    STATE = "state"
    NEXT = "next state"
    RESIDENT = "resident"

    def __init__(self, text: str) -> None:
        self.settled = text in ("constant", "state", "next state", "resident")


def _kind(text: str) -> BufferKind:
    return text if isinstance(text, BufferKind) else BufferKind(text)


_CALLER = ".caller."


@frozen(order=True, cache_hash=True)
class Arena:
    """The static run of bytes that a bundle carves from a memory: `sram`; `constant`, `ddr.constants` for the
    read-only part that the linker fills; `state`, `sram.states` for what lives from run to run; `resident`,
    `tcm.residents` for constants that `init` copies there. With `caller`, the name of an input or output,
    `sram.caller.x`: its bytes are the caller's, wherever in that memory they are. In the order of its text,
    as names of memories are identifiers.
    """

    memory: str
    state: bool = field(default=False, kw_only=True)
    resident: bool = field(default=False, kw_only=True)
    constant: bool = field(default=False, kw_only=True)
    caller: str = field(default="", kw_only=True)

    @classmethod
    def named(cls, name: str, memory: str) -> "Arena":
        """The arena in that memory whose text is `name`."""
        lent = name.removeprefix(f"{memory}{_CALLER}")
        if lent != name:
            return cls(memory, caller=lent)
        found = (cls(memory, constant=True), cls(memory, state=True), cls(memory, resident=True))
        return next((each for each in found if str(each) == name), cls(memory))

    @property
    def shareable(self) -> bool:
        """True where bytes are free when a run is over, so that another model may have them in its turn."""
        return not (self.constant or self.state or self.resident or self.caller)

    def __str__(self) -> str:
        if self.caller:
            return f"{self.memory}{_CALLER}{self.caller}"
        parts = {".constants": self.constant, ".states": self.state, ".residents": self.resident}
        return self.memory + next((part for part, there in parts.items() if there), "")


@cache
def _arena(memory: str, kind: BufferKind, caller: str) -> Arena:
    return Arena(
        memory,
        state=kind in (BufferKind.STATE, BufferKind.NEXT),
        constant=kind is BufferKind.CONSTANT,
        resident=kind is BufferKind.RESIDENT,
        caller=caller,
    )


@frozen(kw_only=True)
class Alias:
    """A tensor without a buffer of its own: it is the bytes from `offset` on of the buffer of another."""

    tensor: str
    offset: int
    bytes: int


@frozen(kw_only=True)
class CallSpan:
    """Asynchronous calls of one timeline, from the step `first` to the step `last`. They run one after the
    other, so that bytes which only they touch are free for calls there that were issued before or are issued
    later, whatever is in flight.
    """

    timeline: str
    first: int
    last: int


@frozen(kw_only=True)
class Buffer:
    """Something that needs bytes.

    `over` are buffers of at least as many bytes that die where this one begins, and whose place it may take:
    they and it are live together in that one step, in which an element of them is read before the same
    element of this is written.

    `aliases` are further tensors that are bytes of it: the operands of a concatenation, a tensor in other
    shapes.

    `replaces` is, for the next value of a state, the buffer of the state: both have the same bytes, so that
    the next run finds the value there.

    `caller` where the bytes are the caller's, in an arena of their own; then it is an input or an output of
    the model; with frames in flight `turn` is the number of the round that starts the frame whose it is.

    `calls` where only these touch it, and it is live longer than they are issued: until the wait for them.
    """

    name: str
    kind: BufferKind = field(converter=_kind)
    memory: str
    bytes: int
    alignment: int
    first: int
    last: int
    tensor: str | None = None
    over: tuple[str, ...] = ()
    aliases: tuple[Alias, ...] = ()
    replaces: str | None = None
    caller: bool = False
    turn: int | None = None
    calls: CallSpan | None = None
    arena: Arena = field(init=False, eq=False, repr=False)
    """The arena that holds the buffer."""

    @arena.default
    def _own_arena(self) -> Arena:
        return _arena(self.memory, self.kind, self._lent if self.caller else "")

    @property
    def _lent(self) -> str:
        """The name of the caller's memory."""
        name = self.tensor or self.name
        return name if self.turn is None else f"{name}#{self.turn}"

    @property
    def settled(self) -> bool:
        """True where its bytes are never free for another buffer."""
        return self.caller or self.kind.settled

    def overlaps(self, other: "Buffer") -> bool:
        """True where both are live in some step."""
        return self.first <= other.last and other.first <= self.last


@frozen(kw_only=True)
class PoolBudget:
    """The bytes of one pool for one call: capacity = live + remaining; `guaranteed` is one block of the
    rest.
    """

    memory: str
    live: int
    remaining: int
    guaranteed: int
    used: int | None = None

    @property
    def gap(self) -> int:
        """Remaining bytes that are not promised: alignment, gaps, and bytes cut off by a limit."""
        return self.remaining - self.guaranteed


@frozen(kw_only=True)
class Budget:
    """The bytes that a partition about to be lowered may use, per call site (operator id) and pool."""

    partition: str
    sites: Mapping[str, tuple[PoolBudget, ...]]

    def guaranteed(self, site: str, memory: str) -> int:
        """Contiguous bytes of the memory promised at a call site; 0 where the memory is no pool."""
        return next((pool.guaranteed for pool in self.sites[site] if pool.memory == memory), 0)


@frozen(kw_only=True)
class MemoryPlan:
    """Byte offsets for every buffer.

    `peaks`, `bounds` and `shared` are per arena; a bound is the largest sum of live bytes, where each buffer
    has bytes of its own; `shared` is that sum where every buffer that may take another's place does. No plan
    takes less than `shared`. `in_place` are pairs of buffers: the first was given the place of the second.
    `found_by` says per arena how the offsets were found, `proven` names the arenas whose peak nothing can
    undercut.
    """

    buffers: tuple[Buffer, ...]
    offsets: Mapping[str, int] = field(repr=False)
    peaks: Mapping[Arena, int] = field(factory=dict)
    bounds: Mapping[Arena, int] = field(factory=dict)
    shared: Mapping[Arena, int] = field(factory=dict)
    in_place: tuple[tuple[str, str], ...] = ()
    found_by: Mapping[Arena, str] = field(factory=dict)
    proven: tuple[Arena, ...] = ()
