"""Functions of one number, element by element: of stored values by a table, of floats by name."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.functions import function
from target_arch.relax.definitions.lookup import lookup
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns.function import float_function, float_hard_swish
from target_arch.relax.patterns.lookup import function_of_stored, named_lookup

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.LOOKUP: Form(
        patterns=(named_lookup, function_of_stored),
        definition=lookup,
        paired=None,
    ),
    OperatorKind.FUNCTION: Form(
        patterns=(float_hard_swish, float_function),
        definition=function,
        paired=None,
    ),
}
