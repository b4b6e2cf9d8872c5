"""The definitions of each kind that has several, by name, and what they cost."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from target_arch.plan.model import Attribute, Model, Operator
from target_arch.plan.operators.facts import DEFINITION_NAME
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions import matrices, movement, norms, pairs, recurrent, reductions, resize
from target_arch.relax.te.definition import Definition

Define = Callable[[Operator, Model], Definition]

OF_KIND: Mapping[OperatorKind, Mapping[str, Define]] = MappingProxyType(
    {
        OperatorKind.REDUCE: reductions.DEFINITIONS,
        OperatorKind.ELEMENTWISE: pairs.DEFINITIONS,
        OperatorKind.NORMALIZE: norms.DEFINITIONS,
        OperatorKind.RESIZE: resize.DEFINITIONS,
        OperatorKind.PAD: movement.PADDED,
        OperatorKind.TILE: movement.REPEATED,
        OperatorKind.GATHER: movement.TAKEN,
        OperatorKind.SCATTER: movement.UPDATED,
        OperatorKind.PRODUCTS: matrices.DEFINITIONS,
        OperatorKind.RECURRENT: recurrent.DEFINITIONS,
    }
)
_COUNTED: Mapping[OperatorKind, Callable[[Sequence[tuple[int, ...]], Mapping[str, Attribute]], int]] = (
    MappingProxyType(
        {
            OperatorKind.PRODUCTS: matrices.macs_per_output,
            OperatorKind.RECURRENT: recurrent.macs_per_output,
        }
    )
)
"""The products of each output, of kinds whose definitions sum some."""
KINDS: Mapping[str, OperatorKind] = MappingProxyType(
    {name: kind for kind, definitions in OF_KIND.items() for name in definitions}
)
"""The kind of each definition."""


def definition(operator: Operator, model: Model) -> Definition:
    """The definition that an operator names. Raises ValueError for a name that its kind does not have."""
    name = str(operator.attributes.get(DEFINITION_NAME, ""))
    if KINDS.get(name) != operator.kind:
        raise ValueError(f"`{operator.id}`: `{operator.kind}` has no definition `{name}`")
    return OF_KIND[KINDS[name]][name](operator, model)


def macs_per_output(name: str, shapes: Sequence[tuple[int, ...]], attributes: Mapping[str, Attribute]) -> int:
    """Multiply-accumulates of each output element of a definition; 0 where it sums no products. `shapes` are
    those of the operands.
    """
    of_kind = {
        OperatorKind.PRODUCTS: matrices.macs_per_output,
        OperatorKind.RECURRENT: recurrent.macs_per_output,
    }
    counted = of_kind.get(KINDS[name])
    return 0 if counted is None else counted(shapes, attributes)
