"""A subprogram without branches: the functions of its operators in NS-TIR, in the order in which they run."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from attrs import field, frozen

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Lowering
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.lower.fallback import OUTPUT, legal_function
from target_arch.relax.lower.lowering import lowered, scheduled
from target_arch.relax.lower.operators import definition_of, signature_of
from target_arch.relax.operators.program import RelaxProgram
from target_arch.relax.repeated.joined import joined


@frozen(kw_only=True, eq=False)
class Placed:
    """A function in NS-TIR and the tensors that are its parameters, the one it writes last."""

    function: Any = field(repr=False)
    tensors: tuple[str, ...]


@frozen(kw_only=True, eq=False)
class Straight:
    """Functions that run one after the other; all tensors by name, with their elements' number and type."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    calls: tuple[Placed, ...]
    constants: Mapping[str, np.ndarray[Any, Any]] = field(repr=False)
    sizes: Mapping[str, tuple[int, str]]


def straight(model: Model, program: RelaxProgram) -> Straight:
    """The operators of a model as functions. Raises ValueError or NotLegalizedError where one has none."""
    constants = {name: _values(each) for name, each in model.tensors.items() if each.data is not None}
    calls = []
    for operator in model.operators:
        for call, own in _calls(operator, model, program):
            calls.append(call)
            constants.update({each.name: _values(each) for each in own})
    return Straight(
        inputs=model.inputs,
        outputs=model.outputs,
        calls=tuple(calls),
        constants=constants,
        sizes={
            name: (prod(int(extent) for extent in parameter.shape), str(parameter.dtype))
            for call in calls
            for name, parameter in zip(call.tensors, call.function.params, strict=True)
        }
        | {name: (values.size, str(values.dtype)) for name, values in constants.items()}
        | {name: (prod(model.tensors[name].shape), model.tensors[name].dtype) for name in model.inputs},
    )


def _values(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.frombuffer(tensor.data or b"", np.dtype(tensor.dtype))


def _calls(
    operator: Operator, model: Model, program: RelaxProgram
) -> Iterator[tuple[Placed, tuple[Tensor, ...]]]:
    """The functions of an operator, with the constants that it has beside the model's."""
    if operator.kind is OperatorKind.CONCAT:
        yield (
            Placed(function=lowered(joined(operator, model)), tensors=(*operator.inputs, operator.output)),
            (),
        )
        return
    if operator.lowering is not Lowering.TVM:
        definition = definition_of(signature_of(operator, model))
        packed = tuple(each.tensor(operator) for each in definition.packed)
        own = (each.name for each in packed)
        tensors = (*operator.inputs, *operator.constants, *own, operator.output)
        yield Placed(function=lowered(scheduled(definition)), tensors=tensors), packed
        return
    legal = legal_function(program.alone(operator.id))
    known = {f"input{number}": name for number, name in enumerate(operator.inputs)}
    known[OUTPUT] = operator.output
    constants = tuple(_renamed(each, operator) for each in legal.constants)
    for call in legal.calls:
        names = (known.get(name, f"{operator.id}.{name}") for name in (*call.reads, *call.writes))
        yield Placed(function=lowered(call.function), tensors=tuple(names)), constants


def _renamed(tensor: Tensor, operator: Operator) -> Tensor:
    return Tensor(
        name=f"{operator.id}.{tensor.name}", shape=tensor.shape, dtype=tensor.dtype, data=tensor.data
    )
