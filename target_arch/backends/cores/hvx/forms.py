"""Which operators have a form for HVX, with its packed constants, its C and its object code.

int8 convolutions, depthwise convolutions and dense layers whose requantizer has one, sums and differences of
two tensors of int8, averages of whole images; the C is the behavioural model of the same operands.
Tests: `tests/backends/cores/hvx`.
"""

from math import prod
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.averages import ImageAverage, average_of
from target_arch.backends.cores.hvx.depthwise import Depthwise
from target_arch.backends.cores.hvx.pixels import PixelProducts, few
from target_arch.backends.cores.hvx.products import Products
from target_arch.backends.cores.hvx.requantizer import Requantizer, requantizer
from target_arch.backends.cores.hvx.rows import RowProducts, fills
from target_arch.backends.cores.hvx.sums import OPERANDS, TensorSum, sum_of
from target_arch.backends.cores.hvx.windows import ImageWindows, image_windows, rows_of
from target_arch.backends.cores.hvx.writer import BYTE, BYTES, WORD, Pointer, Writer
from target_arch.plan.arithmetic import Requantization, requantization
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import beyond_plain
from target_arch.relax.lower.lowering import lower_definition
from target_arch.relax.lower.objects import LlvmTarget, object_of

ALIGNED = ("w", "scales", "routes", "room")
"""Parameters that begin at whole vectors."""
_SCALED = 2
"""Constants of every layer: weights and scales."""
_LARGEST_SUM = (1 << 31) - 1
_LARGEST_PRODUCT = 3 << 14
"""Of two bytes of which one is taken as from 0 to 255, with 128 times the other, which is taken from it."""
Weighted = Products | PixelProducts | RowProducts


@frozen(kw_only=True, eq=False)
class HvxForm:
    """An operator on vectors. Its operands are inputs, `constants`, output, and `room` bytes of scratch where
    there are any; `sizes` are the bytes of inputs and output.
    """

    form: Products | PixelProducts | RowProducts | Depthwise | TensorSum | ImageAverage
    kind: str
    sizes: tuple[int, ...]
    constants: tuple[Tensor, ...] = ()

    @property
    def room(self) -> int:
        return self.form.room

    def function(self, target: LlvmTarget) -> CFunction:
        """The function in C and as an object file. Nothing aliases but the result of a sum and an operand."""
        definition = self.form.definition()
        if len(self.constants) > _SCALED:
            routes = te.placeholder(self.constants[-1].shape, BYTE, name="routes")
            *before, out = definition.arguments
            definition = evolve(definition, arguments=(*before, routes, out))
        if self.room:
            room = te.placeholder((self.room,), BYTE, name="room")
            definition = evolve(definition, arguments=(*definition.arguments, room))
        made = lower_definition(definition, f"hvx_{self.kind}").function
        alone = made if isinstance(self.form, TensorSum) else evolve(made, in_place=())
        return evolve(alone, object=self._object(alone, target))

    def _object(self, function: CFunction, target: LlvmTarget) -> bytes:
        *inputs, out = self.sizes
        names = (
            *(f"x{n}" for n in range(len(inputs))),
            *("w", "scales", "routes")[: len(self.constants)],
            "out",
            "room",
        )
        sizes = (*inputs, *(constant.bytes for constant in self.constants), out, self.room)
        pointers = tuple(
            Pointer(name=each, size=size) for each, size in zip(names, sizes, strict=True) if size
        )
        writer = Writer()
        given = pointers if self.room else (*pointers, pointers[-1])
        self.form.write(writer, given)
        aligned = [pointer for pointer in pointers if pointer.name in ALIGNED]
        body = tirx.PrimFunc([pointer.data for pointer in pointers], writer.body(aligned))
        return object_of(body.with_attr("tirx.noalias", not function.in_place), function.name, target)


def hvx_form(operator: Operator, model: Model) -> HvxForm | None:
    """The form of an operator, None where it has none."""
    if operator.arithmetic is not Arithmetic.TFLITE:
        return None
    if operator.kind in (OperatorKind.ADD, OperatorKind.SUB):
        return _sum(operator, model)
    if operator.kind == OperatorKind.AVG_POOL2D:
        return _average(operator, model)
    return _weighted(operator, model) if operator.kind in _FORMS else None


