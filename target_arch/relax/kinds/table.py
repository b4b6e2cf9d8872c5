"""The forms of all kinds, checked against `target_arch.plan.operators`."""

from collections.abc import Iterable, Iterator, Mapping

from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Lowering
from target_arch.plan.operators.kinds import IncompleteTableError, OperatorKind, kind_of
from target_arch.relax.kinds import elementwise, functions, matrices, named, products, rows, windows
from target_arch.relax.kinds.form import Form
from target_arch.relax.te.definition import Definition, Tail


def joined(families: Iterable[Mapping[OperatorKind, Form]]) -> Mapping[OperatorKind, Form]:
    """The forms of all families. Raises IncompleteTableError with everything that is wrong with them."""
    found: dict[OperatorKind, Form] = {}
    faults: list[str] = []
    for family in families:
        faults += [f"`{kind}` stands in two families" for kind in family if kind in found]
        found |= family
    for kind in OperatorKind:
        faults += _faults(kind, found[kind]) if kind in found else [f"`{kind}` has no form"]
    if faults:
        raise IncompleteTableError("; ".join(faults))
    return found


def _faults(kind: OperatorKind, form: Form) -> Iterator[str]:
    lowering = kind.facts.lowering
    if (form.definition is not None) != (lowering is Lowering.DEFINITION):
        has = "no definition" if form.definition is None else "a definition"
        yield f"`{kind}` is lowered {lowering.value}, and has {has}"
    if (form.paired is not None) != kind.facts.weighted:
        has = "no form" if form.paired is None else "a form"
        yield f"`{kind}` computes {kind.facts.structure.value}, and has {has} with another operator after it"
    if bool(form.patterns) != (lowering not in (Lowering.TVM, Lowering.ONE_COPY)):
        yield f"`{kind}` is lowered {lowering.value}, and has {len(form.patterns)} patterns"


FORMS = joined(family.FORMS for family in (products, matrices, elementwise, functions, windows, rows, named))


def defined(kind: str, operator: Operator, model: Model) -> Definition:
    """The TE definition of that kind for an operator.

    ValueError where the kind has none, or where the operator's parameters have no exact form.
    """
    known = kind_of(kind)
    definition = FORMS[known].definition if isinstance(known, OperatorKind) else None
    if definition is None:
        raise ValueError(f"`{kind}` has no standard definition")
    return definition(operator, model)


def defined_with(operator: Operator, model: Model, tail: Tail) -> Definition:
    """The TE definition of a sum of products and of the operator after it. Raises as `defined` does."""
    kind = kind_of(operator.kind)
    paired = FORMS[kind].paired if isinstance(kind, OperatorKind) else None
    if paired is None:
        raise ValueError(f"`{operator.kind}` has no definition with another operator after it")
    return paired(operator, model, tail)
