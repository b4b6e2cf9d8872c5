"""An operator as a Relax call, by its kind or by the name of a definition: a reader writes it, a pattern
reads it.

The call is `call_dps_packed("target_arch.defined", (inputs and constants), out_type)`; its attributes are the
operator's, among them `operator`, the kind or the name of the definition (`target_arch.relax.definitions`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import ir, relax

from target_arch.plan.model import Attribute, Quantization
from target_arch.plan.operators.facts import DEFINITION_NAME, Arithmetic

SYMBOL = "target_arch.defined"
OPERATOR, ARITHMETIC = DEFINITION_NAME, "arithmetic"
Grids = Sequence[Quantization | None]
"""The quantizations of the operands and of the result."""


def defined_call(
    name: str,
    operands: tuple[Any, ...],
    shape: tuple[int, ...],
    dtype: str,
    attributes: Mapping[str, Attribute],
    arithmetic: Arithmetic,
    grids: Grids = (),
) -> Any:
    """A call of the operator of that kind, or with the definition of that name; activations come before
    constants. Kinds with grids have them stated, those of operands first.
    """
    every = {**attributes, **_stated_grids(grids), OPERATOR: str(name), ARITHMETIC: str(arithmetic)}
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in every.items()}
    attrs = tvm.ir.attrs.make_node("ir.DictAttrs", **values)
    target = ir.Op.get("relax.call_dps_packed")
    arguments = [relax.ExternFunc(SYMBOL), relax.Tuple(list(operands))]
    return relax.Call(target, arguments, attrs, [relax.TensorType(shape, dtype)])


def is_defined(value: Any) -> bool:
    """Whether an expression is such a call."""
    return isinstance(value, relax.Call) and getattr(value.args[0], "global_symbol", None) == SYMBOL


def name_of(call: Any) -> str | None:
    """The kind or name of a definition that such a call has, None for any other call."""
    return str(call.attrs[OPERATOR]) if is_defined(call) else None


def attributes_of(call: Any) -> dict[str, Attribute]:
    """The attributes of such a call."""
    return {str(key): _attribute(value) for key, value in call.attrs.items()}


def taken_grids(attributes: dict[str, Attribute], count: int) -> list[Quantization | None]:
    """The grids that a call states of so many tensors, taken from its attributes."""
    return [_grid(attributes, number) for number in range(count)]


def _stated_grids(grids: Grids) -> dict[str, Attribute]:
    stated: dict[str, Attribute] = {}
    for number, grid in enumerate(grids):
        if grid is not None:
            stated |= {f"scale{number}": grid.scale, f"zero{number}": grid.zero_point}
            stated |= {} if grid.axis is None else {f"axis{number}": grid.axis}
    return stated


def _grid(attributes: dict[str, Attribute], number: int) -> Quantization | None:
    scale, zero, axis = (attributes.pop(f"{name}{number}", None) for name in ("scale", "zero", "axis"))
    if not isinstance(scale, tuple) or not isinstance(zero, tuple):
        return None
    return Quantization(
        scale=tuple(map(float, scale)),
        zero_point=tuple(map(int, zero)),
        axis=axis if isinstance(axis, int) else None,
    )


def _attribute(value: Any) -> Attribute:
    if isinstance(value, bool | int | float | str):
        return value
    return tuple(float(item) if isinstance(item, float) else int(item) for item in value)
