"""TFLite files of one operator, and what LiteRT's reference kernels make of them."""

from typing import Any

from target_arch.plan.model import Model, Tensor
from tests.backends.c.one import Array, array_of


def blob(
    model: Model, name: str, version: int, options: tuple[str, dict[str, Any]] | None, extra: Array | None
) -> bytes:
    """A TFLite file of a model of one operator.

    `name` is the builtin operator, `options` the name of its options table and what is in it, `extra` an
    int32 operand that the model does not know (the axes of a MEAN).
    """
    from conformance.tflite_files import TfliteFile

    (operator,) = model.operators
    operands = [model.tensors[key] for key in (*operator.inputs, *operator.constants)]
    if extra is not None:
        operands.append(Tensor(name="extra", shape=extra.shape, dtype="int32", data=extra.tobytes()))
    file = TfliteFile()
    inputs = [_added(file, tensor) for tensor in operands]
    output = file.output(*_form(model.tensors[operator.output]))
    file.operator(name, inputs, [output], options, version)
    return file.content()


def _added(file: Any, tensor: Tensor) -> int:
    if tensor.data is None:
        return int(file.input(*_form(tensor)))
    axis = 0 if tensor.quantization is None else tensor.quantization.axis or 0
    return int(file.tensor(*_form(tensor), data=array_of(tensor), axis=axis))


def _form(tensor: Tensor) -> tuple[tuple[int, ...], str, list[float] | None, int]:
    """Shape, type, scales and zero point."""
    if tensor.quantization is None:
        return tensor.shape, tensor.dtype, None, 0
    (zero_point,) = set(tensor.quantization.zero_point)
    return tensor.shape, tensor.dtype, list(tensor.quantization.scale), zero_point


class Reference:
    """LiteRT's reference kernels on a model file."""

    def __init__(self, content: bytes) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self._interpreter = Interpreter(
            model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
        )
        self._interpreter.allocate_tensors()

    def __call__(self, *inputs: Array) -> Array:
        for detail, values in zip(self._interpreter.get_input_details(), inputs, strict=True):
            self._interpreter.set_tensor(detail["index"], values)
        self._interpreter.invoke()
        result: Array = self._interpreter.get_tensor(self._interpreter.get_output_details()[0]["index"])
        return result
