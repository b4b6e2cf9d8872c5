"""Operators along rows: softmax, and those that move elements or leave them where they are."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions import movement as moves
from target_arch.relax.definitions import rows as te
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns import joining, movement, slicing

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.SOFTMAX: Form(
        patterns=(movement.named_softmax, movement.integer_softmax, movement.float_softmax),
        definition=te.softmax_of_rows,
        paired=None,
    ),
    OperatorKind.RESHAPE: Form(patterns=(movement.reshape,), definition=moves.reshape, paired=None),
    OperatorKind.TRANSPOSE: Form(
        patterns=(movement.transpose,),
        definition=moves.transpose,
        paired=None,
    ),
    OperatorKind.SLICE: Form(
        patterns=(slicing.named_slice, slicing.fixed_slice),
        definition=moves.sliced,
        paired=None,
    ),
    OperatorKind.CONCAT: Form(patterns=(joining.concat,), definition=None, paired=None),
    OperatorKind.STORE: Form(patterns=(), definition=None, paired=None),
    OperatorKind.RELAX: Form(patterns=(), definition=None, paired=None),
}
