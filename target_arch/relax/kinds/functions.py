"""Functions of one number, element by element; those of stored values are looked up in a table.

To add one, see "Add an operator" in `docs/operators.md`.
"""

from collections.abc import Mapping
from typing import Any

from tvm import tirx
from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.lookup import lookup, of_reals
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns.function import FIRST, Expression, float_function
from target_arch.relax.patterns.lookup import function_of_stored, named_lookup
from target_arch.relax.patterns.matcher import Match, Matcher


def _hard_swish_of(x: Any) -> tuple[Any, Mapping[str, Any]]:
    """TFLite's frontend divides last, ONNX's divides the clip."""
    shifted = is_op("relax.add")(x, wildcard())
    clipped = is_op("relax.clip")(shifted, wildcard(), wildcard())
    share = is_op("relax.divide")(clipped, wildcard())
    last = is_op("relax.divide")(is_op("relax.multiply")(x, clipped), wildcard())
    calls = {FIRST: shifted, "clipped": clipped, "share": share, "last": last}
    return is_op("relax.multiply")(x, share) | last, calls


def _is_hard_swish(match: Match) -> bool:
    shifted, clipped = match.required(FIRST), match.required("clipped")
    share = match.call("share")
    divided = match.required("last") if share is None else share
    constants = [match.constant(call.args[1]) for call in (shifted, divided)]
    bounds = [float(bound.value) for bound in clipped.args[1:]]
    values = [None if one is None or one.values.size != 1 else float(one.real.item()) for one in constants]
    return (*values, *bounds) == (3.0, 6.0, 0.0, 6.0)


def _hard_swish(x: Any) -> Any:
    three, six, zero = (tirx.const(value, "float32") for value in (3.0, 6.0, 0.0))
    return x * tirx.min(tirx.max(x + three, zero), six) / six


_HARD_SWISH = Expression(of=_hard_swish_of, roots=("multiply", "divide"), fits=_is_hard_swish)


def float_hard_swish() -> Matcher:
    """`x * clip(x + 3, 0, 6) / 6` on floats."""
    return float_function(OperatorKind.HARD_SWISH, _HARD_SWISH)


FORMS: Mapping[OperatorKind, Form] = {
    OperatorKind.LOOKUP: Form(
        patterns=(named_lookup, function_of_stored),
        definition=lookup,
        paired=None,
    ),
    OperatorKind.HARD_SWISH: Form(
        patterns=(float_hard_swish,),
        definition=of_reals(_hard_swish),
        paired=None,
    ),
}
