"""TFLite files of one operator, and what LiteRT's reference kernels make of them."""

from typing import Any

import numpy as np

from target_arch.plan.model import Model, Tensor
from tests.backends.c.one import Array, array_of


def blob(
    model: Model, name: str, version: int, options: tuple[str, dict[str, Any]] | None, extra: Array | None
) -> bytes:
    """A TFLite file of a model of one operator.

    `name` is the builtin operator, `options` the name of its options table and what is in it, `extra` an
    int32 operand that the model does not know (the axes of a MEAN).
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    (operator,) = model.operators
    file, graph, code, call = schema.ModelT(), schema.SubGraphT(), schema.OperatorCodeT(), schema.OperatorT()
    file.version, file.buffers, file.operatorCodes, file.subgraphs = 3, [schema.BufferT()], [code], [graph]
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, name)
    code.version = version
    operands = [model.tensors[key] for key in (*operator.inputs, *operator.constants)]
    if extra is not None:
        operands.append(Tensor(name="extra", shape=extra.shape, dtype="int32", data=extra.tobytes()))
    graph.tensors = [_tensor(schema, file, tensor) for tensor in (*operands, model.tensors[operator.output])]
    call.inputs, call.outputs = list(range(len(operands))), [len(operands)]
    if options is not None:
        table, values = options
        call.builtinOptionsType = getattr(schema.BuiltinOptions, table)
        call.builtinOptions = getattr(schema, f"{table}T")()
        for key, value in values.items():
            setattr(call.builtinOptions, key, value)
    graph.operators, graph.outputs = [call], call.outputs
    graph.inputs = [index for index, tensor in enumerate(operands) if tensor.data is None]
    builder = flatbuffers.Builder(1024)
    builder.Finish(file.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(schema: Any, file: Any, tensor: Tensor) -> Any:
    made, buffer = schema.TensorT(), schema.BufferT()
    made.name, made.shape = tensor.name, list(tensor.shape)
    made.type = getattr(schema.TensorType, tensor.dtype.upper())
    if tensor.data is not None:
        buffer.data = array_of(tensor).ravel().view(np.uint8)
    made.buffer = len(file.buffers)
    file.buffers.append(buffer)
    if tensor.quantization is not None:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale = list(tensor.quantization.scale)
        made.quantization.zeroPoint = list(tensor.quantization.zero_point)
        made.quantization.quantizedDimension = tensor.quantization.axis or 0
    return made


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
