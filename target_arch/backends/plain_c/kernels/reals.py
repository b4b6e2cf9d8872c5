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
BLOCK = 16
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
    added = w.bytes // w.shape[0] * (-w.shape[0] % BLOCK)
    if bounded and not within_growth(w, added):
        return "packed weights would take more than 1.1 times the plain ones"
    return None


def within_growth(w: Tensor, added: int) -> bool:
    """Whether packing may add so many bytes to weights."""
    return added <= (_GROWTH - 1) * w.bytes + _SLACK


def unfit(operator: Operator, model: Model, *, grouped: bool = False) -> str | None:
    """Why the operands or the activation of an operator with weights are not those of a kernel. Channels are
    in one group, unless `grouped`.
    """
    names = (*operator.inputs, *operator.constants, operator.output)
    other = next((name for name in names if model.tensors[name].dtype != "float32"), None)
    if other is not None:
        return f"float arithmetic on {model.tensors[other].dtype} `{other}`"
    if any(model.tensors[name].data is None for name in operator.constants):
        return "weights or bias are computed at run time"
    if _activation(operator) not in _ACTIVATIONS:
        return f"activation {_activation(operator)}"
    other = beyond_plain(operator, model, grouped=grouped)
    return None if other is None else f"no kernel for {other}"


def work(operator: Operator, model: Model, tile: KernelTile) -> Work:
    """The work of an operator that `refusal` accepts."""
    return work_of(sizes_of(operator, model), tile)


def work_of(sizes: Sizes, tile: KernelTile) -> Work:
    """The work of a call for an image of these sizes."""
    outputs, depth = sizes.out[2], prod(sizes.kernel) * sizes.image[3]
    turns = 0 if sizes.are_pixels else tile.turns(outputs, depth)
    rows = ceil(sizes.pixels / tile.rows) * tile.rows
    return {
        WorkUnit.REAL_PRODUCT: rows * ceil(outputs / BLOCK) * BLOCK * depth,
        WorkUnit.REAL_GATHERED: turns * sizes.pixels * depth,
        WorkUnit.REAL_OUTPUT: sizes.pixels * outputs,
        WorkUnit.CALL: 1,
    }


def made(operator: Operator, model: Model, apart: int = 0, after: RealSum | None = None) -> Made:
    """The call of an operator that `refusal` accepts; pixels of the output are `apart` elements apart."""
    sizes = sizes_in_c(operator, model, sizes_of(operator, model), apart)
    packed = constants(operator, model)
    whole = RealCall(driver="ta_f32_convolve", header=HEADER, sizes=sizes, packed=packed)
    return called(operator, model, whole, after)


@frozen(kw_only=True)
class RealCall:
    """A driver, its header, the C of its sizes, and weights and bias as it wants them."""

    driver: str
    header: str
    sizes: str
    packed: tuple[Tensor, Tensor]


def called(operator: Operator, model: Model, call: RealCall, after: RealSum | None) -> Made:
    """The call of a driver for an operator, and of the sum after it."""
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
        call.sizes,
        end_in_c("other" if after else "0", after),
        f"{call.driver}(&sizes, &end, x, w, bias, out);",
    )
    kind = f"{operator.kind}_add" if after else str(operator.kind)
    return Made(
        function=function(kind, parameters, lines, (call.header,), ((4, 3),) if after else ()),
        packed=call.packed,
    )


def sizes_in_c(operator: Operator, model: Model, sizes: Sizes, apart: int = 0) -> str:
    """The `ta_f32_conv2d` of an operator for an image of these sizes."""
    outputs = model.tensors[operator.constants[0]].shape[0]
    return struct("ta_f32_conv2d", "sizes", (*numbers_of(sizes, apart or outputs), *range_in_c(operator)))


def range_in_c(operator: Operator) -> tuple[str, str]:
    """The least and the greatest result in C."""
    return _ACTIVATIONS[_activation(operator)]


def end_in_c(other: str, after: RealSum | None) -> str:
    """The `ta_f32_end` with the pointer `other`, 0 where there is no addition."""
    last = _ACTIVATIONS[after.activation if after else "none"]
    return f"const ta_f32_end end = {{{other}, {', '.join(last)}}};"


def constants(operator: Operator, model: Model) -> tuple[Tensor, Tensor]:
    """Weights and bias as the driver wants them."""
    w, bias = (array(model.tensors[name]) for name in operator.constants)
    rows = w.reshape(w.shape[0], -1)
    return (
        constant(operator, "packed", packed(rows)),
        constant(operator, "biases", np.pad(bias.ravel(), (0, -len(rows) % BLOCK))),
    )


def packed(rows: Any) -> Any:
    """Weights [N, K] as [N / 16][K][16], zeros where there is no output."""
    whole = np.pad(rows, ((0, -rows.shape[0] % BLOCK), (0, 0)))
    return np.ascontiguousarray(whole.reshape(-1, BLOCK, rows.shape[1]).transpose(0, 2, 1))


def numbers_of(sizes: Sizes, apart: int) -> tuple[int, ...]:
    """The members of `ta_f32_conv2d` before the activation, in order."""
    depth = prod(sizes.kernel) * sizes.image[3]
    windows = (*sizes.kernel, *sizes.stride, *sizes.dilation, *sizes.padding)
    return (*sizes.image, *sizes.out, *windows, apart, depth, int(sizes.are_pixels))


def _activation(operator: Operator) -> str:
    return str(operator.attributes.get("activation", "none"))


def array(tensor: Tensor) -> Any:
    """A constant of float32."""
    return np.frombuffer(tensor.data or b"", "<f4").reshape(tensor.shape)


def constant(operator: Operator, suffix: str, values: Any) -> Tensor:
    """Values as a constant of the operator in float32."""
    return Tensor(
        name=f"{operator.id}.{suffix}",
        shape=(values.size,),
        dtype="float32",
        data=np.ascontiguousarray(values, "<f4").tobytes(),
    )
