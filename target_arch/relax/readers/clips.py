"""ONNX's Clip as one `clip`: the frontend makes TIR functions of its own of it, with bounds that it computes.

Tests: `tests/relax/readers/test_clips.py`.
"""

from typing import Any

import tvm
from tvm import relax
from tvm.relax.dpl import is_const, is_op, rewrite_call, wildcard

_OPERATORS = {"maximum": relax.op.maximum, "minimum": relax.op.minimum}


def with_clips(module: Any) -> Any:
    """The module with `minimum(maximum(x, low), high)` of scalar constants as `clip(x, low, high)`, and with
    nothing left that calls the frontend's `maximum` and `minimum`.
    """
    if not any(name.name_hint.startswith(tuple(_OPERATORS)) for name in module.get_global_vars()):
        return module
    main = _Spoken(module).visit_expr(module["main"])
    folded = relax.transform.FoldConstant()(tvm.IRModule({"main": main}))
    source, low, high = wildcard(), is_const(), is_const()
    bounded = is_op("relax.minimum")(is_op("relax.maximum")(source, low), high)

    def clip(call: Any, matched: Any) -> Any:
        bounds = [matched[each].value.numpy() for each in (low, high)]
        if any(bound.size != 1 for bound in bounds):
            return call
        return relax.op.clip(matched[source], *(float(bound.reshape(())) for bound in bounds))

    main = rewrite_call(bounded, clip, folded["main"])
    return relax.transform.DeadCodeElimination()(tvm.IRModule({"main": main}))


@relax.expr_functor.mutator
class _Spoken(relax.PyExprMutator):  # type: ignore[misc]
    """Calls of the frontend's functions become the operators they stand for."""

    def visit_call_(self, call: Any) -> Any:
        call = super().visit_call_(call)
        if str(getattr(call.op, "name", "")) != "relax.call_tir":
            return call
        name = call.args[0].name_hint.rstrip("0123456789")
        return _OPERATORS[name](*call.args[1].fields) if name in _OPERATORS else call
