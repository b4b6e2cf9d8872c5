"""Operators on some columns of their images: which columns each tensor needs, and the operators as they are
for those alone.

Where a tensor has more columns than an operator needs, a window begins behind the first one: its padding is
negative. Kernels take that, definitions do not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from target_arch.backends.plain_c.regions.linewise import FusedOperators, Rowwise, lines_of
from target_arch.backends.plain_c.regions.units import rowwise
from target_arch.backends.plain_c.regions.windows import across_of
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.window import Window
from target_arch.plan.regions.cut import Axis, AxisPart
from target_arch.plan.regions.lines import LineWindow, TensorLines
from target_arch.soc.words import InstructionSet

_COLUMNS = 2
"""The axis of an image."""

Fused = Sequence[Operator]
"""An operator, or it and the addition after it."""


@frozen(kw_only=True)
class NarrowUnit:
    """Fused operators on some columns: their C, the tensors that it reads and makes, and the bytes of a row
    that it skips in each that it reads.
    """

    code: Rowwise
    unit: FusedOperators
    skipped: tuple[int, ...]


@define(kw_only=True, eq=False)
class Narrowing:
    """Makes operators of a model narrow, each once for the same sizes and padding."""

    model: Model
    isa: InstructionSet
    _known: dict[tuple[object, ...], Rowwise | None] = field(factory=dict, repr=False)

    def windows(self, fused: Fused) -> tuple[tuple[str, Window], ...] | None:
        """The columns that operators need of each tensor that they read; None where they do not go from
        images to an image.
        """
        first = across_of(fused[0], self.model)
        name, *names = self._operands(fused)
        if first is None or not all(self._is_image(each) for each in (name, *names, fused[-1].output)):
            return None
        return ((name, first), *((each, Window.equal(self._columns(each))) for each in names))

    def columns(self, fused: Sequence[Fused], made: AxisPart) -> dict[str, AxisPart] | None:
        """The columns of each tensor that operators need for those of the last output: all of a tensor that
        they find whole. None where some do not go from images to an image, or need nothing but padding.
        """
        parts = {fused[-1][-1].output: made}
        for operators in reversed(fused):
            windows, own = self.windows(operators), parts[operators[-1].output]
            if windows is None:
                return None
            for name, window in windows:
                needed = window.needed(own.range)
                if not needed:
                    return None
                span = AxisPart(start=needed.start, end=needed.stop, of=window.extent)
                parts[name] = span.joined(parts.get(name, span))
        inside = {operators[-1].output for operators in fused}
        return {name: some if name in inside else some.whole for name, some in parts.items()}

    def unit(self, fused: Fused, columns: Mapping[str, AxisPart]) -> NarrowUnit | None:
        """Operators on the columns of each tensor that are there; None where nothing computes their rows."""
        windows, made, names = self.windows(fused), columns[fused[-1].output], self._operands(fused)
        assert windows is not None
        across = [window for _, window in windows]
        widths = [made.count] * len(names)
        skipped = [(made.start - columns[name].start) * self._pixel(name) for name in names]
        first = fused[0]
        if not first.facts.elementwise:
            widths[0], skipped[0] = columns[names[0]].count, 0
            first = _padded(first, across[0], made, columns[names[0]])
        rows = self._rowwise([first, *fused[1:]], names, widths, made.count)
        if rows is None:
            return None
        reads = (
            LineWindow(tensor=self._lines(name, columns[name]), along=read.along, across=window)
            for read, name, window in zip(rows.unit.reads, names, across, strict=True)
        )
        image = self._lines(fused[-1].output, made)
        return NarrowUnit(
            code=rows, unit=evolve(rows.unit, reads=tuple(reads), image=image), skipped=tuple(skipped)
        )

    def _rowwise(
        self, fused: Fused, names: Sequence[str], widths: Sequence[int], made: int
    ) -> Rowwise | None:
        padding = fused[0].attributes.get("padding")
        key = (*(operator.id for operator in fused), padding, *widths, made)
        if key not in self._known:
            constants = (name for operator in fused for name in operator.constants)
            tensors = {name: self.model.tensors[name] for name in constants}
            for name in (operator.output for operator in fused):
                tensors[name] = self._cut(name, made)
            # A convolution whose input is added to its output sees all its columns: the first read counts.
            for name, width in [*zip(names, widths, strict=True)][::-1]:
                tensors[name] = self._cut(name, width)
            after = fused[1] if len(fused) > 1 else None
            narrow = evolve(self.model, tensors=tensors)
            self._known[key] = rowwise(fused[0], after, narrow, Axis.ROWS, self.isa)
        return self._known[key]

    def _operands(self, fused: Fused) -> list[str]:
        """The tensors that operators read, without the one between them."""
        return [name for operator in fused for name in operator.inputs if name != fused[0].output]

    def _lines(self, name: str, part: AxisPart) -> TensorLines:
        return evolve(lines_of(self._cut(name, part.count), Axis.ROWS), part=part)

    def _cut(self, name: str, columns: int) -> Tensor:
        return self.model.tensors[name].with_extent(_COLUMNS, columns)

    def _columns(self, name: str) -> int:
        return self.model.tensors[name].shape[_COLUMNS]

    def _is_image(self, name: str) -> bool:
        shape = self.model.tensors[name].shape
        return len(shape) == 4 and shape[0] == 1

    def _pixel(self, name: str) -> int:
        tensor = self.model.tensors[name]
        return tensor.bytes // (tensor.shape[1] * tensor.shape[_COLUMNS])


def _padded(operator: Operator, window: Window, made: AxisPart, there: AxisPart) -> Operator:
    """The operator with the padding of columns `made` of its output before and behind those `there`."""
    attributes: dict[str, Any] = dict(operator.attributes)
    top, _, bottom, _ = attributes.get("padding", (0, 0, 0, 0))
    part = window.part(made.range, there.range)
    if part.before or part.after or "padding" in attributes:
        attributes["padding"] = (top, part.before, bottom, part.after)
    return evolve(operator, attributes=attributes)
