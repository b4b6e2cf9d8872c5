"""Operators that copy runs of bytes: which bytes of an operand become which of the result."""

from math import prod
from typing import Any

from target_arch.plan.kernels import Slice
from target_arch.plan.model import DTYPE_BYTES, Model, Operator
from target_arch.plan.operators.kinds import OperatorKind

Copied = tuple[Slice, Slice]
"""Bytes of an operand, and those of the result that they become: one run each."""


def copied_runs(operator: Operator, model: Model) -> tuple[Copied, ...] | None:
    """The runs that a slice or a concatenation copies, an operand each; None where one is no single run of
    bytes, or for an operator of another kind.
    """
    if operator.kind is OperatorKind.SLICE:
        start = sliced_from(operator, model)
        if start is None:
            return None
        size = model.tensors[operator.output].bytes
        source = Slice(of=operator.inputs[0], offset=start, row_bytes=size)
        return ((source, Slice(of=operator.output, offset=0, row_bytes=size)),)
    if operator.kind is OperatorKind.CONCAT:
        return _joined(operator, model)
    return None


def sliced_from(operator: Operator, model: Model) -> int | None:
    """The first byte of the operand of a slice, where all bytes of the result follow each other there; None
    where they do not.
    """
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    if any(step != 1 and extent > 1 for step, extent in zip(attributes["step"], out.shape, strict=True)):
        return None
    part = [axis for axis, extent in enumerate(out.shape) if extent != x.shape[axis]]
    if part and prod(out.shape[: part[-1]]) != 1:
        return None
    strides = [prod(x.shape[axis + 1 :]) for axis in range(len(x.shape))]
    first = sum(begin * stride for begin, stride in zip(attributes["begin"], strides, strict=True))
    return int(first * DTYPE_BYTES[out.dtype])


def _joined(operator: Operator, model: Model) -> tuple[Copied, ...] | None:
    axis, out = operator.attributes["axis"], model.tensors[operator.output]
    assert isinstance(axis, int)
    if prod(out.shape[:axis]) != 1:
        return None
    found, done = [], 0
    for name in operator.inputs:
        size = model.tensors[name].bytes
        source = Slice(of=name, offset=0, row_bytes=size)
        found.append((source, Slice(of=out.name, offset=done, row_bytes=size)))
        done += size
    return tuple(found)
