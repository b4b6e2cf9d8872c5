"""Operators as a reader named them, by their kind or by a definition of their own (`ir/defined.py`)."""

from collections.abc import Sequence
from typing import Any

from attrs import evolve
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Quantization
from target_arch.plan.operators.facts import MACS_PER_OUTPUT, Arithmetic, LayoutRule
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.table import KINDS, macs_per_output
from target_arch.relax.ir.defined import ARITHMETIC, OPERATOR, attributes_of, name_of, taken_grids
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import NHWC, Draft, Match, Matcher
from target_arch.relax.patterns.weights import stored_weights

_ROOT = "call_dps_packed"


def named(kind: OperatorKind) -> Matcher:
    """An operator that the reader of the model named by its kind, or by a definition of it."""
    call = is_op(f"relax.{_ROOT}")(wildcard(), wildcard())

    def build(match: Match) -> Draft | None:
        name = name_of(match.required("call"))  # before all attributes, which may have long tables
        return _draft(match, kind) if name is not None and KINDS.get(name, name) == kind else None

    return Matcher(roots=(_ROOT,), pattern=call, calls={"call": call}, build=build)


def _draft(match: Match, kind: OperatorKind) -> Draft | None:
    attributes = attributes_of(match.required("call"))
    operands = tuple(match.required("call").args[1].fields)
    *grids, out = taken_grids(attributes, len(operands) + 1)
    inputs = tuple(operand for operand in operands if match.is_activation(operand))
    constants = _constants(match, kind, operands[len(inputs) :], grids[len(inputs) :])
    if constants is None:
        return None
    arithmetic = Arithmetic(str(attributes.pop(ARITHMETIC)))
    if str(attributes[OPERATOR]) in KINDS:
        macs = macs_per_output(str(attributes[OPERATOR]), [shape_of(each) for each in operands], attributes)
        attributes |= {MACS_PER_OUTPUT: macs} if macs else {}
    else:
        del attributes[OPERATOR]
    stated = zip((*inputs, match.root), (*grids[: len(inputs)], out), strict=True)
    return Draft(
        kind=kind,
        arithmetic=arithmetic,
        inputs=inputs,
        output=match.root,
        constants=constants,
        attributes=attributes,
        layout=NHWC if kind.facts.layout is LayoutRule.IMAGE else None,
        quantizations={value: grid for value, grid in stated if grid is not None},
    )


def _constants(
    match: Match, kind: OperatorKind, operands: Sequence[Any], grids: Sequence[Quantization | None]
) -> tuple[Constant, ...] | None:
    """The constants on the grids that are stated of them; None where one is not known here."""
    constants = [match.constant(operand) for operand in operands]
    on_grids = [
        constant if grid is None else evolve(constant, quantization=grid)
        for constant, grid in zip(constants, grids, strict=True)
        if constant is not None
    ]
    if len(on_grids) != len(constants):
        return None
    if kind.facts.weighted and grids[0] is not None:
        weights = stored_weights(on_grids[0])
        return None if weights is None else (weights, *on_grids[1:])
    return tuple(on_grids)
