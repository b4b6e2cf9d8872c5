"""Products of two activations that are matrices, in integers and in floats."""

from typing import Any

from tvm import te

from target_arch.plan.arithmetic import requantization
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.definitions.operands import axes_of
from target_arch.relax.te.definition import Definition, one_by_one, placeholder, stage, tensor_of
from target_arch.relax.te.scaling import requantized, widened


def matmul(operator: Operator, model: Model) -> Definition:
    """[..,M,K] times [..,K,N]; outer dimensions of extent 1, or that one operand lacks, are repeated."""
    first, second = (tensor_of(model, operator, index) for index in (0, 1))
    a, b = placeholder(first, first.shape, "a"), placeholder(second, second.shape, "b")
    out = model.tensors[operator.output]
    axes = axes_of(out.shape)
    index = te.reduce_axis((0, first.shape[-1]), name="k")

    def left(i: tuple[Any, ...]) -> Any:
        return a(*_repeated(i[:-2], first), i[-2], index)

    def right(i: tuple[Any, ...]) -> Any:
        return b(*_repeated(i[:-2], second), index, i[-1])

    if operator.arithmetic == Arithmetic.FLOAT:
        acc = stage("acc", axes, lambda *i: te.sum(left(i) * right(i), axis=index))
        result = stage("out", axes, acc)
        return Definition(arguments=(a, b, result), schedule=one_by_one(("acc",), ("acc",)))
    r = requantization(operator, model)
    acc = stage(
        "acc",
        axes,
        lambda *i: te.sum(widened(left(i), r.input_offset) * widened(right(i), r.second_offset), axis=index),
    )
    scaled = requantized(r, acc, axes, out.dtype)
    return Definition(arguments=(a, b, scaled.out), schedule=one_by_one(("acc", "product"), ("acc",)))


def _repeated(outer: tuple[Any, ...], tensor: Tensor) -> list[Any]:
    """The outer indices of an operand, from those of the output."""
    own = tensor.shape[:-2]
    last = outer[len(outer) - len(own) :]
    return [0 if extent == 1 else at for at, extent in zip(last, own, strict=True)]
