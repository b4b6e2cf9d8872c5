"""Sums of products with weights: convolutions and dense layers."""

from collections.abc import Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions import products as te
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns import conv, dense, transposed

FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.CONV2D: Form(
        patterns=(conv.named_conv2d, conv.integer_conv2d, conv.float_conv2d),
        definition=te.conv2d,
        paired=te.conv2d,
    ),
    OperatorKind.DEPTHWISE_CONV2D: Form(
        patterns=(
            conv.named_depthwise_conv2d,
            conv.integer_depthwise_conv2d,
            conv.float_depthwise_conv2d,
        ),
        definition=te.depthwise_conv2d,
        paired=te.depthwise_conv2d,
    ),
    OperatorKind.CONV2D_TRANSPOSE: Form(
        patterns=(
            transposed.named_conv2d_transpose,
            transposed.integer_conv2d_transpose,
            transposed.float_conv2d_transpose,
        ),
        definition=te.conv2d_transpose,
        paired=te.conv2d_transpose,
    ),
    OperatorKind.DENSE: Form(
        patterns=(dense.named_dense, dense.integer_dense, dense.float_dense),
        definition=te.dense,
        paired=te.dense,
    ),
}
