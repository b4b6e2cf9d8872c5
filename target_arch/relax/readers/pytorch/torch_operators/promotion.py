"""Elementwise operators of mixed element types: their operands get the type in which PyTorch computes.

Comparisons are made in the type that the operands have in common, where a tensor without dimensions and a
number count less; other operators compute in the type of their result.
"""

import re
from collections.abc import Callable
from typing import Any

import torch

from target_arch.relax.readers.pytorch.torch_operators.call import TorchCall, dtype_name
from target_arch.relax.site import NotConverted

_COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
_RESULT = re.compile(
    r"acos|acosh|add|asin|asinh|atan|atan2|atanh|clamp|clamp_max|clamp_min|copysign|cos|cosh|div|"
    r"erf|exp|exp2|expm1|floor_divide|fmax|fmin|fmod|log|log10|log1p|log2|logaddexp|maximum|minimum|"
    r"mul|pow|reciprocal|remainder|rsqrt|rsub|sigmoid|sin|sinh|sqrt|sub|tan|tanh"
)
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")


def promoted(call: TorchCall, convert: Callable[[], Any]) -> Any:
    """The result of `convert`, while the operands have the type in which the node is computed."""
    wanted = _type_of_computation(call)
    if wanted is None:
        return convert()
    env, node = call.importer.env, call.node
    before = {each: env[each] for each in node.all_input_nodes}
    try:
        env.update({each: call.cast(value, wanted) for each, value in before.items()})
        return convert()
    finally:
        env.update(before)


def _type_of_computation(call: TorchCall) -> str | None:
    name = str(call.node.target.__name__).partition(".")[0]
    if name in _COMPARISONS:
        first, second = (_value(each) for each in call.node.args)
        return _fitting(dtype_name(torch.result_type(first, second)), call)
    if _RESULT.fullmatch(name) or name in _BITWISE:
        return _fitting(call.result_dtype(), call)
    return None


def _value(argument: Any) -> Any:
    return argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument


def _fitting(dtype: str, call: TorchCall) -> str:
    """The type, if the numbers among the arguments fit in it."""
    for each in call.node.args:
        whole = isinstance(each, int) and not isinstance(each, bool)
        if whole and dtype.startswith(("int", "uint")):
            limits = torch.iinfo(getattr(torch, dtype))
            if not limits.min <= each <= limits.max:
                raise NotConverted(f"the number {each} with elements of {dtype}")
    return dtype
