"""Which operators have a form for HVX, with its packed constants, its C and its object code.

int8 convolutions, depthwise convolutions and dense layers whose requantizer has one; the C is the behavioural
model of the same operands. Tests: `tests/backends/cores/hvx`.
"""

from math import prod
from typing import Any

import numpy as np
from attrs import evolve, frozen
from tvm import te, tirx

from target_arch.backends.cores.hvx.depthwise import Depthwise
from target_arch.backends.cores.hvx.products import Products
from target_arch.backends.cores.hvx.requantizer import Requantizer, requantizer
from target_arch.backends.cores.hvx.windows import image_windows, rows_of
from target_arch.backends.cores.hvx.writer import BYTE, WORD, Pointer, Writer
from target_arch.plan.arithmetic import Requantization, requantization
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import beyond_plain
from target_arch.relax.lower.lowering import lower_definition
from target_arch.relax.lower.objects import LlvmTarget, object_of

_LARGEST_SUM = (1 << 31) - 1
_LARGEST_PRODUCT = 1 << 14


@frozen(kw_only=True, eq=False)
class HvxForm:
    """An operator on vectors. Its operands are input, the two `constants`, output, and `room` bytes of
    scratch where there are any.
    """

    form: Products | Depthwise
    kind: str
    sizes: tuple[int, int]
    constants: tuple[Tensor, Tensor]

    @property
    def room(self) -> int:
        return self.form.room

    def function(self, target: LlvmTarget) -> CFunction:
        """The function in C and as an object file. Nothing of it may alias."""
        definition = self.form.definition()
        if self.room:
            room = te.placeholder((self.room,), BYTE, name="room")
            definition = evolve(definition, arguments=(*definition.arguments, room))
        made = lower_definition(definition, f"hvx_{self.kind}").function
        return evolve(made, in_place=(), object=self._object(made.name, target))

    def _object(self, name: str, target: LlvmTarget) -> bytes:
        x, out = self.sizes
        sizes = (
            x,
            *(constant.bytes for constant in self.constants),
            out,
            *((self.room,) if self.room else ()),
        )
        names = ("x", "w", "scales", "out", "room")
        pointers = tuple(Pointer(name=each, size=size) for each, size in zip(names, sizes, strict=False))
        writer = Writer()
        given = pointers if self.room else (*pointers, pointers[-1])
        self.form.write(writer, given)
        function = tirx.PrimFunc([pointer.data for pointer in pointers], writer.body())
        return object_of(function.with_attr("tirx.noalias", True), name, target)


def hvx_form(operator: Operator, model: Model) -> HvxForm | None:
    """The form of an operator, None where it has none."""
    if operator.kind not in _FORMS or operator.arithmetic is not Arithmetic.TFLITE:
        return None
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
    constants = (
        _constant(operator, "weights", form.weights(weights)),
        _constant(operator, "scales", form.scales(folded)),
    )
    return HvxForm(form=form, kind=operator.kind, sizes=(x.bytes, out.bytes), constants=constants)


def _conv2d(operator: Operator, model: Model, scale: Requantizer) -> Products | None:
    o, *_, channels = model.tensors[operator.constants[0]].shape
    windows = image_windows(operator, model)
    if windows.channels != channels:
        return None
    if windows.plain:
        windows = rows_of(windows.pixels, channels)
    return Products(windows=windows, outputs=o, requantizer=scale)


def _dense(operator: Operator, model: Model, scale: Requantizer) -> Products:
    outputs, inputs = model.tensors[operator.constants[0]].shape
    count = prod(model.tensors[operator.inputs[0]].shape) // inputs
    return Products(windows=rows_of(count, inputs), outputs=outputs, requantizer=scale)


def _depthwise(operator: Operator, model: Model, scale: Requantizer) -> Depthwise | None:
    outputs = model.tensors[operator.constants[0]].shape[-1]
    windows = image_windows(operator, model)
    return Depthwise(windows=windows, requantizer=scale) if windows.channels == outputs else None


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
