"""Tensors that are inside the buffers of others, for the checker alone: the equal bytes that the model
implies, and which step writes which of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.model import DTYPE_BYTES, Model, Operator
from target_arch.plan.operators.facts import Aliasing
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.steps import Copy, Dispatch
from target_arch.soc.model import SoC

CALLER, LEND, RESET = "caller", "lend", "reset"
"""Partition and operators of the steps by which the caller lends memory, or gives states their initial
values: no result is in them yet.
"""


@frozen(kw_only=True)
class EqualBytes:
    """A fact of the model: the bytes of `whole` from `offset` on are those of `tensor`."""

    tensor: str
    whole: str
    offset: int


def parts(model: Model) -> tuple[EqualBytes, ...]:
    """The tensors that reshapes, concatenations and slices make parts of others: an operand of a
    concatenation is a run of bytes where all dimensions before the axis are 1.
    """
    found: list[EqualBytes] = []
    for operator in model.operators:
        if operator.facts.aliasing is Aliasing.WHOLE:
            found.append(EqualBytes(tensor=operator.inputs[0], whole=operator.output, offset=0))
        elif operator.facts.aliasing is Aliasing.SLICES:
            shape, axis = model.tensors[operator.output].shape, operator.attributes["axis"]
            offset = 0
            for name in operator.inputs if isinstance(axis, int) and prod(shape[:axis]) == 1 else ():
                found.append(EqualBytes(tensor=name, whole=operator.output, offset=offset))
                offset += model.tensors[name].bytes
        elif operator.kind is OperatorKind.SLICE:
            (name,), places = operator.inputs, sliced_places(operator, model)
            if (np.diff(places) == 1).all():
                offset = int(places[0]) * DTYPE_BYTES[model.tensors[name].dtype]
                found.append(EqualBytes(tensor=operator.output, whole=name, offset=offset))
    return tuple(found)


def sliced_places(operator: Operator, model: Model) -> NDArray[np.int64]:
    """The places in its input of the elements of a slice, row by row."""
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    every = zip(attributes["begin"], attributes["step"], out, strict=True)
    along = [begin + step * np.arange(extent) for begin, step, extent in every]
    whole = np.arange(prod(x), dtype=np.int64).reshape(x)
    return whole[np.ix_(*along)].ravel()


class Holders:
    """The buffers that hold further tensors. Each of their bytes belongs to one operator."""

    def __init__(self, buffers: Iterable[Buffer]) -> None:
        self._holders = {buffer.name: buffer for buffer in buffers if buffer.aliases}
        self._owners = {name: np.zeros(b.bytes, dtype=np.int32) for name, b in self._holders.items()}
        self._writers: dict[tuple[str, str], int] = {}

    def resting(
        self, soc: SoC, plan: MemoryPlan, sizes: Mapping[str, int], parts: Iterable[EqualBytes]
    ) -> Iterator[tuple[str, str]]:
        """Rule and message for every tensor that cannot be where its buffer says so."""
        facts: dict[str, list[EqualBytes]] = {}
        for part in parts if self._holders else ():
            for name in (part.tensor, part.whole):
                facts.setdefault(name, []).append(part)
        for buffer in self._holders.values():
            place = plan.offsets.get(buffer.name, 0)
            yield from _faults(buffer, place, soc.is_of_cores(buffer.memory), facts, sizes)

    def write(self, part: Slice, step: Copy | Dispatch) -> str | None:
        """A step writes the slice; the operator or partition whose bytes it writes over, None for its own."""
        if part.of not in self._owners:
            return None
        who = (step.partition, step.operator if isinstance(step, Dispatch) else "")
        if who in ((CALLER, LEND), (CALLER, RESET)):
            return None
        number = self._writers.setdefault(who, len(self._writers) + 1)
        rows = part.offset + np.arange(part.rows) * part.stride
        places = (rows[:, None] + np.arange(part.row_bytes)).ravel()
        owners = self._owners[part.of]
        others = owners[places]
        others = others[(others != 0) & (others != number)]
        owners[places] = number
        if not others.size:
            return None
        partition, operator = next(who for who, number in self._writers.items() if number == int(others[0]))
        return operator or partition


def _faults(
    buffer: Buffer,
    place: int,
    anywhere: bool,
    facts: Mapping[str, list[EqualBytes]],
    sizes: Mapping[str, int],
) -> Iterator[tuple[str, str]]:
    """Faults of one buffer; its tensors may begin `anywhere`, or as aligned as it is."""
    known = _known(buffer, facts)
    for held in buffer.aliases:
        said = f"tensor `{held.tensor}` at {held.offset} of buffer `{buffer.name}`"
        if held.offset < 0 or held.offset + held.bytes > buffer.bytes:
            yield "out-of-bounds", f"{said} ends outside it"
        elif held.bytes != sizes.get(held.tensor, held.bytes):
            yield "wrong-size", f"{said} has {held.bytes:,} B for {sizes[held.tensor]:,} B"
        elif not anywhere and (place + held.offset) % buffer.alignment:
            yield "misaligned", f"{said} is not aligned to {buffer.alignment} B"
        elif (held.tensor, held.offset) not in known:
            yield "wrong-content", f"{said}: the model does not say that these bytes are equal"


def _known(buffer: Buffer, facts: Mapping[str, list[EqualBytes]]) -> set[tuple[str, int]]:
    """Tensors and offsets that follow from the tensor of the buffer itself, over those it holds.

    From a whole to its parts; back only where they are as long, as the rest of a whole is unknown. What is
    said of sizes may be wrong, and a whole be as long as a part of it: places end with the buffer.
    """
    size = {held.tensor: held.bytes for held in buffer.aliases} | {buffer.tensor or "": buffer.bytes}
    known = {(buffer.tensor or "", 0)}
    left = list(known)
    while left:
        name, offset = left.pop()
        parts_of = [(fact.tensor, offset + fact.offset) for fact in facts.get(name, ()) if fact.whole == name]
        alike = [(fact.whole, offset) for fact in facts.get(name, ()) if fact.tensor == name]
        alike = [(other, place) for other, place in alike if size.get(other) == size[name]]
        for other in (*parts_of, *alike):
            if other[0] in size and other[1] <= buffer.bytes and other not in known:
                known.add(other)
                left.append(other)
    return known
