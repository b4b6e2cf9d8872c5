"""Pools and elementwise operators by their definition: the C of some channels is that of the same operator on
an image that has these alone.
"""

from collections.abc import Iterator, Mapping
from math import prod

from attrs import evolve, field, frozen

from target_arch.backends.plain_c.kernels.pick import defined as work_of_definition
from target_arch.backends.plain_c.kernels.text import Parameter
from target_arch.backends.plain_c.regions.defined import cast
from target_arch.backends.plain_c.regions.linewise import BlockNames, FusedOperators, Turns
from target_arch.backends.plain_c.regions.windows import channels_unit
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Lowering, Structure
from target_arch.relax.c.expressions import UnprintableError
from target_arch.relax.lower.operators import lower_operator
from target_arch.soc.words import InstructionSet

_BLOCK = 60
"""Instructions for each call, estimated from the C."""
_SHARE = 0.04
"""The part by which channels take longer than the whole, as rows do."""


@frozen(kw_only=True)
class DefinedBlock:
    """One of them as C calls it."""

    unit: FusedOperators
    operator: Operator
    cycles: float
    model: Model = field(repr=False)

    @property
    def inside(self) -> tuple[Parameter, ...]:
        given = (self.model.tensors[name] for name in self.constants)
        return tuple(Parameter(name=f"c{number}_", dtype=each.dtype) for number, each in enumerate(given))

    @property
    def constants(self) -> tuple[str, ...]:
        return self.operator.constants

    @property
    def packed(self) -> tuple[Tensor, ...]:
        return ()

    @property
    def headers(self) -> tuple[str, ...]:
        return ()

    def functions(self, turns: Turns) -> tuple[CFunction, ...]:
        return tuple({each.name: each for each in self._by_count(turns).values()}.values())

    def more(self, turns: Turns) -> float:
        return _SHARE * self.cycles + sum(turns.values()) * _BLOCK

    def call(self, names: BlockNames, turns: Turns) -> Iterator[str]:
        usual, *others = self._by_count(turns).items()
        for count, function in others:
            yield f"if (some == {count}) {{"
            yield f"    {self._called(function, names)}"
            yield "} else {"
            yield f"    {self._called(usual[1], names)}"
            yield "}"
        if not others:
            yield self._called(usual[1], names)

    def _called(self, function: CFunction, names: BlockNames) -> str:
        x, *_, out = function.parameters
        of_channels = _of_channels(self.operator, self.model)
        constants = (
            f"{each.name}{names.suffix}{' + n' if name in of_channels else ''}"
            for each, name in zip(self.inside, self.constants, strict=True)
        )
        given = ", ".join((f"{cast(x)}{names.x}", *constants, f"{cast(out)}({names.out})"))
        return f"{function.name}({given});"

    def _by_count(self, turns: Turns) -> Mapping[int, CFunction]:
        """The function for each number of channels, of which there are two at most: the last may be fewer."""
        return {count: _function(self.operator, self.model, count) for count in turns}


def _of_channels(operator: Operator, model: Model) -> tuple[str, ...]:
    """The constants that have a value for each channel; tables of element-wise functions are for all."""
    if operator.facts.structure is Structure.ELEMENTWISE:
        return ()
    channels = model.tensors[operator.output].shape[-1]
    shapes = {name: model.tensors[name].shape for name in operator.constants}
    return tuple(name for name, shape in shapes.items() if prod(shape) == channels == shape[-1])


def defined_block(operator: Operator, model: Model, isa: InstructionSet) -> DefinedBlock | None:
    """The operator by its definition; None where its channels depend on others."""
    facts = operator.facts
    if operator.lowering is not Lowering.DEFINITION or len(operator.inputs) != 1:
        return None
    if facts.structure is not Structure.POOL and not facts.elementwise:
        return None
    unit = channels_unit(operator, None, None, model)
    if unit is None or unit.reads[0].tensor.lines != unit.image.lines:
        return None
    if facts.structure is not Structure.ELEMENTWISE:
        others = set(operator.constants) - set(_of_channels(operator, model))
        if any(prod(model.tensors[name].shape) != 1 for name in others):
            return None
    try:
        _function(operator, model, unit.image.lines)
    except (ValueError, UnprintableError):
        return None
    work = cycles(work_of_definition(operator, model), isa)
    return DefinedBlock(unit=unit, operator=operator, cycles=work, model=model)


def _function(operator: Operator, model: Model, channels: int) -> CFunction:
    """The C of so many channels. Raises ValueError where it needs more than its operands."""
    tensors = {name: model.tensors[name] for name in operator.constants}
    for name in (*operator.inputs, *_of_channels(operator, model), operator.output):
        tensors[name] = model.tensors[name].with_extent(-1, channels)
    lowered = lower_operator(operator, evolve(model, tensors=tensors))
    if lowered.scratch or lowered.packed:
        raise ValueError("it needs scratch or constants")
    return lowered.function
