"""The parts of a program: transfers and runs, and the buffers they touch, which have no lifetimes yet."""

from collections.abc import Sequence
from math import lcm

from attrs import frozen

from target_arch.plan.kernels import LocalBuffer, Operand, Slice
from target_arch.plan.memory import Alias, BufferKind
from target_arch.soc.model import CopyPath


@frozen(kw_only=True)
class Transfer:
    """A copy over one path, cut into pieces that the path can carry."""

    path: CopyPath
    pieces: tuple[tuple[Slice, Slice], ...]
    partition: str

    def names(self) -> Sequence[str]:
        """The buffers it touches."""
        source, target = self.pieces[0]
        return source.of, target.of


@frozen(kw_only=True)
class Run:
    """A call on an instance. A stand-in for a partition that is not lowered yet has the memories that it may
    touch in `reserved`. A run with `copies` only copies bytes, see `plan.kernels.Call`.
    """

    partition: str
    operator: str
    instance: str
    function: str
    operands: tuple[Operand, ...]
    words: tuple[int, ...] = ()
    reserved: tuple[str, ...] = ()
    copies: bool = False

    def names(self) -> Sequence[str]:
        """The buffers it touches."""
        return [operand.of for operand in self.operands]


Item = Transfer | Run


@frozen(kw_only=True)
class Slot:
    """A buffer whose lifetime is not known yet."""

    name: str
    kind: BufferKind
    memory: str
    bytes: int
    alignment: int
    tensor: str | None = None
    partition: str | None = None
    """The partition of a local buffer."""
    aliases: tuple[Alias, ...] = ()
    replaces: str | None = None
    """The buffer of the state whose next value this is."""
    caller: bool = False
    """Whether its bytes are the caller's."""

    @property
    def settled(self) -> bool:
        """True where its bytes are never free for another buffer."""
        return self.caller or self.kind.settled


def local_slot(partition: str, buffer: LocalBuffer, alignment: int) -> Slot:
    """A local buffer of a kernel in a memory whose paths ask for that alignment."""
    return Slot(
        name=f"{partition}.{buffer.name}",
        kind=BufferKind.LOCAL,
        memory=buffer.memory,
        bytes=buffer.bytes,
        alignment=lcm(buffer.alignment, alignment),
        partition=partition,
    )
