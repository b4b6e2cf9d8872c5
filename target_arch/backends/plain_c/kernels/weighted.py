"""Operands, scale and the operator afterwards: common to convolutions and dense layers of 8-bit values."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels.scale import GROUP, OutOfRange, PreparedWeights, prepared, within
from target_arch.backends.plain_c.kernels.sums import Sum
from target_arch.backends.plain_c.kernels.text import Made, Parameter, function, parameter, struct
from target_arch.plan.arithmetic import DTYPE_RANGE, any_requantization
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import INTEGERS
from target_arch.plan.products import beyond_plain

STORED = ("int8", "uint8")


@frozen(kw_only=True)
class DriverCall:
    """A driver, its header and the layout's, the struct of its sizes with the members, the packed weights.
    `room` are elements of constants behind whole groups of outputs.
    """

    driver: str
    sizes: str
    headers: tuple[str, ...]
    numbers: tuple[int | str, ...]
    weights: bytes
    room: int = 0


def refusal(operator: Operator, model: Model, *, grouped: bool = False) -> str | None:
    """Why the operands of an operator with weights are not those of a kernel; None where they are. Channels
    are in one group, unless `grouped`.
    """
    if operator.arithmetic not in INTEGERS:
        return f"no kernel for {operator.kind} in {operator.arithmetic} arithmetic"
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    w, bias = (model.tensors[name] for name in operator.constants)
    if x.dtype not in STORED or out.dtype not in STORED or (w.dtype, bias.dtype) != ("int8", "int32"):
        return f"no kernel for {x.dtype} times {w.dtype} to {out.dtype}"
    if w.data is None or bias.data is None:
        return "weights or bias are computed at run time"
    other = beyond_plain(operator, model, grouped=grouped)
    return None if other is None else f"no kernel for {other}"


def prepare(operator: Operator, model: Model, rows: Any, low: int) -> PreparedWeights:
    """Weights in rows [N, K], bias and scale for a driver that multiplies 8-bit values from `low` on: 0 where
    it takes uint8 as it is, -128 where it takes int8, or uint8 less 128. Raises OutOfRange.
    """
    unsigned, added = model.tensors[operator.output].dtype == "uint8", offset(operator, model, low)
    return prepared(any_requantization(operator, model), rows, _bias(operator, model), low, added, unsigned)


def offset(operator: Operator, model: Model, low: int) -> int:
    """The number that is added to 8-bit values from `low` on before they are multiplied."""
    least, _ = DTYPE_RANGE[model.tensors[operator.inputs[0]].dtype]
    return any_requantization(operator, model).input_offset - (low - least)


def proven(operator: Operator, model: Model, rows_of: Callable[[Tensor], Any], low: int) -> bool:
    """Whether `prepare` will find that 32 bits hold all sums: mostly their number and the bias are enough."""
    w = model.tensors[operator.constants[0]]
    products = w.bytes // max(model.tensors[operator.constants[1]].shape[-1], 1)
    if within(any_requantization(operator, model), _bias(operator, model), products):
        return True
    try:
        prepare(operator, model, rows_of(w), low)
    except OutOfRange:
        return False
    return True


def _bias(operator: Operator, model: Model) -> Any:
    return np.frombuffer(model.tensors[operator.constants[1]].data or b"", "<i4")


@frozen(kw_only=True)
class Weighed:
    """An operator with weights as a call of a driver."""

    operator: Operator
    values: PreparedWeights
    call: DriverCall

    @property
    def packed(self) -> tuple[Tensor, ...]:
        """Weights, bias, multipliers and shifts as constants of the model."""
        return _packed(self.operator, self.call, self.values)


INSIDE = (("w", "int8"), ("bias", "int32"), ("multiplier", "int32"), ("shift", "int8"))
"""The parameters that `packed` is given to, with their types."""


class _HasWeights(Protocol):
    @property
    def weighed(self) -> Weighed:
        """The operator with its packed weights."""


class InlinedWeights:
    """The constants of an operator in a region, from its `weighed`."""

    __slots__ = ()

    @property
    def inside(self: _HasWeights) -> tuple[Parameter, ...]:
        return tuple(Parameter(name=name, dtype=dtype) for name, dtype in INSIDE)

    @property
    def constants(self: _HasWeights) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self.weighed.packed)

    @property
    def packed(self: _HasWeights) -> tuple[Tensor, ...]:
        return self.weighed.packed


def made(weighed: Weighed, model: Model, after: Sum | None) -> Made:
    """The call of a driver for an operator, and of the sum after it."""
    operator, values, call = weighed.operator, weighed.values, weighed.call
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    scale = values.scale
    inside = (Parameter(name=name, dtype=dtype) for name, dtype in INSIDE)
    other = () if after is None else (parameter("other", after.other),)
    last = out if after is None else after.out
    parameters = (parameter("x", x), *inside, *other, parameter("out", last, written=True))
    added = "0, 0, 0" if after is None else f"&add, {as_int8(after.other)}other, {after.side}"
    lines = (
        struct(call.sizes, "sizes", call.numbers),
        struct("ta_s8_scale", "scale", scale.numbers),
        *(() if after is None else (after.struct,)),
        f"const ta_s8_end end = {{{scale.constant}, &scale, multiplier, shift, {added}}};",
        f"{call.driver}(&sizes, &end, {as_int8(x)}x, w, bias, {as_int8(last, written=True)}out);",
    )
    kind = str(operator.kind) if after is None else f"{operator.kind}_{after.kind}"
    pair = ((len(parameters) - 1, len(parameters) - 2),) if other and after and after.over else ()
    return Made(
        function=function(kind, parameters, lines, call.headers, pair),
        packed=weighed.packed,
    )


def zero_point(x: Tensor) -> int:
    """The stored value of a real 0, as C reads it."""
    assert x.quantization is not None
    return x.quantization.zero_point[0]


def as_int8(tensor: Tensor, *, written: bool = False) -> str:
    """The cast to a pointer to int8."""
    if tensor.dtype == "int8":
        return ""
    return "(int8_t *)" if written else "(const int8_t *)"


def _packed(operator: Operator, call: DriverCall, values: PreparedWeights) -> tuple[Tensor, ...]:
    scale, bias, room = values.scale, values.bias, call.room
    each = room if scale.each else 0
    arrays = (
        ("packed", np.frombuffer(call.weights, np.int8)),
        ("folded", np.pad(bias, (0, -len(bias) % GROUP + room)).astype("<i4")),
        ("multiplier", np.pad(np.array(scale.multipliers, "<i4"), (0, each))),
        ("shift", np.pad(np.array(scale.shifts, "<i1"), (0, each))),
    )
    return tuple(
        Tensor(
            name=f"{operator.id}.{suffix}",
            shape=values.shape,
            dtype={1: "int8", 4: "int32"}[values.dtype.itemsize],
            data=values.tobytes(),
        )
        for suffix, values in arrays
    )
