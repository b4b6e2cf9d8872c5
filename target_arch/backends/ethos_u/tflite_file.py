"""A TFLite file from tensors and operators: the bytes, in the order the format requires.

Schema: TensorFlow Lite schema version 3 (`schema.fbs`), through the `tflite` package's generated builders.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from target_arch.plan.model import Tensor

IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3


@frozen(kw_only=True)
class SubgraphOperator:
    """One operator of the file.

    `code` is a name of `BuiltinOperator`, `version` that of the operator's int8 form. `options` names the
    table of its options ("" for none), `fields` the scalars in it; fields left out have the schema's default.
    """

    code: str
    version: int
    inputs: tuple[str, ...]
    output: str
    options: str = ""
    fields: Mapping[str, int | float | bool] = field(factory=dict)


@frozen(kw_only=True)
class Subgraph:
    """The one subgraph of a file. Tensors with data are constants.

    `tables` is not in the file: for the table of 256 results that Vela makes of a function, the one that it
    stands for.
    """

    tensors: tuple[Tensor, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[SubgraphOperator, ...]
    tables: Mapping[bytes, bytes] = field(factory=dict, repr=False)


def tflite_bytes(graph: Subgraph) -> bytes:
    """The file. Same graph, same bytes."""
    return _Writer(graph).file()


class _Writer:
    def __init__(self, graph: Subgraph) -> None:
        import flatbuffers
        import tflite

        self._schema: Any = tflite
        self._builder = flatbuffers.Builder(1024)
        self._graph = graph
        self._numbers = {tensor.name: number for number, tensor in enumerate(graph.tensors)}
        self._codes = tuple(dict.fromkeys((node.code, node.version) for node in graph.nodes))

    def file(self) -> bytes:
        # Buffer 0 is the empty one that activations name.
        data = [tensor.data for tensor in self._graph.tensors if tensor.data is not None]
        buffers = self._tables("ModelStartBuffersVector", [self._buffer(each) for each in (None, *data)])
        codes = self._tables("ModelStartOperatorCodesVector", [self._code(*each) for each in self._codes])
        subgraphs = self._tables("ModelStartSubgraphsVector", [self._subgraph()])
        fields = {
            "Version": SCHEMA_VERSION,
            "OperatorCodes": codes,
            "Subgraphs": subgraphs,
            "Buffers": buffers,
        }
        self._builder.Finish(self._table("Model", fields), IDENTIFIER)
        return bytes(self._builder.Output())

    def _table(self, name: str, fields: Mapping[str, Any]) -> int:
        getattr(self._schema, f"{name}Start")(self._builder)
        for key, value in fields.items():
            getattr(self._schema, f"{name}Add{key}")(self._builder, value)
        return int(getattr(self._schema, f"{name}End")(self._builder))

    def _tables(self, start: str, offsets: Sequence[int]) -> int:
        getattr(self._schema, start)(self._builder, len(offsets))
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return int(self._builder.EndVector())

    def _numpy(self, values: Sequence[float], dtype: str) -> int:
        import numpy as np

        return int(self._builder.CreateNumpyVector(np.array(values, dtype=dtype)))

    def _buffer(self, data: bytes | None) -> int:
        if data is None:
            return self._table("Buffer", {})
        # LiteRT wants constants aligned to 16 B.
        self._builder.StartVector(1, len(data), 16)
        self._builder.head -= len(data)
        self._builder.Bytes[self._builder.head : self._builder.head + len(data)] = data
        return self._table("Buffer", {"Data": int(self._builder.EndVector())})

    def _code(self, code: str, version: int) -> int:
        number = getattr(self._schema.BuiltinOperator, code)
        # Readers of the old schema look at the field of eight bits, which ends at 127.
        fields = {"DeprecatedBuiltinCode": min(number, 127), "Version": version, "BuiltinCode": number}
        return self._table("OperatorCode", fields)

    def _subgraph(self) -> int:
        graph = self._graph
        numbers = iter(range(1, len(graph.tensors) + 1))
        held = [next(numbers) if tensor.data is not None else 0 for tensor in graph.tensors]
        tensors = [self._tensor(*pair) for pair in zip(graph.tensors, held, strict=True)]
        nodes = [self._node(node) for node in graph.nodes]
        fields = {
            "Tensors": self._tables("SubGraphStartTensorsVector", tensors),
            "Inputs": self._numpy([self._numbers[name] for name in graph.inputs], "int32"),
            "Outputs": self._numpy([self._numbers[name] for name in graph.outputs], "int32"),
            "Operators": self._tables("SubGraphStartOperatorsVector", nodes),
        }
        return self._table("SubGraph", fields)

    def _tensor(self, tensor: Tensor, buffer: int) -> int:
        fields = {
            "Shape": self._numpy(tensor.shape, "int32"),
            "Type": getattr(self._schema.TensorType, tensor.dtype.upper()),
            "Buffer": buffer,
            "Name": self._builder.CreateString(tensor.name),
        }
        if tensor.quantization is not None:
            fields["Quantization"] = self._quantization(tensor)
        return self._table("Tensor", fields)

    def _quantization(self, tensor: Tensor) -> int:
        quantization = tensor.quantization
        assert quantization is not None
        fields = {
            "Scale": self._numpy(quantization.scale, "float32"),
            "ZeroPoint": self._numpy(quantization.zero_point, "int64"),
            "QuantizedDimension": quantization.axis or 0,
        }
        return self._table("QuantizationParameters", fields)

    def _node(self, node: SubgraphOperator) -> int:
        fields: dict[str, Any] = {
            "OpcodeIndex": self._codes.index((node.code, node.version)),
            "Inputs": self._numpy([self._numbers[name] for name in node.inputs], "int32"),
            "Outputs": self._numpy([self._numbers[node.output]], "int32"),
        }
        if node.options:
            fields["BuiltinOptionsType"] = getattr(self._schema.BuiltinOptions, node.options)
            fields["BuiltinOptions"] = self._table(node.options, node.fields)
        return self._table("Operator", fields)
