"""Sums, differences and products of two tensors of 8-bit values for `s8_add.h` and `s8_mul.h`, and what plain
integers say about them.
"""

from collections.abc import Iterator

import numpy as np

from target_arch.backends.plain_c.kernels import places
from target_arch.plan import arithmetic
from tests.backends.c.kernel_cases import added, finished, stored
from tests.backends.c.kernel_program import Case
from tests.backends.c.one import constant, one_operator, quantized

_SHAPES = (((3, 5, 35), (3, 5, 35)), ((4, 83), (83,)), ((2, 64), (2, 64)), ((3, 7), (7,)))
_TYPES = (("int8", "int8", "int8"), ("uint8", "int8", "uint8"), ("int8", "uint8", "int8"))


def place_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Both roundings, all types; a second operand with as many elements, or a constant row for all rows."""
    for number, (whole, part) in enumerate(_SHAPES):
        for kind in ("add", "sub", "mul"):
            for rule in ("tflite", "onnx"):
                types = (
                    _TYPES[(number + len(kind) + len(rule)) % 3]
                    if kind == "mul"
                    else (_TYPES[number % 2][0],) * 3
                )
                a, b = stored(rng, whole, types[0]), stored(rng, part, types[1])
                grids = [
                    quantized("a", whole, 0.05, 3, types[0]),
                    quantized("b", part, 0.021, 11, types[1]),
                ]
                out = quantized("out", whole, 0.06, 5, types[2])
                known = () if whole == part else (constant(grids[1], b),)
                inputs = grids if whole == part else grids[:1]
                model = one_operator(kind, rule, inputs, out, known)
                (operator,) = model.operators
                assert places.refusal(operator, model) is None
                if kind == "mul":
                    r = arithmetic.requantization(operator, model)
                    product = (a.astype(np.int64) + r.input_offset) * (b.astype(np.int64) + r.second_offset)
                    expected = finished(r, product, types[2])
                else:
                    expected = added(model, (a, np.broadcast_to(b, whole)), types[2])
                yield Case(
                    name=f"{kind} {rule} {types} {whole}",
                    made=places.made(operator, model),
                    inputs=(a,) if known else (a, b),
                    expected=expected,
                )
