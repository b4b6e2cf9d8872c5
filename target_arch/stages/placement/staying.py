"""The constants that a placement may count on to stay, before it is known which will."""

from target_arch.plan.model import Model
from target_arch.soc.model import SoC


def room_for_constants(model: Model, soc: SoC) -> frozenset[tuple[str, str]]:
    """Operators with instances whose largest memory has room for their constants beside the largest operands:
    the first operators of the model, as far as that goes. Every instance counts by itself.
    """
    found = set[tuple[str, str]]()
    beside = max((_operands(model, number) for number in range(len(model.operators))), default=0)
    for instance in soc.instances:
        room = max((soc.memory(name).size for name in instance.memory), default=0) - beside
        for operator in model.operators:
            size = sum(model.tensors[name].bytes for name in operator.constants)
            if size <= room and not instance.arch.host:
                found.add((operator.id, instance.name))
                room -= size
    return frozenset(found)


def _operands(model: Model, number: int) -> int:
    """The bytes of the inputs and the result of an operator."""
    operator = model.operators[number]
    return sum(model.tensors[name].bytes for name in {*operator.inputs, operator.output})
