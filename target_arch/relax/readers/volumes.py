"""Convolutions of volumes in float32 as sums of convolutions of images, one for each slice of the kernel
along the depth: these are known as operators of their own, with kernels.
"""

from typing import Any

from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.expr_functor import PyExprMutator, mutator

from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.graph import dtype_of, operator_name, shape_of
from target_arch.relax.site import constant

_CALL = "nn.conv3d"
_LAST = (0, 2, 3, 4, 1)
"""The axes of a volume [N,C,D,H,W] with channels last."""
_FIRST = (0, 4, 1, 2, 3)


def with_sliced_volumes(module: Any) -> Any:
    """The module with convolutions of images for those of volumes whose weights are constants."""
    calls = (binding.value for binding in bindings_of(module["main"]))
    if not any(_is_known(call) for call in calls):
        return module
    mutated = _Slices(module)
    mutated.builder_.update_func(module.get_global_var("main"), mutated.visit_expr(module["main"]))
    return mutated.builder_.get()


def _is_known(call: Any) -> bool:
    if operator_name(call) != _CALL or not isinstance(call.args[1], GenericConst):
        return False
    attributes = call.attrs
    layouts = (str(attributes.data_layout), str(attributes.kernel_layout), int(attributes.groups))
    return dtype_of(call) == "float32" and layouts == ("NCDHW", "OIDHW", 1)


@mutator
class _Slices(PyExprMutator):  # type: ignore[misc]
    """Takes the slices of such a call's kernel one by one."""

    def visit_call_(self, op: Any) -> Any:
        if not _is_known(op):
            return super().visit_call_(op)
        weights, depth = op.args[1].value.numpy(), shape_of(op)[2]
        step, apart = int(op.attrs.strides[0]), int(op.attrs.dilation[0])
        x, total = self._padded(op, self.visit_expr(op.args[0])), None
        for number in range(weights.shape[2]):
            first = number * apart
            images = self._images(x, first, first + (depth - 1) * step + 1, step)
            part = self._convolved(op, images, weights[:, :, number])
            total = part if total is None else self.builder_.emit(relax.op.add(total, part))
        _, height, width, channels = shape_of(total)
        volume = (shape_of(op)[0], depth, height, width, channels)
        return relax.op.permute_dims(self.builder_.emit(relax.op.reshape(total, volume)), _FIRST)

    def _padded(self, op: Any, x: Any) -> Any:
        """The volume with channels last, and with zeros before its first image and behind its last one."""
        last = self.builder_.emit(relax.op.permute_dims(x, _LAST))
        front, back = int(op.attrs.padding[0]), int(op.attrs.padding[3])
        if not front and not back:
            return last
        return self.builder_.emit(relax.op.nn.pad(last, [0, 0, front, back, 0, 0, 0, 0, 0, 0]))

    def _images(self, x: Any, first: int, stop: int, step: int) -> Any:
        """Images of the volumes in a row of images."""
        some = self.builder_.emit(relax.op.strided_slice(x, [1], [first], [stop], [step]))
        batch, depth, *image = shape_of(some)
        return self.builder_.emit(relax.op.reshape(some, (batch * depth, *image)))

    def _convolved(self, op: Any, images: Any, weights: Any) -> Any:
        _, top, left, _, bottom, right = (int(each) for each in op.attrs.padding)
        call = relax.op.nn.conv2d(
            images,
            constant(weights),
            strides=[int(each) for each in op.attrs.strides[1:]],
            padding=[top, left, bottom, right],
            dilation=[int(each) for each in op.attrs.dilation[1:]],
            data_layout="NHWC",
            kernel_layout="OIHW",
        )
        return self.builder_.emit(call)
