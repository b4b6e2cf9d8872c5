"""Operators along rows: softmax, and those that move elements or leave them where they are."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns import joining, movement
from target_arch.relax.te import rows as te

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.SOFTMAX: Form(
        patterns=(movement.integer_softmax, movement.float_softmax),
        definition=te.softmax_of_rows,
        paired=None,
    ),
    OperatorKind.RESHAPE: Form(
        patterns=(movement.quantized_reshape, movement.reshape), definition=te.reshape, paired=None
    ),
    OperatorKind.TRANSPOSE: Form(
        patterns=(movement.quantized_transpose, movement.transpose), definition=te.transpose, paired=None
    ),
    OperatorKind.CONCAT: Form(
        patterns=(joining.quantized_concat, joining.concat), definition=None, paired=None
    ),
    OperatorKind.STORE: Form(patterns=(), definition=None, paired=None),
    OperatorKind.RELAX: Form(patterns=(), definition=None, paired=None),
}
