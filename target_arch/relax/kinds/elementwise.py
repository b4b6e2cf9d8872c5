"""Operators that work element by element, on one tensor or two."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions import elementwise as te
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns import elementwise as patterns

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.ADD: Form(
        patterns=(patterns.integer_add, patterns.float_add), definition=te.binary, paired=None
    ),
    OperatorKind.MUL: Form(
        patterns=(patterns.integer_mul, patterns.float_mul), definition=te.binary, paired=None
    ),
    OperatorKind.SUB: Form(
        patterns=(patterns.integer_sub, patterns.float_sub), definition=te.binary, paired=None
    ),
    OperatorKind.RELU: Form(
        patterns=(patterns.integer_relu, patterns.float_relu), definition=te.relu, paired=None
    ),
    OperatorKind.REQUANTIZE: Form(patterns=(patterns.requantize,), definition=te.requantize, paired=None),
    OperatorKind.QUANTIZE: Form(patterns=(patterns.quantize,), definition=te.quantize, paired=None),
    OperatorKind.DEQUANTIZE: Form(patterns=(patterns.dequantize,), definition=te.dequantize, paired=None),
}
