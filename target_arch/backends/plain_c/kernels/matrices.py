"""Products of two activations as kernels take them: the second matrix has a pair, or is the same for all."""

from math import prod

from target_arch.plan.model import Model, Operator


def unpaired(operator: Operator, model: Model) -> str | None:
    """Why kernels do not take the shapes of a matmul, None where they do."""
    a, b = (model.tensors[name].shape for name in operator.inputs)
    if len(a) < 2 or len(b) < 2 or (len(b) > 2 and a[:-2] != b[:-2]):
        return "a matrix that is repeated, or a vector"
    return None


def sizes(operator: Operator, model: Model) -> tuple[int, int, int, int]:
    """Pairs of matrices; rows of the first, its columns, columns of the second. Rows of all are one matrix's
    where the second is the same for them.
    """
    a, b = (model.tensors[name].shape for name in operator.inputs)
    batch = prod(b[:-2])
    return batch, prod(a[:-1]) // batch, a[-1], b[-1]
