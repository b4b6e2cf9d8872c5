"""Constants that kernels packed and that have equal bytes are one: slices of an operator bring each the
weights of all.
"""

from attrs import define, evolve, field

from target_arch.plan.kernels import Call, Kernel, Move, Slice


@define(eq=False)
class EqualConstants:
    """The constants of the kernels so far, by their bytes."""

    _names: dict[tuple[bytes, str], str] = field(factory=dict, repr=False)

    def renamed(self, kernel: Kernel) -> Kernel:
        """The kernel with the names that its constants have in earlier kernels."""
        if kernel.stand_in is not None:
            return kernel
        names: dict[str, str] = {}
        for tensor in kernel.constants:
            assert tensor.data is not None
            name = self._names.setdefault((tensor.data, tensor.dtype), tensor.name)
            if name != tensor.name:
                names[tensor.name] = name
        if not names:
            return kernel
        constants = {names.get(each.name, each.name): each for each in kernel.constants}
        return evolve(
            kernel,
            constants=tuple(evolve(tensor, name=name) for name, tensor in constants.items()),
            actions=tuple(_renamed(action, names) for action in kernel.actions),
        )


def _renamed(action: Move | Call, names: dict[str, str]) -> Move | Call:
    if isinstance(action, Move):
        return Move(source=_of(action.source, names), target=_of(action.target, names))
    operands = (
        operand.renamed(names[operand.of]) if operand.of in names else operand for operand in action.operands
    )
    return evolve(action, operands=tuple(operands))


def _of(part: Slice, names: dict[str, str]) -> Slice:
    return part.renamed(names[part.of]) if part.of in names else part
