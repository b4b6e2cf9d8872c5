"""The signature of an operator: what its time depends on, and no name and no value of a weight."""

import hashlib

from target_arch.plan.model import Model, Operator, Tensor

_DIGITS = 12


def signature(operator: Operator, model: Model) -> str:
    """The kind of an operator and a hash of its attributes, and of the shapes and element types of its
    operands: `conv2d-3f9a12c4d0e1`. Operators of different models have one where they are the same work.
    """
    facts = (
        str(operator.kind),
        str(operator.arithmetic),
        sorted((name, repr(value)) for name, value in operator.attributes.items()),
        [_shown(model.tensors[name]) for name in (*operator.inputs, *operator.constants, operator.output)],
    )
    return f"{operator.kind}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:_DIGITS]}"


def _shown(tensor: Tensor) -> tuple[str, tuple[int, ...], bool]:
    return tensor.dtype, tuple(tensor.shape), tensor.data is not None
