"""add and sub of 8-bit values: the constants of `s8_add.h`."""

from attrs import frozen

from target_arch.backends.plain_c.kernels.text import braced, struct
from target_arch.plan.arithmetic import Addition, Rounding, addition
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import INTEGERS
from target_arch.plan.operators.kinds import OperatorKind

_STORED = ("int8", "uint8")
_MOST_SHIFT = 30


@frozen(kw_only=True)
class Sum:
    """An addition after an operator, whose output is its operand `side`; `other` is the other operand.

    `struct` is its `ta_s8_add` in C.
    """

    kind: str
    side: int
    other: Tensor
    out: Tensor
    struct: str

    @property
    def over(self) -> bool:
        """Whether the result may take the place of the other operand: their elements are of one type."""
        return self.other.dtype == self.out.dtype


def sum_after(operator: Operator, value: str, model: Model) -> Sum | None:
    """The sum of the tensor `value` and another one; None where the operator is no sum of 8-bit values that
    `s8_add.h` computes.
    """
    if operator.kind not in (OperatorKind.ADD, OperatorKind.SUB) or operator.arithmetic not in INTEGERS:
        return None
    tensors = [model.tensors[name] for name in (*operator.inputs, *operator.constants, operator.output)]
    if any(tensor.dtype not in _STORED or tensor.quantization is None for tensor in tensors):
        return None
    p = addition(operator, model)
    if p.rounding == Rounding.TFLITE and not _within(p):
        return None
    side = operator.inputs.index(value)
    return Sum(
        kind=str(operator.kind),
        side=side,
        other=tensors[1 - side],
        out=tensors[2],
        struct=_struct(p, [128 if tensor.dtype == "uint8" else 0 for tensor in tensors]),
    )


def _within(p: Addition) -> bool:
    """Shifts that vectors of 32 bits know, and operands that are no larger scaled than before."""
    return all(-_MOST_SHIFT <= shift <= 0 for shift in (*p.input_shifts, p.output_shift))


def _struct(p: Addition, flips: list[int]) -> str:
    twice = p.rounding == Rounding.TFLITE
    offsets = (p.input_offsets[0] + flips[0], p.input_offsets[1] + flips[1], p.output_offset - flips[2])
    narrow = (*p.input_multipliers, p.output_multiplier) if twice else (0, 0, 0)
    shifts = (*(-shift for shift in p.input_shifts), -p.output_shift if twice else p.output_shift)
    wide = (0, 0) if twice else p.input_multipliers
    members = (
        "TA_S8_TFLITE" if twice else "TA_S8_ONNX",
        1 if p.sign < 0 else 0,
        braced(offsets),
        braced(narrow),
        braced(shifts),
        braced([f"INT64_C({value})" for value in wide]),
        p.activation_min - flips[2],
        p.activation_max - flips[2],
        braced(flips),
    )
    return struct("ta_s8_add", "add", members)
