"""The last pass over a laid-out model: reshapes that cost nothing are removed, and operators and tensors get
their final names.
"""

from collections.abc import Mapping

from attrs import evolve

from target_arch.plan.model import Operator, Tensor
from target_arch.plan.operators.facts import Aliasing, OutputShape

Tidied = tuple[list[Operator], dict[str, Tensor], dict[str, str]]


def without_reshapes(
    operators: list[Operator], tensors: Mapping[str, Tensor], outputs: tuple[str, ...]
) -> tuple[list[Operator], dict[str, Tensor]]:
    """Let an operator whose output may have any shape write the shape that its only reader needs."""
    readers: dict[str, int] = {}
    for operator in operators:
        for name in operator.inputs:
            readers[name] = readers.get(name, 0) + 1
    place = {operator.output: index for index, operator in enumerate(operators)}
    kept: list[Operator | None] = list(operators)
    found = dict(tensors)
    for index, operator in enumerate(operators):
        source = operator.inputs[0] if operator.inputs else ""
        before = kept[place[source]] if source in place else None
        if operator.facts.aliasing is not Aliasing.WHOLE or before is None:
            continue
        if before.facts.output_shape is not OutputShape.FREE:
            continue
        if readers[source] != 1 or source in outputs:
            continue
        kept[index] = None
        kept[place[source]] = evolve(before, output=operator.output)
        place[operator.output] = place[source]
        del found[source]
    return [operator for operator in kept if operator is not None], found


def named(
    operators: list[Operator],
    tensors: Mapping[str, Tensor],
    inputs: tuple[str, ...],
    outputs: Mapping[str, str],
) -> Tidied:
    """Operators, tensors and the map from old to new operator ids.

    An operator is called after its kind and place, its tensors after it, inputs stay, and outputs get the
    names that `outputs` maps their present ones to.
    """
    ids = {operator.id: f"{operator.kind}_{index}" for index, operator in enumerate(operators)}
    names: dict[str, str] = {name: name for name in inputs}
    for operator in operators:
        new = ids[operator.id]
        for name in operator.constants:
            names[name] = f"{new}{name.removeprefix(operator.id)}"
        names[operator.output] = outputs.get(operator.output, f"{new}_out")
    renamed = [_renamed(operator, ids[operator.id], names) for operator in operators]
    kept = {new: tensors[old] for old, new in names.items()}
    found = {
        name: tensor if tensor.name == name else evolve(tensor, name=name) for name, tensor in kept.items()
    }
    return renamed, found, ids


def _renamed(operator: Operator, id: str, names: Mapping[str, str]) -> Operator:
    inputs = tuple(names[name] for name in operator.inputs)
    output = names[operator.output]
    same = (operator.id, operator.inputs, operator.output) == (id, inputs, output)
    if same and operator.location:  # so are its constants, which are called after it
        return operator
    return evolve(
        operator,
        id=id,
        inputs=inputs,
        constants=tuple(names[name] for name in operator.constants),
        output=output,
        location=operator.location or f"between the layouts of {names[operator.inputs[0]]}",
    )
