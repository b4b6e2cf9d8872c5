"""Elementwise operators and products of matrices."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from tvm import relax, te, tirx

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.site import NotConverted, constant


def _clamp(call: TorchCall) -> Any:
    """Whole numbers have no infinite bounds, and bounds may be tensors."""
    x = call.argument("self")
    low, high = _bound(call, "min"), _bound(call, "max")
    if dtype_of(x).startswith("float") and not any(isinstance(each, relax.Expr) for each in (low, high)):
        return call.emit(relax.op.clip(x, -np.inf if low is None else low, np.inf if high is None else high))
    for bound, limited in ((low, relax.op.maximum), (high, relax.op.minimum)):
        if bound is not None:
            other = bound if isinstance(bound, relax.Expr) else constant(bound, dtype_of(x))
            x = call.emit(limited(x, other))
    return x


def _bound(call: TorchCall, name: str) -> Any:
    known = [argument.name for argument in call.node.target._schema.arguments]
    return call.argument(name) if name in known else None


def _of_numbers(call: TorchCall, *, largest: bool) -> Any:
    """Extrema that prefer a number to what is none."""
    x, y = call.tensors("self", "other")
    found = call.emit(relax.op.maximum(x, y) if largest else relax.op.minimum(x, y))
    if not call.result_dtype().startswith("float"):
        return found
    shape = call.result_shape()
    first, second = call.spread(x, shape), call.spread(y, shape)
    found = call.emit(relax.op.where(call.emit(relax.op.isnan(second)), first, found))
    return call.emit(relax.op.where(call.emit(relax.op.isnan(first)), second, found))


def _copysign(call: TorchCall) -> Any:
    """A zero has a sign, too: that of its reciprocal."""
    x, sign = call.tensors("self", "other")
    if not isinstance(sign, relax.Expr):
        sign = constant(sign, call.result_dtype())
    zero = constant(0, call.result_dtype())
    turned = call.emit(relax.op.divide(constant(1, call.result_dtype()), sign))
    below = [call.emit(relax.op.less(each, zero)) for each in (sign, turned)]
    negative = call.spread(call.emit(relax.op.logical_or(*below)), call.result_shape())
    magnitude = call.spread(call.emit(relax.op.abs(x)), call.result_shape())
    return call.emit(relax.op.where(negative, call.emit(relax.op.negative(magnitude)), magnitude))


def _exp2(call: TorchCall) -> Any:
    return call.emit(relax.op.power(constant(2, call.result_dtype()), call.argument("self")))


def _ldexp(call: TorchCall) -> Any:
    x, power = (call.cast(each, call.result_dtype()) for each in call.tensors("self", "other"))
    return call.emit(relax.op.multiply(x, call.emit(relax.op.power(constant(2, call.result_dtype()), power))))


def _weighed(call: TorchCall, *, op: Callable[[Any, Any], Any]) -> Any:
    """Sum or difference, the second operand times `alpha`."""
    x, y = call.tensors("self", "other")
    alpha, dtype = call.argument("alpha"), call.result_dtype()
    x = x if isinstance(x, relax.Expr) else constant(x, dtype)
    if not isinstance(y, relax.Expr):
        return call.emit(op(x, constant(y * alpha, dtype)))
    if alpha != 1:
        y = call.emit(relax.op.multiply(y, constant(alpha, dtype)))
    return call.emit(op(x, y))


def _elu(call: TorchCall) -> Any:
    """scale * x above zero, scale * alpha * (exp(x * input_scale) - 1) below."""
    emit, x, dtype = call.emit, call.argument("self"), call.result_dtype()
    alpha, scale, input_scale = (float(call.argument(name)) for name in ("alpha", "scale", "input_scale"))
    below = emit(relax.op.minimum(x, constant(0, dtype)))
    power = emit(relax.op.exp(emit(relax.op.multiply(below, constant(input_scale, dtype)))))
    low = emit(relax.op.subtract(power, constant(1, dtype)))
    low = emit(relax.op.multiply(low, constant(alpha * scale, dtype)))
    high = emit(relax.op.multiply(emit(relax.op.nn.relu(x)), constant(scale, dtype)))
    return emit(relax.op.add(high, low))


def _drawn_slope(call: TorchCall) -> Any:
    """A leaky ReLU whose slope is drawn in training only, else the mean of its limits."""
    x, dtype = call.argument("self"), call.result_dtype()
    slope = (float(call.argument("lower")) + float(call.argument("upper"))) / 2
    below = call.emit(relax.op.multiply(x, constant(slope, dtype)))
    return [call.emit(relax.op.where(call.emit(relax.op.less(x, constant(0, dtype))), below, x))]


def _shifted(call: TorchCall, *, left: bool) -> Any:
    """By more bits than there are, nothing or the sign is left."""
    dtype, shape = call.result_dtype(), call.result_shape()
    x, by = (
        call.spread(call.cast(each, dtype) if isinstance(each, relax.Expr) else constant(each, dtype), shape)
        for each in call.tensors("self", "other")
    )
    limits = np.iinfo(dtype)
    nothing = tirx.const(0, dtype)

    def shifted(one: Any, bits: Any) -> Any:
        beyond = tirx.any(bits < 0, bits >= limits.bits) if limits.min else bits >= limits.bits
        kept = tirx.Select(beyond, nothing, bits)
        if left:
            unsigned = f"uint{limits.bits}"
            found = tirx.shift_left(one.astype(unsigned), kept.astype(unsigned)).astype(dtype)
            return tirx.Select(beyond, nothing, found)
        sign = tirx.shift_right(one, tirx.const(limits.bits - 1, dtype)) if limits.min else nothing
        return tirx.Select(beyond, sign, tirx.shift_right(one, kept))

    def definition(given: Any, bits: Any) -> Any:
        return te.compute(shape, lambda *at: shifted(given(*at), bits(*at)))

    return call.computed(definition, x, by)


def _filled(call: TorchCall) -> Any:
    """A constant: TVM cannot fill a tensor with an infinite value."""
    return constant(np.full(call.result_shape(), call.argument("fill_value")), call.result_dtype())


def _where(call: TorchCall) -> Any:
    first, second = (
        call.spread(call.cast(each, call.result_dtype()), call.result_shape())
        for each in call.tensors("self", "other")
    )
    condition = call.spread(call.cast(call.argument("condition"), "bool"), call.result_shape())
    return call.emit(relax.op.where(condition, first, second))


def _fmod(call: TorchCall) -> Any:
    """The remainder with the sign of the dividend."""
    x, y = call.tensors("self", "other")
    return call.by_onnx(
        "Mod", x, y if isinstance(y, relax.Expr) else constant(y, call.result_dtype()), fmod=1
    )


def _power(call: TorchCall) -> Any:
    """Powers of whole numbers wrap around, so they are products: their exponent must be known."""
    x, y = call.tensors("self", "exponent")
    if call.result_dtype() == "float32":
        pair = (each if isinstance(each, relax.Expr) else constant(each, "float32") for each in (x, y))
        return call.emit(relax.op.power(*pair))
    if not isinstance(y, int) or y < 0 or not isinstance(x, relax.Expr):
        raise NotConverted("whole numbers to a power that is computed, or less than 0")
    if not y:
        return call.spread(constant(1, call.result_dtype()), call.result_shape())
    result = x
    for bit in f"{y:b}"[1:]:
        result = call.emit(relax.op.multiply(result, result))
        result = call.emit(relax.op.multiply(result, x)) if bit == "1" else result
    return result


def _product(call: TorchCall, names: tuple[str, str] = ("self", "mat2")) -> Any:
    x, y = call.tensors(*names)
    return call.emit(relax.op.matmul(x, y, out_dtype=call.result_dtype()))


def _added_product(call: TorchCall, names: tuple[str, str]) -> Any:
    """beta * self + alpha * product, where a factor of zero leaves its term out."""
    emit, dtype = call.emit, call.result_dtype()
    terms: list[Any] = []
    x, y = call.tensors(*names)
    rank = len(call.result_shape())
    for factor, term in ((call.argument("beta"), call.argument("self")), (call.argument("alpha"), None)):
        if factor == 0:
            continue
        if dtype != "float32" and factor != int(factor):
            raise NotConverted(f"the factor {factor} with elements of {dtype}")
        value = emit(relax.op.matmul(x, y, out_dtype=dtype)) if term is None else term
        if term is None and len(shape_of(value)) > rank:
            value = emit(relax.op.sum(value, 0))
        terms.append(value if factor == 1 else emit(relax.op.multiply(value, constant(factor, dtype))))
    if not terms:
        return call.spread(constant(0, dtype), call.result_shape())
    return call.spread(terms[0], call.result_shape()) if len(terms) == 1 else emit(relax.op.add(*terms))


def _trilinear(call: TorchCall) -> Any:
    """The sum of the products of three tensors, each with new dimensions of one element."""
    product = None
    for number in (1, 2, 3):
        x = call.argument(f"i{number}")
        for axis in sorted(call.argument(f"expand{number}")):
            x = call.emit(relax.op.expand_dims(x, axis))
        product = x if product is None else call.emit(relax.op.multiply(product, x))
    return call.emit(relax.op.sum(product, list(call.argument("sumdim"))))


def _distances(call: TorchCall) -> Any:
    """Between each row of one and each of the other."""
    first, second = call.tensors("x1", "x2")
    p = float(call.argument("p"))
    apart = call.emit(relax.op.subtract(_row(call, first, -2), _row(call, second, -3)))
    size = call.emit(relax.op.abs(apart))
    if p == np.inf:
        return call.by_onnx("ReduceMax", size, axes=[len(shape_of(size)) - 1], keepdims=0)
    if p not in (1.0, 2.0):
        raise NotConverted(f"the norm {p:g}")
    powers = size if p == 1 else call.emit(relax.op.multiply(size, size))
    total = call.emit(relax.op.sum(powers, -1))
    return total if p == 1 else call.emit(relax.op.sqrt(total))


def _row(call: TorchCall, value: Any, axis: int) -> Any:
    return call.emit(relax.op.expand_dims(value, axis))


CONVERTERS: Mapping[str, Convert] = {
    "_cdist_forward.default": _distances,
    "_trilinear.default": _trilinear,
    "add.Scalar": partial(_weighed, op=relax.op.add),
    "add.Tensor": partial(_weighed, op=relax.op.add),
    "addbmm.default": partial(_added_product, names=("batch1", "batch2")),
    "addmm.default": partial(_added_product, names=("mat1", "mat2")),
    "addmv.default": partial(_added_product, names=("mat", "vec")),
    "baddbmm.default": partial(_added_product, names=("batch1", "batch2")),
    "bmm.default": _product,
    **{
        f"{name}{form}": partial(_shifted, left=left)
        for name, left in (
            ("__lshift__", True),
            ("__rshift__", False),
            ("bitwise_left_shift", True),
            ("bitwise_right_shift", False),
        )
        for form in (".Tensor", ".Scalar", ".Tensor_Scalar", ".Scalar_Tensor")
    },
    "clamp.Tensor": _clamp,
    "clamp.default": _clamp,
    "clamp_max.Tensor": _clamp,
    "clamp_max.default": _clamp,
    "clamp_min.Tensor": _clamp,
    "clamp_min.default": _clamp,
    "copysign.Scalar": _copysign,
    "copysign.Tensor": _copysign,
    "elu.default": _elu,
    "exp2.default": _exp2,
    "fmax.default": partial(_of_numbers, largest=True),
    "fmin.default": partial(_of_numbers, largest=False),
    "fmod.Scalar": _fmod,
    "fmod.Tensor": _fmod,
    "full.default": _filled,
    "full_like.default": _filled,
    "ldexp.Tensor": _ldexp,
    "mm.default": _product,
    "pow.Scalar": _power,
    "pow.Tensor_Tensor": _power,
    "rrelu_with_noise_functional.default": _drawn_slope,
    "sub.Scalar": partial(_weighed, op=relax.op.subtract),
    "sub.Tensor": partial(_weighed, op=relax.op.subtract),
    "where.self": _where,
}
