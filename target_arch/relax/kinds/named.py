"""Operators that a reader names by their definition."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.table import definition
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns.defined import defined

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.DEFINED: Form(patterns=(defined,), definition=definition, paired=None),
}
