"""The operands that an instance has in its own memories at once, while it computes a whole operator."""

from target_arch.plan.model import Model, Operator
from target_arch.soc.model import Instance, SoC
from target_arch.soc.words import OperandRule
from target_arch.stages.setting import Setting


def holds_operands(instance: Instance, setting: Setting) -> bool:
    """True away from the host where kernels touch whole tensors."""
    return not instance.arch.host and setting.is_function(instance.name)


def held(operator: Operator, instance: Instance, setting: Setting) -> tuple[str, ...]:
    """The operands that kernels away from the host, which touch whole tensors, have there at once, each once.
    None for the host and for engines that move tiles.
    """
    if not holds_operands(instance, setting):
        return ()
    names = [operator.output]
    if instance.arch.operands == OperandRule.IN_AND_OUT:
        names += [*operator.inputs, *operator.constants]
    return tuple(dict.fromkeys(names))


def held_bytes(operator: Operator, model: Model, instance: Instance, setting: Setting) -> int:
    """The bytes of the operands that are there at once."""
    return sum(model.tensors[name].bytes for name in held(operator, instance, setting))


def room(soc: SoC, instance: Instance) -> int:
    """The bytes of the memories of an instance."""
    return sum(soc.memory(name).size for name in instance.memory)
