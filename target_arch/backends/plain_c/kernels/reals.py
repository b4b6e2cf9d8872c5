"""conv2d and dense in float32 as calls of `f32_conv2d.h`."""

from math import ceil, prod
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels.products import Sizes, sizes_of
from target_arch.backends.plain_c.kernels.text import Made, Parameter, function, parameter, struct
from target_arch.backends.plain_c.work.forms import KernelTile, Work, WorkUnit
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import beyond_plain

HEADER = "kernels/f32_conv2d.h"
INSIDE = ("w", "bias")
"""The parameters that `constants` are given to."""
_BLOCK = 16
_GROWTH, _SLACK = 1.1, 131072
"""The most that packing may add to weights: a factor, and bytes beside it."""
_ACTIVATIONS = {"none": ("-INFINITY", "INFINITY"), "relu": ("0.0f", "INFINITY"), "relu6": ("0.0f", "6.0f")}
"""Least and greatest result in C."""


@frozen(kw_only=True)
class RealSum:
    """An addition after an operator: its other operand, its output, and its activation."""

    other: Tensor
    out: Tensor
    activation: str


def sum_after(operator: Operator, value: str, model: Model) -> RealSum | None:
    """The sum of the tensor `value` and another one; None where the operator is no sum of float32 values."""
    activation = _activation(operator)
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    if operator.kind is not OperatorKind.ADD or operator.arithmetic is not Arithmetic.FLOAT:
        return None
    if activation not in _ACTIVATIONS or any(tensor.dtype != "float32" for tensor in tensors):
        return None
    return RealSum(other=tensors[1 - operator.inputs.index(value)], out=tensors[2], activation=activation)


def refusal(operator: Operator, model: Model, *, bounded: bool = True) -> str | None:
    """Why an operator is no such call, None where it is one. Unless `bounded`, packed weights may take any
    size.
    """
    weighted = operator.kind in (OperatorKind.CONV2D, OperatorKind.DENSE)
    if not weighted or operator.arithmetic is not Arithmetic.FLOAT:
        return f"no kernel for {operator.kind} in {operator.arithmetic} arithmetic"
    reason = unfit(operator, model)
    if reason is not None:
        return reason
    w = model.tensors[operator.constants[0]]
    added = w.bytes // w.shape[0] * (-w.shape[0] % _BLOCK)
    if bounded and added > (_GROWTH - 1) * w.bytes + _SLACK:
        return "packed weights would take more than 1.1 times the plain ones"
    return None


def unfit(operator: Operator, model: Model) -> str | None:
    """Why the operands or the activation of an operator with weights are not those of a kernel."""
    names = (*operator.inputs, *operator.constants, operator.output)
    other = next((name for name in names if model.tensors[name].dtype != "float32"), None)
    if other is not None:
        return f"float arithmetic on {model.tensors[other].dtype} `{other}`"
    if any(model.tensors[name].data is None for name in operator.constants):
        return "weights or bias are computed at run time"
    if _activation(operator) not in _ACTIVATIONS:
        return f"activation {_activation(operator)}"
    other = beyond_plain(operator, model)
    return None if other is None else f"no kernel for {other}"


def work(operator: Operator, model: Model, tile: KernelTile) -> Work:
    """The work of an operator that `refusal` accepts."""
    sizes = sizes_of(operator, model)
    outputs, depth = sizes.out[2], prod(sizes.kernel) * sizes.image[3]
    turns = 0 if _in_place(sizes) else tile.turns(outputs, depth)
    rows = ceil(sizes.pixels / tile.rows) * tile.rows
    return {
        WorkUnit.REAL_PRODUCT: rows * ceil(outputs / _BLOCK) * _BLOCK * depth,
        WorkUnit.REAL_GATHERED: turns * sizes.pixels * depth,
        WorkUnit.REAL_OUTPUT: sizes.pixels * outputs,
        WorkUnit.CALL: 1,
    }


def made(operator: Operator, model: Model, apart: int = 0, after: RealSum | None = None) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    other = (parameter("other", after.other),) if after else ()
    inside = (Parameter(name=name, dtype="float32") for name in INSIDE)
    parameters = (
        parameter("x", x),
        *inside,
        *other,
        parameter("out", after.out if after else out, written=True),
    )
    lines = (
        sizes_in_c(operator, model, sizes_of(operator, model), apart),
        end_in_c("other" if after else "0", after),
        "ta_f32_convolve(&sizes, &end, x, w, bias, out);",
    )
    kind = f"{operator.kind}_add" if after else str(operator.kind)
    return Made(
        function=function(kind, parameters, lines, (HEADER,), ((4, 3),) if after else ()),
        packed=constants(operator, model),
    )


def sizes_in_c(operator: Operator, model: Model, sizes: Sizes, apart: int = 0) -> str:
    """The `ta_f32_conv2d` of an operator for an image of these sizes."""
    outputs = model.tensors[operator.constants[0]].shape[0]
    return struct("ta_f32_conv2d", "sizes", (*_numbers(sizes, apart or outputs), *range_in_c(operator)))


def range_in_c(operator: Operator) -> tuple[str, str]:
    """The least and the greatest result in C."""
    return _ACTIVATIONS[_activation(operator)]


def end_in_c(other: str, after: RealSum | None) -> str:
    """The `ta_f32_end` with the pointer `other`, 0 where there is no addition."""
    last = _ACTIVATIONS[after.activation if after else "none"]
    return f"const ta_f32_end end = {{{other}, {', '.join(last)}}};"


def constants(operator: Operator, model: Model) -> tuple[Tensor, Tensor]:
    """Weights and bias as the driver wants them."""
    w, bias = (_array(model.tensors[name]) for name in operator.constants)
    rows = w.reshape(w.shape[0], -1)
    return (
        constant(operator, "packed", packed(rows)),
        constant(operator, "biases", np.pad(bias.ravel(), (0, -len(rows) % _BLOCK))),
    )


def packed(rows: Any) -> Any:
    """Weights [N, K] as [N / 16][K][16], zeros where there is no output."""
    whole = np.pad(rows, ((0, -rows.shape[0] % _BLOCK), (0, 0)))
    return np.ascontiguousarray(whole.reshape(-1, _BLOCK, rows.shape[1]).transpose(0, 2, 1))


def _numbers(sizes: Sizes, apart: int) -> tuple[int, ...]:
    """The members of `ta_f32_conv2d` before the activation, in order."""
    depth = prod(sizes.kernel) * sizes.image[3]
    windows = (*sizes.kernel, *sizes.stride, *sizes.dilation, *sizes.padding)
    return (*sizes.image, *sizes.out, *windows, apart, depth, int(_in_place(sizes)))


def _in_place(sizes: Sizes) -> bool:
    """Whether windows are consecutive values."""
    whole = sizes.kernel == (1, 1) and sizes.image[1:3] == sizes.out[:2] and not any(sizes.padding)
    return whole and sizes.stride == (1, 1)


def _activation(operator: Operator) -> str:
    return str(operator.attributes.get("activation", "none"))


def _array(tensor: Tensor) -> Any:
    return np.frombuffer(tensor.data or b"", "<f4").reshape(tensor.shape)


def constant(operator: Operator, suffix: str, values: Any) -> Tensor:
    """Values as a constant of the operator in float32."""
    return Tensor(
        name=f"{operator.id}.{suffix}",
        shape=(values.size,),
        dtype="float32",
        data=np.ascontiguousarray(values, "<f4").tobytes(),
    )
