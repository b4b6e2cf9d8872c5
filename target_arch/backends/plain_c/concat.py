"""Concatenations: every operand goes to its slice of the result, by a call of its own or, where that pays, by
the operator that makes it.

A slice along the outermost axis that counts is one run of bytes; its call only copies, and is omitted where
the planner places the operand there. Any other slice is rows, a stride apart. A convolution, pool or dense
layer whose output has no other reader can write such rows itself.
"""

from collections.abc import Iterator, Sequence
from math import prod

from attrs import evolve, frozen

from target_arch.plan.kernels import Access, Operand
from target_arch.plan.model import DTYPE_BYTES, Model, Operator
from target_arch.plan.operators.facts import Aliasing, Structure
from target_arch.plan.products import is_hybrid

_WRITERS = (Structure.PRODUCTS, Structure.POOL)
"""Their definitions run over channels in the innermost loop."""


@frozen(kw_only=True)
class ConcatSlice:
    """The slice of a tensor `of` that an operand of a concatenation becomes: `rows` runs of `run` elements,
    `stride` elements apart, the first at the byte `offset`.
    """

    of: str
    offset: int
    run: int
    rows: int
    stride: int
    dtype: str

    def operand(self) -> Operand:
        """The slice as a written operand of a call."""
        size = DTYPE_BYTES[self.dtype]
        written = Operand(of=self.of, access=Access.WRITE, offset=self.offset, bytes=self.run * size)
        return written if self.rows == 1 else evolve(written, rows=self.rows, stride=self.stride * size)


def slots(operator: Operator, model: Model) -> tuple[ConcatSlice, ...]:
    """The slices of the operands of a concatenation, in their order."""
    out, axis = model.tensors[operator.output], operator.attributes["axis"]
    assert isinstance(axis, int)
    found: list[ConcatSlice] = []
    offset = 0
    for name in operator.inputs:
        run = prod(model.tensors[name].shape[axis:])
        found.append(
            ConcatSlice(
                of=out.name,
                offset=offset,
                run=run,
                rows=prod(out.shape[:axis]),
                stride=prod(out.shape[axis:]),
                dtype=out.dtype,
            )
        )
        offset += run * DTYPE_BYTES[out.dtype]
    return tuple(found)


def written_through(operators: Sequence[Operator], model: Model) -> dict[str, ConcatSlice]:
    """The outputs of operators that are to be written into the rows of a concatenation, all in one partition.

    A concatenation is alive from the first of them on. It is done only if the peak of live bytes, from there
    to the concatenation, does not grow.
    """
    makers = {operator.output: number for number, operator in enumerate(operators)}
    found: dict[str, ConcatSlice] = {}
    for number, operator in enumerate(operators):
        if operator.facts.aliasing is not Aliasing.SLICES:
            continue
        able = {
            name: slot
            for name, slot in zip(operator.inputs, slots(operator, model), strict=True)
            if slot.rows > 1
            and model.uses[name] == 1
            and name in makers
            and _writes_rows(operators[makers[name]], slot, model)
        }
        while able and not _pays(operators, number, [makers[name] for name in able], model):
            del able[min(able, key=makers.__getitem__)]
        found |= able
    return found


def _writes_rows(operator: Operator, slot: ConcatSlice, model: Model) -> bool:
    if is_hybrid(operator, model):
        return False
    return operator.facts.structure in _WRITERS and model.tensors[operator.output].shape[-1] == slot.run


def _pays(operators: Sequence[Operator], concat: int, makers: Sequence[int], model: Model) -> bool:
    """True if the peak of live bytes of these operators' results and operands does not grow."""
    first = min(makers)
    window = range(first, concat + 1)
    through = {operators[maker].output for maker in makers}
    whole = model.tensors[operators[concat].output].bytes
    before, after = [0] * len(window), [whole] * len(window)
    before[-1] = whole
    for name, start, stop in _lives(operators, window):
        for step in range(max(start, first), min(stop, concat) + 1):
            before[step - first] += model.tensors[name].bytes
            after[step - first] += 0 if name in through else model.tensors[name].bytes
    return max(after) <= max(before)


def _lives(operators: Sequence[Operator], window: range) -> Iterator[tuple[str, int, int]]:
    """First and last operator that touches each tensor alive in the window, except the output of the window's
    last operator.
    """
    lives: dict[str, tuple[int, int]] = {}
    for number, operator in enumerate(operators):
        for name in (*operator.inputs, operator.output):
            lives[name] = (lives[name][0] if name in lives else number, number)
    last = operators[window[-1]].output
    for name, (start, stop) in lives.items():
        if name != last and start <= window[-1] and stop >= window[0]:
            yield name, start, stop
