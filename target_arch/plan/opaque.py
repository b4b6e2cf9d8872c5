"""How much of a model is in operators of which nothing is known but their tensors."""

from collections.abc import Mapping
from math import prod

from attrs import frozen

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import RELAX_OP, Lowering, Structure
from target_arch.plan.operators.kinds import OperatorKind


@frozen(kw_only=True)
class OpaqueShare:
    """The multiply-accumulates and elements written by opaque operators, of those of all; `elements_of` are
    the written elements by the name of the Relax operator, the most first. `called_macs` and
    `called_elements` are those of rows for which TVM has the only code: single calls of Relax operators.
    """

    macs: int
    all_macs: int
    elements: int
    all_elements: int
    elements_of: Mapping[str, int]
    called_macs: int = 0
    called_elements: int = 0

    def __str__(self) -> str:
        names = ", ".join(self.elements_of)
        opaque = f"opaque: {self._of(self.macs, self.elements)}: {names}" if names else "opaque: nothing"
        if not self.called_elements:
            return opaque
        return f"{opaque}; lowered by TVM alone: {self._of(self.called_macs, self.called_elements)}"

    def _of(self, macs: int, elements: int) -> str:
        products, written = _percent(macs, self.all_macs), _percent(elements, self.all_elements)
        return f"{products} of the multiply-accumulates, {written} of the elements"


def opaque_share(model: Model) -> OpaqueShare:
    """The share of operators without a row of their own, of kind `relax`, and of rows that TVM lowers."""
    opaque = [operator for operator in model.operators if _is_opaque(operator)]
    called = [each for each in model.operators if each.lowering is Lowering.TVM and not _is_opaque(each)]
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
        called_macs=sum(map(model.macs, called)),
        called_elements=sum(_elements(operator, model) for operator in called),
    )


def _is_opaque(operator: Operator) -> bool:
    own = isinstance(operator.kind, OperatorKind)
    return own and operator.facts.structure is Structure.OPAQUE


def _name(operator: Operator) -> str:
    return str(operator.attributes.get(RELAX_OP, operator.kind))


def _elements(operator: Operator, model: Model) -> int:
    return prod(model.tensors[operator.output].shape)


def _percent(some: int, every: int) -> str:
    return f"{100 * some / every:.1f} %" if every else "none"
