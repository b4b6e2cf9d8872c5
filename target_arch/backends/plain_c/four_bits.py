"""Weights of 4 bits stay so where they are kept, and become bytes in scratch before the call that reads them.

Whatever the format of the model's file, and however a kernel packs its weights: a constant of int8 whose
values all are values of 4 bits is one. The goal `speed` keeps bytes.

Tests: `tests/backends/c/test_four_bits.py`.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from attrs import evolve, frozen

from target_arch.backend.contract import LoweringRequest
from target_arch.backend.lowering import DoesNotFit
from target_arch.backends.plain_c.kernels.text import Parameter, function
from target_arch.backends.plain_c.lower import Piece
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import Access, Call, CFunction, LocalBuffer, Operand
from target_arch.plan.model import Tensor
from target_arch.plan.products import in_four_bits
from target_arch.relax.c.codegen import scratch_memory

_GROUP = 8
"""Values of a group, which has half as many bytes."""


def with_four_bits(pieces: Iterable[Piece], request: LoweringRequest) -> Iterator[Piece]:
    """The pieces with such constants packed, where a memory has room for the bytes that they become. A
    region has its constants as bytes: it is made where room is scarce.
    """
    for piece in pieces:
        yield piece if request.goal is Goal.SPEED or piece.stripes else _packed(piece, request)


def _packed(piece: Piece, request: LoweringRequest) -> Piece:
    own = {tensor.name: tensor for tensor in piece.constants}
    changes = [_Widened.of(call, own, piece, request) for call in piece.calls]
    narrow = {name for each in changes for name in each.replaced}
    if not narrow:
        return piece
    return evolve(
        piece,
        functions=(*piece.functions, *(one for each in changes for one in each.functions)),
        constants=(
            *(tensor for tensor in piece.constants if tensor.name not in narrow),
            *(one for each in changes for one in each.constants),
        ),
        buffers=(*piece.buffers, *(one for each in changes for one in each.buffers)),
        calls=tuple(one for each in changes for one in each.calls),
    )


@frozen
class _Widened:
    """A call with what comes before it: the constants of 4 bits that stand for those `replaced`."""

    calls: tuple[Call, ...]
    replaced: tuple[str, ...] = ()
    functions: tuple[CFunction, ...] = ()
    constants: tuple[Tensor, ...] = ()
    buffers: tuple[LocalBuffer, ...] = ()

    @classmethod
    def of(cls, call: Call, own: Mapping[str, Tensor], piece: Piece, request: LoweringRequest) -> "_Widened":
        """The call of a piece, whose `own` constants are not the model's; alone where no memory has room."""
        whole = [each.of for each in call.operands if each.bytes is None and not each.offset]
        read = (own.get(name) or request.model.tensors.get(name) for name in dict.fromkeys(whole))
        narrow = [tensor for tensor in read if tensor is not None and in_four_bits(tensor)]
        groups = [-(-tensor.bytes // _GROUP) for tensor in narrow]
        touched = {each.of for each in call.operands}
        beside = sum(buffer.bytes for buffer in piece.buffers if buffer.name in touched)
        try:
            memory = scratch_memory(call.operator, request, beside + sum(groups) * _GROUP) if narrow else ""
        except DoesNotFit:
            narrow = []
        if not narrow:
            return cls((call,))
        names = [f"{call.operator}.{_short(each.name, call)}.4bits" for each in narrow]
        wide = {tensor.name: f"{name}.wide" for tensor, name in zip(narrow, names, strict=True)}
        functions = [_function(count) for count in groups]
        return cls(
            calls=(
                *(
                    _widening(one, name, f"{name}.wide", call)
                    for one, name in zip(functions, names, strict=True)
                ),
                evolve(
                    call,
                    operands=tuple(
                        each.renamed(wide[each.of]) if each.of in wide else each for each in call.operands
                    ),
                ),
            ),
            replaced=tuple(wide),
            functions=tuple(functions),
            constants=tuple(
                Tensor(name=name, shape=(len(data),), dtype="uint8", data=data)
                for name, tensor in zip(names, narrow, strict=True)
                for data in (nibbles(tensor.data or b""),)
            ),
            buffers=tuple(
                LocalBuffer(name=f"{name}.wide", bytes=count * _GROUP, memory=memory)
                for name, count in zip(names, groups, strict=True)
            ),
        )


def _short(name: str, call: Call) -> str:
    return name.removeprefix(f"{call.operator}.")


def _widening(function: CFunction, narrow: str, wide: str, call: Call) -> Call:
    operands = (Operand(of=narrow, access=Access.READ), Operand(of=wide, access=Access.WRITE))
    return Call(function=function.name, operands=operands, operator=call.operator)


def nibbles(data: bytes) -> bytes:
    """Values of int8 in 4 bits each, as `runtime_c/kernels/s4_widen.h` reads them."""
    values = np.frombuffer(data, np.uint8) & 15
    groups = np.pad(values, (0, -values.size % _GROUP)).reshape(-1, 2, _GROUP // 2)
    packed: bytes = (groups[:, 0] | groups[:, 1] << 4).astype(np.uint8).tobytes()
    return packed


def _function(groups: int) -> CFunction:
    parameters = (
        Parameter(name="packed", dtype="uint8", shape=(groups * _GROUP // 2,)),
        Parameter(name="values", dtype="int8", written=True),
    )
    body = f"ta_s4_widen(packed, values, {groups});"
    return function("widen", parameters, (body,), ("kernels/s4_widen.h",))
