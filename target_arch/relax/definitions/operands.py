"""The facts that every definition needs of its operator: operands as placeholders, attributes as numbers."""

from typing import Any

from attrs import frozen

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.relax.te.definition import Axes, Definition, one_by_one, placeholder, stage


@frozen(kw_only=True, eq=False)
class Operands:
    """An operator whose definition a reader named: operands in order, activations first, and output."""

    operator: Operator
    tensors: tuple[Tensor, ...]
    data: tuple[Any, ...]
    out: Tensor

    def number(self, name: str) -> int:
        """An attribute that is a whole number."""
        return self.operator.integer(name)

    def real(self, name: str) -> float:
        """An attribute that is a real number."""
        return self.operator.real(name)

    def numbers(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of whole numbers."""
        values: Any = self.operator.attributes[name]
        return tuple(int(value) for value in values)

    def text(self, name: str) -> str:
        """An attribute that is a word."""
        return str(self.operator.attributes[name])

    @property
    def axes(self) -> Axes:
        """The axes of the output, one of extent 1 for a scalar."""
        return axes_of(self.out.shape)

    def finished(
        self, element: Any, before: tuple[str, ...] = (), reductions: tuple[str, ...] = ()
    ) -> Definition:
        """The definition whose output has these elements; `before` are the stages it reads."""
        out = stage("out", self.axes, element)
        return Definition(arguments=(*self.data, out), schedule=one_by_one(before, reductions))


def operands_of(operator: Operator, model: Model) -> Operands:
    """The operands of an operator, scalars as arrays of one element."""
    tensors = tuple(model.tensors[name] for name in (*operator.inputs, *operator.constants))
    data = tuple(
        placeholder(tensor, tensor.shape or (1,), f"x{index}") for index, tensor in enumerate(tensors)
    )
    return Operands(operator=operator, tensors=tensors, data=data, out=model.tensors[operator.output])


def axes_of(shape: tuple[int, ...]) -> Axes:
    """Axes of a tensor in the author's order."""
    return tuple((f"i{index}", extent) for index, extent in enumerate(shape or (1,)))
