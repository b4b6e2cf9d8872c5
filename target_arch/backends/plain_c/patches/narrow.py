"""Operators on some columns of their images: which columns each tensor needs, and the operators as they are
for those alone.

Where a tensor has more columns than an operator needs, a window begins behind the first one: its padding is
negative. Kernels take that, definitions do not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from target_arch.backends.plain_c.stripes.rowwise import Rowwise, rows_of
from target_arch.backends.plain_c.stripes.schedule import FusedOperators
from target_arch.backends.plain_c.stripes.units import rowwise
from target_arch.backends.plain_c.stripes.windows import columns_of
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.window import Window
from target_arch.plan.regions.patches import Columns, ColumnWindow
from target_arch.soc.words import InstructionSet

_COLUMNS = 2
"""The axis of an image."""

Fused = Sequence[Operator]
"""An operator, or it and the addition after it."""


@frozen(kw_only=True)
class NarrowUnit:
    """Fused operators on some columns: their C, the tensors that it reads and makes, the columns that it
    needs of each that it reads, and the bytes of a row that it skips there.
    """

    code: Rowwise
    unit: FusedOperators
    reads: tuple[ColumnWindow, ...]
    skipped: tuple[int, ...]


@define(kw_only=True, eq=False)
class Narrowing:
    """Makes operators of a model narrow, each once for the same sizes and padding."""

    model: Model
    isa: InstructionSet
    _known: dict[tuple[object, ...], Rowwise | None] = field(factory=dict, repr=False)

    def windows(self, fused: Fused) -> tuple[ColumnWindow, ...] | None:
        """The columns that operators need of each tensor that they read; None where they do not go from
        images to an image.
        """
        out = fused[-1].output
        names = [name for operator in fused for name in operator.inputs if name != fused[0].output]
        first = columns_of(fused[0], self.model)
        if first is None or not all(self._is_image(name) for name in (*names, out)):
            return None
        return (first, *(self._equal(name) for name in names[1:]))

    def columns(self, fused: Sequence[Fused], made: Columns) -> dict[str, Columns] | None:
        """The columns of each tensor that operators need for those of the last output: all of a tensor that
        they find whole. None where some do not go from images to an image, or need nothing but padding.
        """
        found = {fused[-1][-1].output: made}
        for operators in reversed(fused):
            windows, own = self.windows(operators), found[operators[-1].output]
            if windows is None:
                return None
            for window in windows:
                needed = window.needed(own)
                if needed.count <= 0:
                    return None
                found[window.tensor] = needed.joined(found.get(window.tensor, needed))
        inside = {operators[-1].output for operators in fused}
        return {name: some if name in inside else some.whole for name, some in found.items()}

    def unit(self, fused: Fused, columns: Mapping[str, Columns]) -> NarrowUnit | None:
        """Operators on the columns of each tensor that are there; None where nothing computes their rows."""
        reads, made = self.windows(fused), columns[fused[-1].output]
        assert reads is not None
        widths = [made.count] * len(reads)
        skipped = [(made.start - columns[each.tensor].start) * self._pixel(each.tensor) for each in reads]
        first = fused[0]
        if not first.facts.elementwise:
            widths[0], skipped[0] = columns[reads[0].tensor].count, 0
            first = _padded(first, reads[0], made, columns[reads[0].tensor])
        rows = self._rowwise([first, *fused[1:]], reads, widths, made.count)
        if rows is None:
            return None
        there = (rows_of(self._cut(each.tensor, columns[each.tensor].count)) for each in reads)
        windows = (evolve(each, tensor=image) for each, image in zip(rows.unit.reads, there, strict=True))
        unit = evolve(rows.unit, reads=tuple(windows))
        return NarrowUnit(code=rows, unit=unit, reads=reads, skipped=tuple(skipped))

    def _rowwise(
        self, fused: Fused, reads: Sequence[ColumnWindow], widths: Sequence[int], made: int
    ) -> Rowwise | None:
        padding = fused[0].attributes.get("padding")
        key = (*(operator.id for operator in fused), padding, *widths, made)
        if key not in self._known:
            constants = (name for operator in fused for name in operator.constants)
            tensors = {name: self.model.tensors[name] for name in constants}
            for name in (operator.output for operator in fused):
                tensors[name] = self._cut(name, made)
            # A convolution whose input is added to its output sees all its columns: the first read counts.
            for read, width in [*zip(reads, widths, strict=True)][::-1]:
                tensors[read.tensor] = self._cut(read.tensor, width)
            after = fused[1] if len(fused) > 1 else None
            self._known[key] = rowwise(fused[0], after, evolve(self.model, tensors=tensors), self.isa)
        return self._known[key]

    def _cut(self, name: str, columns: int) -> Tensor:
        return self.model.tensors[name].with_extent(_COLUMNS, columns)

    def _equal(self, name: str) -> ColumnWindow:
        columns = self.model.tensors[name].shape[_COLUMNS]
        return ColumnWindow(tensor=name, along=Window(extent=columns, out=columns))

    def _is_image(self, name: str) -> bool:
        shape = self.model.tensors[name].shape
        return len(shape) == 4 and shape[0] == 1

    def _pixel(self, name: str) -> int:
        tensor = self.model.tensors[name]
        return tensor.bytes // (tensor.shape[1] * tensor.shape[_COLUMNS])


def _padded(operator: Operator, window: ColumnWindow, made: Columns, there: Columns) -> Operator:
    """The operator with the padding of columns `made` of its output before and behind those `there`."""
    attributes: dict[str, Any] = dict(operator.attributes)
    top, _, bottom, _ = attributes.get("padding", (0, 0, 0, 0))
    part = window.along.part(made.range, there.range)
    if part.before or part.after or "padding" in attributes:
        attributes["padding"] = (top, part.before, bottom, part.after)
    return evolve(operator, attributes=attributes)