def _sum(operator: Operator, model: Model) -> HvxForm | None:
    form = sum_of(operator, model)
    return None if form is None else HvxForm(form=form, kind=operator.kind, sizes=(form.bytes,) * OPERANDS)


def _average(operator: Operator, model: Model) -> HvxForm | None:
    form = average_of(operator, model)
    sizes = tuple(model.tensors[name].bytes for name in (operator.inputs[0], operator.output))
    return None if form is None else HvxForm(form=form, kind=operator.kind, sizes=sizes)


def _weighted(operator: Operator, model: Model) -> HvxForm | None:
    if beyond_plain(operator, model) is not None:
        return None
    x, w, bias = (model.tensors[name] for name in (*operator.inputs, *operator.constants)[:3])
    out = model.tensors[operator.output]
    if {x.dtype, w.dtype, out.dtype} != {BYTE} or bias.dtype != WORD or None in (w.data, bias.data):
        return None
    scale = requantizer(requantization(operator, model))
    form = _FORMS[operator.kind](operator, model, scale) if scale is not None else None
    if scale is None or form is None:
        return None
    weights = _array(w).reshape(_matrix(operator.kind, w.shape))
    folded = _folded(weights, _array(bias), scale.about, 0 if isinstance(form, Depthwise) else 1)
    if folded is None:
        return None
    packed = {"weights": form.weights(weights), "scales": form.scales(folded, weights)}
    routes = form.routes() if isinstance(form, PixelProducts | Depthwise) else None
    packed |= {} if routes is None else {"routes": routes}
    constants = tuple(_constant(operator, suffix, values) for suffix, values in packed.items())
    return HvxForm(form=form, kind=operator.kind, sizes=(x.bytes, out.bytes), constants=constants)


def _conv2d(operator: Operator, model: Model, scale: Requantizer) -> Weighted | None:
    o, *_, channels = model.tensors[operator.constants[0]].shape
    windows = image_windows(operator, model)
    if windows.channels != channels:
        return None
    if windows.plain:
        windows = rows_of(windows.pixels, channels)
    return _products(windows, o, scale)


def _dense(operator: Operator, model: Model, scale: Requantizer) -> Weighted:
    outputs, inputs = model.tensors[operator.constants[0]].shape
    count = prod(model.tensors[operator.inputs[0]].shape) // inputs
    return _products(rows_of(count, inputs), outputs, scale)


def _products(windows: ImageWindows, outputs: int, scale: Requantizer) -> Weighted:
    if fills(windows, outputs):
        return RowProducts(windows=windows, outputs=outputs, requantizer=scale)
    form = PixelProducts if few(windows, outputs) else Products
    return form(windows=windows, outputs=outputs, requantizer=scale)


def _depthwise(operator: Operator, model: Model, scale: Requantizer) -> Depthwise | None:
    outputs = model.tensors[operator.constants[0]].shape[-1]
    windows = image_windows(operator, model)
    small = model.tensors[operator.inputs[0]].bytes < BYTES
    if windows.channels != outputs or small:
        return None
    return Depthwise(windows=windows, requantizer=scale)


_FORMS: dict[OperatorKind | str, Any] = {
    OperatorKind.CONV2D: _conv2d,
    OperatorKind.DENSE: _dense,
    OperatorKind.DEPTHWISE_CONV2D: _depthwise,
}


def _matrix(kind: OperatorKind | str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Weights as [outputs, products], or of a depthwise convolution as [elements, channels]."""
    if kind == OperatorKind.DEPTHWISE_CONV2D:
        return prod(shape[:-1]), shape[-1]
    return shape[0], prod(shape[1:])


def _folded(weights: Any, bias: Any, about: Requantization, axis: int) -> Any:
    """The bias with the share of the input's zero point; None where a sum could leave int32 on its way."""
    total = bias.astype(np.int64) + about.input_offset * weights.astype(np.int64).sum(axis=axis)
    most = np.abs(total).max() + weights.shape[axis] * _LARGEST_PRODUCT
    return total if most <= _LARGEST_SUM else None


def _array(tensor: Tensor) -> Any:
    return np.frombuffer(tensor.data or b"", np.dtype(tensor.dtype).newbyteorder("<")).reshape(tensor.shape)


def _constant(operator: Operator, suffix: str, values: Any) -> Tensor:
    dtype = str(values.dtype)
    data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
    return Tensor(name=f"{operator.id}.hvx_{suffix}", shape=values.shape, dtype=dtype, data=data)
