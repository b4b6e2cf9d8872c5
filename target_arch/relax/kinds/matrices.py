"""Products of two activations."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.matmul import matmul
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns.matmul import float_matmul, integer_matmul, named_matmul

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.MATMUL: Form(
        patterns=(named_matmul, integer_matmul, float_matmul), definition=matmul, paired=None
    ),
}
