"""TFLite files made operator by operator, for benchmarks and tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from attrs import define, field
from flatbuffers import flexbuffers

Array = np.ndarray[Any, Any]
Options = tuple[str, dict[str, Any]]
Scale = float | list[float] | None


@define
class TfliteFile:
    """A model under construction; tensors are named by their index."""

    _graph: Any = field(factory=schema.SubGraphT)
    _model: Any = field(factory=schema.ModelT)
    _codes: dict[tuple[str, int], int] = field(factory=dict)
    subgraphs: list["TfliteFile"] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        if self._model.subgraphs is None:
            self._model.version, self._model.subgraphs = 3, []
            self._model.buffers, self._model.operatorCodes = [schema.BufferT()], []
        self._model.subgraphs.append(self._graph)
        self._graph.tensors, self._graph.operators = [], []
        self._graph.inputs, self._graph.outputs = [], []

    def subgraph(self) -> "TfliteFile":
        """A further graph of the model, the next in number."""
        self.subgraphs.append(TfliteFile(model=self._model, codes=self._codes))
        return self.subgraphs[-1]

    def tensor(
        self,
        shape: tuple[int, ...],
        dtype: str,
        scale: Scale = None,
        zero_point: int = 0,
        *,
        data: Array | None = None,
        axis: int = 0,
    ) -> int:
        """A new tensor; a constant where `data` is given. A list of scales is along `axis`."""
        made, buffer = schema.TensorT(), schema.BufferT()
        made.name, made.shape = f"t{len(self._graph.tensors)}", list(shape)
        made.type = getattr(schema.TensorType, dtype.upper())
        if data is not None:
            buffer.data = np.ascontiguousarray(data.astype(dtype)).ravel().view(np.uint8)
        made.buffer = len(self._model.buffers)
        self._model.buffers.append(buffer)
        if scale is not None:
            scales = scale if isinstance(scale, list) else [scale]
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = [float(np.float32(each)) for each in scales]
            made.quantization.zeroPoint = [zero_point] * len(scales)
            made.quantization.quantizedDimension = axis
        self._graph.tensors.append(made)
        return len(self._graph.tensors) - 1

    def input(self, shape: tuple[int, ...], dtype: str, scale: Scale = None, zero_point: int = 0) -> int:
        """A new tensor that is an input of the model."""
        index = self.tensor(shape, dtype, scale, zero_point)
        self._graph.inputs.append(index)
        return index

    def output(self, shape: tuple[int, ...], dtype: str, scale: Scale = None, zero_point: int = 0) -> int:
        """A new tensor that is an output of the model."""
        index = self.tensor(shape, dtype, scale, zero_point)
        self._graph.outputs.append(index)
        return index

    def mark_output(self, index: int) -> None:
        """Let a known tensor be an output of the model, too."""
        self._graph.outputs.append(index)

    def variable(self, shape: tuple[int, ...], dtype: str, scale: Scale = None, zero_point: int = 0) -> int:
        """A new tensor that keeps its values from run to run."""
        index = self.tensor(shape, dtype, scale, zero_point)
        self._graph.tensors[index].isVariable = True
        return index

    def like(
        self, index: int, shape: tuple[int, ...], *, output: bool = False, variable: bool = False
    ) -> int:
        """A new tensor of another shape, with the element type and scale of a known one."""
        known = self._graph.tensors[index]
        made = schema.TensorT()
        made.name, made.shape, made.type = f"t{len(self._graph.tensors)}", list(shape), known.type
        made.quantization, made.isVariable = known.quantization, variable
        made.buffer = len(self._model.buffers)
        self._model.buffers.append(schema.BufferT())
        self._graph.tensors.append(made)
        if output:
            self._graph.outputs.append(len(self._graph.tensors) - 1)
        return len(self._graph.tensors) - 1

    def along(self, index: int, axis: int) -> None:
        """Let the scales of a tensor be along another dimension."""
        if self._graph.tensors[index].quantization is not None:
            self._graph.tensors[index].quantization.quantizedDimension = axis

    def narrow(self) -> None:
        """Keep float32 constants of two dimensions and more in 8 bits, as dynamic-range quantization does."""
        for tensor in self._graph.tensors:
            buffer = self._model.buffers[tensor.buffer]
            if buffer.data is not None and tensor.type == schema.TensorType.FLOAT32 and len(tensor.shape) > 1:
                values = buffer.data.view(np.float32)
                scale = np.float32(np.abs(values).max(initial=1e-3) / 127)
                buffer.data = np.rint(values / scale).astype(np.int8).view(np.uint8)
                tensor.type, tensor.quantization = schema.TensorType.INT8, schema.QuantizationParametersT()
                tensor.quantization.scale, tensor.quantization.zeroPoint = [float(scale)], [0]

    def numbers(self, *values: int) -> int:
        """A constant vector of int32."""
        return self.tensor((len(values),), "int32", data=np.array(values, np.int32))

    def operator(
        self,
        code: str,
        inputs: list[int],
        outputs: list[int],
        options: Options | None = None,
        version: int = 1,
        between: Sequence[int] = (),
        custom: Mapping[str, Any] | bytes | None = None,
    ) -> None:
        """A new operator; input -1 is one that is left out, `between` are its intermediate tensors, `custom`
        the options of one that is known by its own name.
        """
        call = schema.OperatorT()
        key = (code, version)
        if key not in self._codes:
            self._codes[key] = len(self._model.operatorCodes)
            self._model.operatorCodes.append(_code(code, version, own=custom is not None))
        call.opcodeIndex, call.inputs, call.outputs = self._codes[key], inputs, outputs
        call.intermediates = list(between)
        if custom is not None:
            encoded = custom if isinstance(custom, bytes) else flexbuffers.Dumps(dict(custom))
            call.customOptions = np.frombuffer(encoded, np.uint8)
        if options is not None:
            table, values = options
            call.builtinOptionsType = getattr(schema.BuiltinOptions, table)
            call.builtinOptions = getattr(schema, f"{table}T")()
            for name, value in values.items():
                setattr(call.builtinOptions, name, value)
        self._graph.operators.append(call)

    def pack(self, index: int) -> None:
        """Store a constant of int8 in 4 bits for each element, which keep the lowest of its bits."""
        tensor = self._graph.tensors[index]
        buffer = self._model.buffers[tensor.buffer]
        halves = np.append(buffer.data & 15, np.zeros(len(buffer.data) % 2, np.uint8)).reshape(-1, 2)
        buffer.data, tensor.type = halves[:, 0] | halves[:, 1] << 4, schema.TensorType.INT4

    def open_batch(self) -> None:
        """Leave the first dimension of every tensor open in its signature."""
        for tensor in self._graph.tensors:
            tensor.shapeSignature = [-1, *tensor.shape[1:]]

    def rename(self, name: str) -> None:
        """Give all tensors one name."""
        for tensor in self._graph.tensors:
            tensor.name = name

    @property
    def outputs(self) -> int:
        """How many outputs the model has."""
        return len(self._graph.outputs)

    def content(self) -> bytes:
        """The bytes of the file."""
        builder = flatbuffers.Builder(1024)
        builder.Finish(self._model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def _code(name: str, version: int, *, own: bool) -> Any:
    made = schema.OperatorCodeT()
    if own:
        made.customCode, name = name, "CUSTOM"
    made.builtinCode = getattr(schema.BuiltinOperator, name)
    made.deprecatedBuiltinCode, made.version = min(made.builtinCode, 127), version
    return made
