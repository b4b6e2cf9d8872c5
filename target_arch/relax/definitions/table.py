"""The definitions by name, and what they cost."""

from collections.abc import Callable, Mapping, Sequence

from target_arch.plan.model import Attribute, Model, Operator
from target_arch.relax.definitions import matrices, movement, norms, pairs, reductions, resize, rows
from target_arch.relax.te.definition import Definition

DEFINITIONS: Mapping[str, Callable[[Operator, Model], Definition]] = {
    **movement.DEFINITIONS,
    **norms.DEFINITIONS,
    **pairs.DEFINITIONS,
    **matrices.DEFINITIONS,
    **reductions.DEFINITIONS,
    **resize.DEFINITIONS,
    **rows.DEFINITIONS,
}


def definition(operator: Operator, model: Model) -> Definition:
    """The definition that an operator of kind `defined` names. ValueError for a name that is not known."""
    name = str(operator.attributes.get("operator", ""))
    if name not in DEFINITIONS:
        raise ValueError(f"`{operator.id}`: there is no definition `{name}`")
    return DEFINITIONS[name](operator, model)


def macs_per_output(name: str, shapes: Sequence[tuple[int, ...]], attributes: Mapping[str, Attribute]) -> int:
    """Multiply-accumulates of each output element of a definition; 0 where it sums no products. `shapes` are
    those of the operands.
    """
    return matrices.macs_per_output(shapes, attributes) if name in matrices.DEFINITIONS else 0
