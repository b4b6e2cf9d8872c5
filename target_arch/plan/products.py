"""Sums of products with constant weights: their groups of channels, and what plain kernels leave out."""

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind

_WIDE = ("int16", "int64")
_FOUR_BITS = bytes((*range(8), *range(248, 256)))
_FIRST = 1024
"""Values that are looked at first: most weights have another one among them."""
_FEWEST = 256
"""Weights that pay for what makes bytes of them."""


def groups_of(operator: Operator, model: Model) -> int:
    """How many groups the channels of a convolution are in, each with weights of its own."""
    if operator.kind is not OperatorKind.CONV2D:
        return 1
    x, w = (model.tensors[name].shape for name in (operator.inputs[0], operator.constants[0]))
    return x[-1] // w[-1]


def has_narrow_weights(operator: Operator, model: Model) -> bool:
    """Whether a sum of products of floats has int8 weights: hybrid, or with steps."""
    if not operator.facts.weighted or operator.arithmetic is not Arithmetic.FLOAT:
        return False
    return model.tensors[operator.constants[0]].dtype == "int8"


def is_hybrid(operator: Operator, model: Model) -> bool:
    """Whether a sum of products has int8 weights and floats, which it brings to eight bits as it runs, on a
    grid of the extremes of each row or image.
    """
    return has_narrow_weights(operator, model) and not is_stepped(operator)


def is_stepped(operator: Operator) -> bool:
    """Whether a sum of products of floats has int8 weights that are multiplied by their steps where they are
    used. The steps are behind the bias, in the rank of the weights: in each dimension one for all, one for
    each, or one for each block.
    """
    return operator.facts.weighted and len(operator.constants) > len(operator.facts.constants)


def widens(operator: Operator, model: Model) -> bool:
    """Whether a sum of products of floats has weights of float16 or of int8 with steps, which become floats
    where they are used.
    """
    halves = operator.facts.weighted and model.tensors[operator.constants[0]].dtype == "float16"
    return halves or is_stepped(operator)


def in_four_bits(tensor: Tensor) -> bool:
    """Whether a constant of int8 is from -8 to 7, and large enough to be kept so."""
    if tensor.data is None or tensor.dtype != "int8" or tensor.bytes < _FEWEST:
        return False
    return not any(some.translate(None, _FOUR_BITS) for some in (tensor.data[:_FIRST], tensor.data))


def beyond_plain(
    operator: Operator, model: Model, *, grouped: bool = False, wide: bool = False, offset: bool = False
) -> str | None:
    """The reason why a sum of products is not in the plain form: values of 8 bits or floats, one group of
    channels unless `grouped`, unless `offset` weights without zero point, and, unless `wide`, sums of 32
    bits. None for the plain form.

    Kernels and engines that know the plain form alone have to refuse all others.
    """
    if has_narrow_weights(operator, model):
        return "floats times int8 weights"
    groups = groups_of(operator, model)
    if groups > 1 and not grouped:
        return f"{groups} groups of channels"
    weights = model.tensors[operator.constants[0]].quantization
    if weights is not None and any(weights.zero_point) and not offset:
        return "weights with a zero point other than 0"
    for name in (*operator.inputs, *operator.constants, operator.output):
        if not wide and model.tensors[name].dtype in _WIDE:
            return f"{model.tensors[name].dtype} `{name}`"
    return None
