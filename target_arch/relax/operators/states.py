"""Pairs of an input and an output of a program that are one value from run to run: states of its model."""

from collections.abc import Sequence

from attrs import evolve, field, frozen

from target_arch.plan.model import Model, State, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.operators.moved import moved, unused


@frozen(kw_only=True)
class StatePair:
    """Output number `output` of a run is input number `input` of the next one.

    `initial` are the bytes of the first run's input; None for zeros. `asked` where the model's file has them
    as an input and an output, and the user says that they are a state.
    """

    input: int
    output: int
    initial: bytes | None = field(default=None, repr=False)
    asked: bool = False


def with_states(model: Model, pairs: Sequence[StatePair], outputs: Sequence[str]) -> Model:
    """The model with these inputs and outputs as states; `outputs` are its output tensors by their numbers.

    A next value that no operator makes, and a state that is an output, are copied, so that each next value
    and each output has bytes of its own.
    """
    if not pairs:
        return model
    tensors, operators = dict(model.tensors), list(model.operators)
    gone = {pair.output for pair in pairs}
    left = tuple(name for number, name in enumerate(outputs) if number not in gone)
    made = {operator.output for operator in operators if operator.kind is not OperatorKind.STORE}
    states: list[State] = []
    for pair in pairs:
        tensor, value = model.inputs[pair.input], outputs[pair.output]
        place = f"state {tensor}"
        if value not in made:
            value = moved(OperatorKind.RESHAPE, value, f"{tensor}_moved", place, tensors, operators)
        later = moved(OperatorKind.STORE, value, f"{tensor}_next", place, tensors, operators)
        initial = _initial(tensor, pair.initial, tensors)
        numbers = (pair.input, pair.output) if pair.asked else None
        states.append(State(tensor=tensor, next=later, initial=initial, pair=numbers))
    held = {state.tensor for state in states}
    found = {
        name: moved(OperatorKind.RESHAPE, name, f"{name}_out", f"state {name}_out", tensors, operators)
        for name in dict.fromkeys(left)
        if name in held
    }
    return evolve(
        model,
        inputs=tuple(name for name in model.inputs if name not in held),
        outputs=tuple(found.get(name, name) for name in left),
        states=tuple(states),
        tensors=tensors,
        operators=tuple(sorted(operators, key=lambda operator: operator.kind is OperatorKind.STORE)),
    )


def _initial(tensor: str, data: bytes | None, tensors: dict[str, Tensor]) -> str | None:
    """The constant tensor with these bytes; None for zeros."""
    if data is None or not any(data):
        return None
    name = unused(f"{tensor}_initial", tensors)
    tensors[name] = evolve(tensors[tensor], name=name, data=data)
    return name
