"""Products of 8-bit values with constants that stay integers, as calls of `s8_integers.h`."""

from math import prod
from typing import Any

import numpy as np

from target_arch.backends.plain_c.kernels import products
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.backends.plain_c.kernels.products import Sizes, sizes_of_image
from target_arch.backends.plain_c.kernels.scale import GROUP
from target_arch.backends.plain_c.kernels.text import Made, Parameter, function, parameter, struct
from target_arch.backends.plain_c.kernels.weighted import STORED, as_int8
from target_arch.backends.plain_c.work.forms import KernelTile, Work
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import DEFINITION_NAME

_HEADER = "kernels/s8_integers.h"
_ROWS, _IMAGE = "integer_product", "integer_convolution"
_MOST_PRODUCTS = 1 << 15
"""Products of so many pairs of a value less its zero point (at most 255) and a weight stay within 31 bits."""


def refusal(operator: Operator, model: Model, layout: WeightLayout, *, bounded: bool = True) -> str | None:
    """Why an operator is no such call, None where it is one. Unless `bounded`, packed weights may take any
    size.
    """
    if operator.attributes.get(DEFINITION_NAME) not in (_ROWS, _IMAGE):
        return f"no kernel for {operator.kind}"
    w = model.tensors[operator.constants[0]]
    if any(model.tensors[name].dtype not in STORED for name in operator.inputs) or w.dtype != "int8":
        return "operands that are not 8-bit values"
    if w.data is None or prod(w.shape[1:]) > _MOST_PRODUCTS:
        return f"weights that are computed at run time, or sums of more than {_MOST_PRODUCTS} products"
    return products.outgrown(w, layout) if bounded else None


def work(operator: Operator, model: Model, layout: WeightLayout, tile: KernelTile) -> Work:
    """The work of an operator that `refusal` accepts."""
    return products.work_of(_sizes(operator, model), layout, tile)


def made(
    operator: Operator, model: Model, layout: WeightLayout, apart: int = 0, after: object = None
) -> Made:
    """The call of an operator that `refusal` accepts; rows of the output are `apart` elements apart. Nothing
    is added `after` it.
    """
    assert after is None
    x, *zeros = (model.tensors[name] for name in operator.inputs)
    out, sizes = model.tensors[operator.output], _sizes(operator, model)
    inside = (Parameter(name="w", dtype="int8"), Parameter(name="total", dtype="int32"))
    read = (parameter("x", x), *(parameter("zero", zero) for zero in zeros))
    parameters = (*read, *inside, parameter("out", out, written=True))
    rows = _rows(operator, model)
    unsigned = int(x.dtype == "uint8")
    zero = "zero[0]" if zeros else str(operator.attributes["zero"])
    members = (
        0,
        unsigned,
        apart or sizes.out[2],
        layout.depth(prod(sizes.kernel) * sizes.image[3]),
        int((rows != -128).all()),
    )
    windows = (*sizes.kernel, *sizes.stride, *sizes.dilation, *sizes.padding)
    lines = (
        struct("ta_s8_conv2d", "sizes", (*sizes.image, *sizes.out, *windows, *members)),
        f"ta_s8_integers(&sizes, {zero} - {128 * unsigned}, {as_int8(x)}x, w, total, out);",
    )
    total = np.pad(rows.sum(axis=1, dtype=np.int32), (0, -len(rows) % GROUP)).astype("<i4")
    return Made(
        function=function(
            str(operator.attributes[DEFINITION_NAME]), parameters, lines, (layout.header, _HEADER)
        ),
        packed=(
            _constant(operator, "packed", "int8", layout.packed(rows)),
            _constant(operator, "total", "int32", total.tobytes()),
        ),
    )


def _sizes(operator: Operator, model: Model) -> Sizes:
    """The sizes of the image, which has one column for rows."""
    if operator.attributes[DEFINITION_NAME] == _IMAGE:
        return sizes_of_image(operator, model)
    x, w = (model.tensors[name].shape for name in (operator.inputs[0], operator.constants[0]))
    rows = prod(x[:-1])
    return Sizes(
        image=(1, rows, 1, x[-1]),
        out=(rows, 1, w[0]),
        kernel=(1, 1),
        stride=(1, 1),
        dilation=(1, 1),
        padding=(0, 0),
    )


def _rows(operator: Operator, model: Model) -> Any:
    w = model.tensors[operator.constants[0]]
    return np.frombuffer(w.data or b"", np.int8).reshape(w.shape[0], -1)


def _constant(operator: Operator, suffix: str, dtype: str, data: bytes) -> Tensor:
    count = len(data) // np.dtype(dtype).itemsize
    return Tensor(name=f"{operator.id}.{suffix}", shape=(count,), dtype=dtype, data=data)
