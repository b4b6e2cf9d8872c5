"""add, sub and mul of two tensors of 8-bit values, place by place, as calls of `s8_add.h` and `s8_mul.h`."""

from collections.abc import Sequence
from math import prod

import numpy as np

from target_arch.backends.plain_c.kernels.scale import single, within
from target_arch.backends.plain_c.kernels.sums import sum_after
from target_arch.backends.plain_c.kernels.text import Made, Parameter, braced, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import STORED, as_int8
from target_arch.plan.arithmetic import requantization
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import INTEGERS
from target_arch.plan.operators.kinds import OperatorKind

_SUM, _PRODUCT = "kernels/s8_add.h", "kernels/s8_mul.h"
_KINDS = (OperatorKind.ADD, OperatorKind.SUB, OperatorKind.MUL)
_PRODUCTS = 2
"""The product of two activations is at most twice that of an activation and a weight."""


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind not in _KINDS or operator.arithmetic not in INTEGERS:
        return f"no kernel for {operator.kind}"
    first, second, out = _tensors(operator, model)
    other = next((each for each in (first, second, out) if each.dtype not in STORED), None)
    if other is not None:
        return f"`{other.name}` is {other.dtype}, not of 8 bits"
    counts = [prod(each.shape) for each in (first, second, out)]
    if counts[0] != counts[2] or counts[1] not in (counts[2], out.shape[-1] if out.shape else 1):
        return "an operand that is repeated otherwise than row by row"
    if operator.kind is not OperatorKind.MUL:
        fits = sum_after(operator, operator.inputs[0], model) is not None
    else:
        fits = within(requantization(operator, model), np.zeros(1, np.int64), _PRODUCTS)
    return None if fits else "scales that no kernel has"


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    first, second, out = tensors = _tensors(operator, model)
    alike = prod(second.shape) == prod(out.shape)
    rows, count = (1, prod(out.shape)) if alike else (prod(out.shape) // out.shape[-1], out.shape[-1])
    is_product = operator.kind is OperatorKind.MUL
    lines = (_product_lines if is_product else _sum_lines)(operator, model, (rows, count, 0))
    names = ("a", "b")
    known = tuple(model.tensors[name] for name in operator.constants)
    read = (
        Parameter(name=name, dtype=each.dtype) if each in known else parameter(name, each)
        for name, each in zip(names, tensors, strict=False)
    )
    parameters = (*read, parameter("out", out, written=True))
    reused = [each.dtype == out.dtype and each not in known for each in (first, second)]
    pairs = tuple((2, index) for index in (0, 1) if reused[index] and (index == 0 or alike))
    header = _PRODUCT if is_product else _SUM
    return Made(function=function(str(operator.kind), parameters, lines, (header,), pairs), packed=known)


def _tensors(operator: Operator, model: Model) -> tuple[Tensor, Tensor, Tensor]:
    first, second = (model.tensors[name] for name in (*operator.inputs, *operator.constants))
    return first, second, model.tensors[operator.output]


def _sum_lines(operator: Operator, model: Model, sizes: Sequence[int]) -> tuple[str, ...]:
    added = sum_after(operator, operator.inputs[0], model)
    assert added is not None
    first, second, out = _tensors(operator, model)
    rows, count, step = sizes
    places = f"{as_int8(first)}a, {as_int8(second)}b, {as_int8(out, written=True)}out"
    return (
        added.struct,
        f"const ta_s8_add_rows rows = {{{rows}, {count}, {places}, {braced((count, step, count))}}};",
        "ta_s8_add_all(&add, &rows);",
    )


def _product_lines(operator: Operator, model: Model, sizes: Sequence[int]) -> tuple[str, ...]:
    first, second, out = _tensors(operator, model)
    r = requantization(operator, model)
    scale = single(r, _PRODUCTS, unsigned=out.dtype == "uint8")
    flips = [128 if each.dtype == "uint8" else 0 for each in (first, second)]
    offsets = (r.input_offset + flips[0], r.second_offset + flips[1])
    return (
        struct("ta_s8_mul", "sizes", (*sizes, braced(offsets), braced(flips))),
        struct("ta_s8_scale", "scale", scale.numbers),
        f"static const int32_t multiplier[] = {braced(scale.multipliers)};",
        f"static const int8_t shift[] = {braced(scale.shifts)};",
        f"ta_s8_multiply_places(&sizes, {scale.constant}, &scale, multiplier, shift, {as_int8(first)}a, "
        f"{as_int8(second)}b, {as_int8(out, written=True)}out);",
    )
