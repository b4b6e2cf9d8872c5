"""The definitions by name."""

from collections.abc import Callable, Mapping

from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions import lookup, movement, pairs, products, reductions, resize, rows
from target_arch.relax.te.definition import Definition

DEFINITIONS: Mapping[str, Callable[[Operator, Model], Definition]] = {
    **lookup.DEFINITIONS,
    **movement.DEFINITIONS,
    **pairs.DEFINITIONS,
    **products.DEFINITIONS,
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
