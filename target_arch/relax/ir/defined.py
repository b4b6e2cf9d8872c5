"""An operator with a definition of its own as a Relax call: a reader writes it, a pattern reads it.

The call is `call_dps_packed("target_arch.defined", (inputs and constants), out_type)`; its attributes are the
operator's, among them `operator`, the name of the definition (`target_arch.relax.definitions`).
"""

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import ir, relax

from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import Arithmetic

SYMBOL = "target_arch.defined"
ARITHMETIC = "arithmetic"


def defined_call(
    name: str,
    operands: tuple[Any, ...],
    shape: tuple[int, ...],
    dtype: str,
    attributes: Mapping[str, Attribute],
    arithmetic: Arithmetic,
) -> Any:
    """A call of the operator whose definition is `name`; activations come before constants."""
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in attributes.items()}
    attrs = tvm.ir.attrs.make_node("ir.DictAttrs", operator=name, arithmetic=str(arithmetic), **values)
    target = ir.Op.get("relax.call_dps_packed")
    arguments = [relax.ExternFunc(SYMBOL), relax.Tuple(list(operands))]
    return relax.Call(target, arguments, attrs, [relax.TensorType(shape, dtype)])


def is_defined(value: Any) -> bool:
    """Whether an expression is such a call."""
    return isinstance(value, relax.Call) and getattr(value.args[0], "global_symbol", None) == SYMBOL


def attributes_of(call: Any) -> dict[str, Attribute] | None:
    """The attributes of such a call, None for any other call."""
    if not is_defined(call):
        return None
    return {str(key): _attribute(value) for key, value in call.attrs.items()}


def _attribute(value: Any) -> Attribute:
    if isinstance(value, bool | int | float | str):
        return value
    return tuple(float(item) if isinstance(item, float) else int(item) for item in value)
