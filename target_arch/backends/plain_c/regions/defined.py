"""Operators whose C follows from their definition: pools, elementwise operators, and convolutions and dense
layers that no kernel computes.

The C of a line is that of the same operator on a tensor of the lines that it needs. Its padding is what of
its window is outside the whole image, so lines at the rims have functions of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels.pick import defined as work_of_definition
from target_arch.backends.plain_c.kernels.text import Parameter
from target_arch.backends.plain_c.regions.linewise import (
    FusedOperators,
    TurnNames,
    Turns,
    line_axis,
    lines_of,
)
from target_arch.backends.plain_c.regions.windows import window_of
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import DTYPE_BYTES, Model, Operator, Tensor
from target_arch.plan.operators.facts import Lowering
from target_arch.plan.regions.cut import Axis
from target_arch.plan.regions.lines import LineWindow
from target_arch.relax.c.expressions import UnprintableError
from target_arch.relax.lower.operators import LoweredOperator, lower_operator
from target_arch.soc.words import InstructionSet

_RIMS = 17
"""Functions of an operator at most."""
_WORD = 4
"""Bytes to which lines are aligned: no element is larger."""
_ROW, _TURN = 40, 60
"""Instructions for each row and for each turn, estimated from the C."""
_SHARE = 0.04
"""The part by which rows take longer than the whole: regions of ic_resnet_fp32 took 2 and 6 % more on an
emulated Cortex-M7, their sums included.
"""

_Clip = tuple[int, int]
"""Rows of a window above the image, and below it."""


@frozen(kw_only=True)
class Defined:
    """An operator as C calls it: the functions of rows by their number, and the one of all other rows."""

    unit: FusedOperators
    given: tuple[Tensor, ...]
    """Its constants, in the order of the functions."""
    packed: tuple[Tensor, ...]
    usual: CFunction
    others: Mapping[int, CFunction]
    cycles: float
    """The instructions of the whole operator, by estimate."""

    @property
    def inside(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(name=f"c{number}_", dtype=tensor.dtype) for number, tensor in enumerate(self.given)
        )

    @property
    def constants(self) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self.given)

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(header for each in self._all for header in each.headers))

    def functions(self, turns: Turns) -> tuple[CFunction, ...]:
        return self._all

    @property
    def _all(self) -> tuple[CFunction, ...]:
        return tuple({each.name: each for each in (*self.others.values(), self.usual)}.values())

    def more(self, turns: Turns) -> float:
        return _SHARE * self.cycles + self.unit.image.lines * _ROW + sum(turns.values()) * _TURN

    def constant(self, names: TurnNames) -> Iterator[str]:
        yield from ()

    def call(self, names: TurnNames) -> Iterator[str]:
        row = self.unit.image.line_bytes
        yield f"for (int32_t y = {names.own}.done; y < to; ++y) {{"
        yield f"    int8_t *const row = {names.place} + (y - {names.own}.done) * {row};"
        if not self.others:
            yield f"    {self._called(self.usual, names)}"
        else:
            yield "    switch (y) {"
            for y, function in self.others.items():
                yield f"    case {y}:"
                yield f"        {self._called(function, names)}"
                yield "        break;"
            yield "    default:"
            yield f"        {self._called(self.usual, names)}"
            yield "        break;"
            yield "    }"
        yield "}"

    def _called(self, function: CFunction, names: TurnNames) -> str:
        """The call of a function for row `y`."""
        inside = (f"{each.name}{names.suffix}" for each in self.inside)
        reads = (_first(window, name) for window, name in zip(self.unit.reads, names.reads, strict=True))
        *given, out = function.parameters
        rows = (f"{cast(kind)}{row}" for kind, row in zip(given, reads, strict=False))
        return f"{function.name}({', '.join((*rows, *inside, f'{cast(out)}row'))});"


def _first(window: LineWindow, rows: str) -> str:
    """The place of the first row that row `y` of the output needs."""
    along = window.along
    first = "y" if along.stride == 1 else f"y * {along.stride}"
    if not along.before:
        return f"ta_rows_at(&{rows}, {first})"
    first = f"{first} - {along.before}"
    return f"ta_rows_at(&{rows}, {first} < 0 ? 0 : {first})"


def cast(kind: str) -> str:
    """From a pointer to int8 to that of a parameter."""
    if "int8_t" in kind and "uint8_t" not in kind:
        return ""
    return f"({kind})({'const ' if kind.startswith('const') else ''}void *)"


def defined(operator: Operator, model: Model, axis: Axis, isa: InstructionSet) -> Defined | None:
    """The operator by its definition; None where its lines depend on others than those of a window."""
    windows = _windows(operator, model, axis)
    if windows is None or operator.lowering is not Lowering.DEFINITION:
        return None
    attributes: Any = operator.attributes
    if min(attributes.get("padding", (0,))) < 0:
        return None
    image = lines_of(model.tensors[operator.output], axis)
    clips = [_clip(windows[0], line) for line in range(image.lines)]
    if len(set(clips)) > _RIMS or any(sum(clip) >= windows[0].along.reach for clip in clips):
        return None
    lowered = {clip: _lowered(operator, model, windows[0], clip, axis) for clip in dict.fromkeys(clips)}
    usual = max(lowered, key=clips.count)
    functions = [_function(lowered[clip], lowered[usual]) for clip in clips]
    made = lowered[usual]
    if made is None or any(function is None for function in functions):
        return None
    packed = tuple(constant.tensor(operator) for constant in made.packed)
    return Defined(
        unit=FusedOperators(operators=(operator.id,), reads=windows, image=image),
        given=(*(model.tensors[name] for name in operator.constants), *packed),
        packed=packed,
        usual=made.function,
        others={
            row: function
            for row, function in enumerate(functions)
            if function is not None and function.name != made.function.name
        },
        cycles=cycles(work_of_definition(operator, model), isa),
    )


def _windows(operator: Operator, model: Model, axis: Axis) -> tuple[LineWindow, ...] | None:
    """The window in each input; None where they are no images that are walked side by side."""
    out = model.tensors[operator.output]
    inputs = [model.tensors[name] for name in operator.inputs]
    if not inputs or any(DTYPE_BYTES[tensor.dtype] > _WORD for tensor in (*inputs, out)):
        return None
    window = window_of(operator, model, axis)
    if window is None:
        return None
    if operator.facts.elementwise and not _side_by_side(operator, inputs, out, model):
        return None
    return (window, *(LineWindow.equal(lines_of(tensor, axis)) for tensor in inputs[1:]))


def _side_by_side(operator: Operator, inputs: Sequence[Tensor], out: Tensor, model: Model) -> bool:
    """Whether all elements of a row come from the same rows, and constants are those of channels."""
    constants = (model.tensors[name].shape for name in operator.constants)
    return all(tensor.shape == out.shape for tensor in inputs) and all(
        prod(shape) == shape[-1] for shape in constants if shape
    )


def _clip(window: LineWindow, line: int) -> _Clip:
    line_only = range(line, line + 1)
    part = window.along.part(line_only, window.along.needed(line_only))
    return part.before, part.after


def _lowered(
    operator: Operator, model: Model, window: LineWindow, clip: _Clip, axis: Axis
) -> LoweredOperator | None:
    """The operator for one line of its output, of an image of the lines that it needs."""
    lines = window.along.reach - sum(clip)
    tensors = {
        **{name: model.tensors[name] for name in operator.constants},
        **{name: _cut(model.tensors[name], lines, axis) for name in operator.inputs},
        operator.output: _cut(model.tensors[operator.output], 1, axis),
    }
    attributes: dict[str, Any] = dict(operator.attributes)
    if "padding" in attributes:
        top, left, bottom, right = attributes["padding"]
        rows = axis is Axis.ROWS
        attributes["padding"] = (clip[0], left, clip[1], right) if rows else (top, clip[0], bottom, clip[1])
    try:
        return lower_operator(evolve(operator, attributes=attributes), evolve(model, tensors=tensors))
    except (ValueError, UnprintableError):
        return None


def _cut(tensor: Tensor, lines: int, axis: Axis) -> Tensor:
    """The tensor with so many lines."""
    place = line_axis(tensor, axis)
    assert place is not None
    return tensor.with_extent(place, lines)


def _function(lowered: LoweredOperator | None, usual: LoweredOperator | None) -> CFunction | None:
    """The function, if it needs no scratch and has the constants of the usual one."""
    if lowered is None or usual is None or lowered.scratch or lowered.packed != usual.packed:
        return None
    return lowered.function
