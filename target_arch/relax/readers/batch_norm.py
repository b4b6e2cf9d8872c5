"""Batch normalization with statistics that are known: inside the convolution before it, or a factor and a
term of each channel.
"""

from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.expr_functor import PyExprMutator, mutator

from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.defined import defined_call
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.site import constant

_CALL = "nn.batch_norm"


def with_known_statistics(module: Any) -> Any:
    """The module without batch normalization in float32 along dimension 1 whose operands are constants."""
    if not any(operator_name(binding.value) == _CALL for binding in bindings_of(module["main"])):
        return module
    module = relax.transform.FoldBatchnormToConv2D()(module)
    mutated = _Channels(module)
    mutated.builder_.update_func(module.get_global_var("main"), mutated.visit_expr(module["main"]))
    return relax.transform.DeadCodeElimination()(mutated.builder_.get())


@mutator
class _Channels(PyExprMutator):  # type: ignore[misc]
    """Takes the first result of such a call as a factor and a term of each channel."""

    def visit_tuple_getitem_(self, op: Any) -> Any:
        call = (
            self.lookup_binding(op.tuple_value) if isinstance(op.tuple_value, relax.Var) else op.tuple_value
        )
        if op.index or operator_name(call) != _CALL or not _is_known(call):
            return super().visit_tuple_getitem_(op)
        gamma, beta, mean, variance = (each.value.numpy().astype(np.float64) for each in call.args[1:])
        factor = (gamma if call.attrs.scale else 1.0) / np.sqrt(variance + float(call.attrs.epsilon))
        term = (beta if call.attrs.center else 0.0) - mean * factor
        operands = (self.visit_expr(call.args[0]), constant(factor, "float32"), constant(term, "float32"))
        return defined_call("batch_norm", operands, shape_of(call.args[0]), "float32", {}, Arithmetic.FLOAT)


def _is_known(call: Any) -> bool:
    floats = dtype_of(call.args[0]) == "float32" and int(call.attrs.axis) == 1 and not call.attrs.training
    return floats and all(isinstance(each, GenericConst) for each in call.args[1:])
