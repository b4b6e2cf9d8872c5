"""How much of a model is in operators of which nothing is known but their tensors."""

from collections.abc import Mapping
from math import prod

from attrs import frozen

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.kinds import OperatorKind


@frozen(kw_only=True)
class OpaqueShare:
    """The multiply-accumulates and elements written by opaque operators, of those of all; `elements_of` are
    the written elements by the name of the Relax operator or of the definition, the most first.
    """

    macs: int
    all_macs: int
    elements: int
    all_elements: int
    elements_of: Mapping[str, int]

    def __str__(self) -> str:
        macs, elements = (
            _percent(some, every)
            for some, every in ((self.macs, self.all_macs), (self.elements, self.all_elements))
        )
        if not self.elements_of:
            return "opaque: nothing"
        names = ", ".join(self.elements_of)
        return f"opaque: {macs} of the multiply-accumulates, {elements} of the elements: {names}"


def opaque_share(model: Model) -> OpaqueShare:
    """The share of operators without a row of their own: kinds `relax` and `defined`."""
    opaque = [operator for operator in model.operators if _is_opaque(operator)]
    names: dict[str, int] = {}
    for operator in opaque:
        name = _name(operator)
        names[name] = names.get(name, 0) + _elements(operator, model)
    return OpaqueShare(
        macs=sum(map(model.macs, opaque)),
        all_macs=sum(map(model.macs, model.operators)),
        elements=sum(names.values()),
        all_elements=sum(_elements(operator, model) for operator in model.operators),
        elements_of=dict(sorted(names.items(), key=lambda item: (-item[1], item[0]))),
    )


def _is_opaque(operator: Operator) -> bool:
    own = isinstance(operator.kind, OperatorKind)
    return own and operator.facts.structure is Structure.OPAQUE


def _name(operator: Operator) -> str:
    return str(operator.attributes.get("relax_op", operator.attributes.get("operator", operator.kind)))


def _elements(operator: Operator, model: Model) -> int:
    return prod(model.tensors[operator.output].shape)


def _percent(some: int, every: int) -> str:
    return f"{100 * some / every:.1f} %" if every else "none"
