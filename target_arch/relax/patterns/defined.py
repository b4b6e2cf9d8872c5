"""Operators with definitions of their own, as a reader wrote them (`ir/defined.py`)."""

from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import MACS_PER_OUTPUT, Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.table import DEFINITIONS, macs_per_output
from target_arch.relax.ir.defined import ARITHMETIC, attributes_of
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import Draft, Match, Matcher

_ROOT = "call_dps_packed"


def defined() -> Matcher:
    """An operator that the reader of the model named by its definition."""
    return named(OperatorKind.DEFINED)


def named(kind: OperatorKind) -> Matcher:
    """An operator that the reader of the model named by its kind, or by a definition that is no kind yet."""
    call = is_op(f"relax.{_ROOT}")(wildcard(), wildcard())

    def build(match: Match) -> Draft | None:
        attributes = attributes_of(match.required("call"))
        if attributes is None:
            return None
        name = str(attributes["operator"])
        own = name in DEFINITIONS if kind is OperatorKind.DEFINED else name == kind
        return _draft(match, kind, attributes) if own else None

    return Matcher(roots=(_ROOT,), pattern=call, calls={"call": call}, build=build)


def _draft(match: Match, kind: OperatorKind, attributes: dict[str, Attribute]) -> Draft | None:
    call = match.required("call")
    operands = tuple(call.args[1].fields)
    inputs = tuple(operand for operand in operands if match.is_activation(operand))
    constants = [match.constant(operand) for operand in operands[len(inputs) :]]
    known: tuple[Constant, ...] = tuple(constant for constant in constants if constant is not None)
    if len(known) != len(constants):
        return None
    arithmetic = Arithmetic(str(attributes.pop(ARITHMETIC)))
    macs = macs_per_output(str(attributes["operator"]), [shape_of(each) for each in operands], attributes)
    if macs:
        attributes[MACS_PER_OUTPUT] = macs
    if kind is not OperatorKind.DEFINED:
        del attributes["operator"]
    return Draft(
        kind=kind,
        arithmetic=arithmetic,
        inputs=inputs,
        output=match.root,
        constants=known,
        attributes=attributes,
    )
