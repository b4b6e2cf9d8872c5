"""Random products that stay integers for `s8_integers.h`, and what numpy says about them."""

from collections.abc import Iterator

import numpy as np

from target_arch.backends.plain_c.kernels import integers
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.plan.model import Model, Tensor
from tests.backends.c.kernel_cases import stored, weights_of
from tests.backends.c.kernel_program import Case
from tests.backends.c.one import Array, constant, one_operator


def integer_model(x: Array, w: Array, zero: int | None) -> Model:
    """A product of `x` with weights [N,K]; with a zero point that is a number, or without one an input."""
    outputs, inputs = w.shape
    tensors = [Tensor(name="x", shape=x.shape, dtype=str(x.dtype))]
    stated = {"in_features": inputs, "operator": "integer_product"}
    if zero is None:
        tensors.append(Tensor(name="zero", shape=(), dtype=str(x.dtype)))
    else:
        stated["zero"] = zero
    out = Tensor(name="out", shape=(*x.shape[:-1], outputs), dtype="int32")
    weights = constant(Tensor(name="w", shape=w.shape, dtype="int8"), w)
    return one_operator("products", "onnx", tensors, out, (weights,), **stated)


def integer_cases(rng: np.random.Generator, layout: WeightLayout) -> Iterator[Case]:
    """Products of few and many rows, some longer than a panel, of both types."""
    sizes = ((1, 64, 12), (7, 33, 35), (19, 16, 16), (1, 7, 9), (3, 2500, 17), (4, 130, 1))
    for number, (rows, inputs, outputs) in enumerate(sizes):
        dtype = ("int8", "uint8")[number % 2]
        x, w = stored(rng, (rows, inputs), dtype), weights_of(rng, (outputs, inputs))
        zero = stored(rng, (1,), dtype)
        known = int(zero[0]) if number % 3 == 0 else None
        model = integer_model(x, w, known)
        assert integers.refusal(model.operators[0], model, layout, bounded=False) is None
        yield Case(
            name=f"integers {rows}x{inputs}x{outputs} {dtype}",
            made=integers.made(model.operators[0], model, layout),
            inputs=(x,) if known is not None else (x, zero),
            expected=((x.astype(np.int64) - int(zero[0])) @ w.astype(np.int64).T).astype(np.int32),
        )
