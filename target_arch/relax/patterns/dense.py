"""Matrix multiplications by constant weights: `dense`, integer and float."""

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.patterns import weighted
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Match, Matcher
from target_arch.relax.patterns.weighted import Weighted

_CALLS = ("matmul",)


def named_dense() -> Matcher:
    """A dense layer that the reader of the model stated as such."""
    return named(OperatorKind.DENSE)


def integer_dense() -> Matcher:
    """`dequantize → matmul by constant → [+ bias] → [relu | clip] → quantize → [clip]`."""
    return weighted.integer(_CALLS, _read)


def float_dense() -> Matcher:
    """`matmul by constant → [+ bias] → [relu | clip]` on floats."""
    return weighted.real(_CALLS, _read)


def _read(match: Match) -> Weighted | None:
    """The second factor as [out, in]; None where it is no constant matrix, the same for the whole batch.

    Exporters repeat a matrix for each of a batch: PyTorch's attention does so with its weights, for every
    position.
    """
    call = match.required("call")
    found, shape = match.constant(call.args[1]), shape_of(call.args[0])
    matrix = None if found is None else found.matrix()
    if matrix is None or len(shape) < 2 or shape_of(call)[:-1] != shape[:-1]:
        return None
    weights = matrix.transposed((1, 0))
    channels, in_features = weights.values.shape
    return Weighted(
        kind=OperatorKind.DENSE,
        weights=weights,
        channels=channels,
        attributes={"in_features": in_features},
    )
