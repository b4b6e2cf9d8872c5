"""Functions of one float, applied element by element: a Relax operator alone, or the operators that hard
swish is written with.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.model import Attribute
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.functions import FUNCTIONS
from target_arch.relax.ir.graph import dtype_of, operator_name
from target_arch.relax.patterns.matcher import Draft, Match, Matcher

_RELAX = {"leaky_relu": "nn.leakyrelu"} | {
    name: f"nn.{name}" for name in ("gelu", "gelu_tanh", "selu", "silu", "softplus")
}
"""The Relax operators that are not called as the functions are."""
_NAMES = {_RELAX.get(name, name): name for name in FUNCTIONS if name != "hard_swish"}
"""The functions by their Relax operators."""
_PARAMETERS: Mapping[str, Callable[[Any], tuple[float, ...]]] = {
    "clip": lambda call: tuple(float(bound.value) for bound in call.args[1:]),
    "leaky_relu": lambda call: (float(call.attrs.alpha),),
    "softplus": lambda call: (float(call.attrs.beta), float(call.attrs.threshold)),
}


def float_function() -> Matcher:
    """A function of one float, alone."""
    return Matcher(roots=tuple(_NAMES), pattern=wildcard(), calls={}, build=_build)


def float_hard_swish() -> Matcher:
    """`x * clip(x + 3, 0, 6) / 6` on floats; TFLite's HARD_SWISH divides last, ONNX's divides the clip."""
    x = wildcard()
    shifted = is_op("relax.add")(x, wildcard())
    clipped = is_op("relax.clip")(shifted, wildcard(), wildcard())
    share = is_op("relax.divide")(clipped, wildcard())
    last = is_op("relax.divide")(is_op("relax.multiply")(x, clipped), wildcard())
    calls = {"shifted": shifted, "clipped": clipped, "share": share, "last": last}
    pattern = is_op("relax.multiply")(x, share) | last
    return Matcher(roots=("multiply", "divide"), pattern=pattern, calls=calls, build=_build_hard_swish)


def _build(match: Match) -> Draft | None:
    call = match.graph.bound[match.root]
    name = _NAMES[operator_name(call)]
    parameters = _PARAMETERS[name](call) if name in _PARAMETERS else ()
    return _draft(match, call.args[0], name, parameters)


def _build_hard_swish(match: Match) -> Draft | None:
    shifted, clipped = match.required("shifted"), match.required("clipped")
    share = match.call("share")
    divided = match.required("last") if share is None else share
    constants = [match.constant(call.args[1]) for call in (shifted, divided)]
    bounds = [float(bound.value) for bound in clipped.args[1:]]
    values = [None if one is None or one.values.size != 1 else float(one.real.item()) for one in constants]
    if (*values, *bounds) != (3.0, 6.0, 0.0, 6.0):
        return None
    return _draft(match, shifted.args[0], "hard_swish", ())


def _draft(match: Match, source: Any, name: str, parameters: tuple[float, ...]) -> Draft | None:
    if not match.is_activation(source) or (dtype_of(source), dtype_of(match.root)) != ("float32", "float32"):
        return None
    attributes: dict[str, Attribute] = {"function": name}
    if parameters:
        attributes["parameters"] = parameters
    return Draft(kind=OperatorKind.FUNCTION, inputs=(source,), output=match.root, attributes=attributes)
