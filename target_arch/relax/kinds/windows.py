"""Pools: one value for each window of an image."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions import pooling as te
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns import pool

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.AVG_POOL2D: Form(
        patterns=(
            pool.stored_avg_pool2d,
            pool.integer_avg_pool2d,
            pool.integer_mean,
            pool.float_avg_pool2d,
            pool.float_mean,
        ),
        definition=te.avg_pool2d,
        paired=None,
    ),
    OperatorKind.MAX_POOL2D: Form(
        patterns=(pool.stored_max_pool2d, pool.integer_max_pool2d, pool.float_max_pool2d),
        definition=te.max_pool2d,
        paired=None,
    ),
}
