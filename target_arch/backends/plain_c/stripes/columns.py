"""Images of one row, as convolutions over time have them, some columns at a time.

Stood upright, such an image has the same bytes, and its columns are rows: all that computes rows serves.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from attrs import evolve, frozen

from target_arch.backends.plain_c.stripes.regions import RowRegions
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.regions.region import Axis, Region
from target_arch.soc.words import InstructionSet

_PAIRS = ("kernel", "strides", "dilation")
"""Attributes (rows, columns)."""


@frozen(kw_only=True, slots=False)
class ColumnRegions:
    """The regions of a model on one core that run some columns of images of one row at a time."""

    model: Model
    isa: InstructionSet

    @cached_property
    def rows(self) -> RowRegions:
        """The regions of the model in which these images stand upright."""
        return RowRegions(model=_upright(self.model), isa=self.isa)

    def __call__(self, operators: Sequence[Operator], room: int) -> Iterator[Region]:
        """The ways to run exactly these neighbours as one call, see `Striping`."""
        if all(_turns(operator, self.model) for operator in operators):
            for region in self.rows(self.upright(operators), room):
                yield evolve(region, axis=Axis.COLUMNS)

    def upright(self, operators: Sequence[Operator]) -> list[Operator]:
        """These operators as they are in the model of `rows`."""
        return [self.rows.model.operator(operator.id) for operator in operators]


def _upright(model: Model) -> Model:
    """The model in which images of one row have one column."""
    tensors = {
        name: _turned(tensor, 1) if _is_row(tensor) else tensor for name, tensor in model.tensors.items()
    }
    operators = []
    for operator in model.operators:
        turns = _turns(operator, model)
        kernel = operator.facts.kernel_axes
        if turns and kernel is not None:
            weights = operator.constants[0]
            tensors[weights] = _turned(model.tensors[weights], kernel[0])
        operators.append(_turned_operator(operator) if turns else operator)
    return evolve(model, tensors=tensors, operators=tuple(operators))


def _is_row(tensor: Tensor) -> bool:
    return len(tensor.shape) == 4 and tensor.shape[:2] == (1, 1) and tensor.data is None


def _turns(operator: Operator, model: Model) -> bool:
    """Whether an operator goes from images of one row to such an image, and its weights have one row, too."""
    images = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    if not operator.inputs or not all(map(_is_row, images)):
        return False
    kernel = operator.facts.kernel_axes
    return kernel is None or model.tensors[operator.constants[0]].shape[kernel[0]] == 1


def _turned(tensor: Tensor, axis: int) -> Tensor:
    """The tensor with this axis and the next exchanged, of which one has one element: the same bytes."""
    shape = list(tensor.shape)
    shape[axis], shape[axis + 1] = shape[axis + 1], shape[axis]
    return evolve(tensor, shape=tuple(shape))


def _turned_operator(operator: Operator) -> Operator:
    attributes: dict[str, Any] = dict(operator.attributes)
    for name in _PAIRS:
        if name in attributes:
            rows, columns = attributes[name]
            attributes[name] = (columns, rows)
    if "padding" in attributes:
        top, left, bottom, right = attributes["padding"]
        attributes["padding"] = (left, top, right, bottom)
    return evolve(operator, attributes=attributes)
