"""Mutants of ONNX models that keep their form: graphs, tensors, attributes and names."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from conformance.fuzz_readers.mutate import of_bytes

EXTENTS = (0, 1, 2, 3, 5, 16, 255, -1, -2, 2**15, 2**31 - 1, 2**31, 2**40, 2**62, -(2**63), 2**63 - 1)
NUMBERS = (0.0, -0.0, 0.5, -1.0, 1e-45, 1e38, float("nan"), float("inf"), float("-inf"))
NAMES = (
    "", "x", "none", "../../x", "/etc/passwd", "a\0b", "a\u202eb", "\x1b[31m", "y" * 5000, "y\ny", "é`'\"",
)  # fmt: skip
TYPES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 99)
OPERATORS = (
    "Add", "ArgMax", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Constant",
    "ConstantOfShape", "Conv", "ConvTranspose", "DepthToSpace", "DequantizeLinear", "Einsum", "Expand",
    "Flatten", "GRU", "Gather", "GatherND", "Gemm", "If", "LSTM", "LayerNormalization", "Loop", "MatMul",
    "MaxPool", "NonMaxSuppression", "NoSuchOperator", "OneHot", "Pad", "QLinearConv", "QuantizeLinear",
    "Range", "ReduceMean", "Relu", "Reshape", "Resize", "ScatterND", "Shape", "Slice", "Softmax", "Split",
    "Squeeze", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where", "TreeEnsembleRegressor", "Scaler",
)  # fmt: skip
ATTRIBUTES = (
    "axis", "axes", "pads", "dilations", "mode", "equation", "kernel_shape", "strides", "group", "perm", "to",
    "value",
)  # fmt: skip
_MOST_EXTRA, _MOST_DEEP = 400, 20


def of_onnx(seeds: Sequence[bytes], number: int) -> bytes:
    """Most changes are of the graph, one in ten knows no format."""
    import onnx

    draw = random.Random(number)
    if draw.random() < 0.1:
        return of_bytes(seeds, number)
    model = onnx.load_model_from_string(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        draw.choice(CHANGES)(model, _graph(model.graph, draw), draw)
    return bytes(model.SerializeToString())


def _graph(graph: Any, draw: random.Random) -> Any:
    """The graph, or one of those inside of its attributes."""
    inner = [own.g for node in graph.node for own in node.attribute if own.type == 5]
    return draw.choice(inner) if inner and draw.random() < 0.5 else graph


def _names(graph: Any) -> list[str]:
    """The tensors of a graph, and one that may not be there."""
    nodes = [name for node in graph.node for name in (*node.input, *node.output)]
    return [*nodes, *(each.name for each in (*graph.input, *graph.initializer)), "none"]


def _operand(model: Any, graph: Any, draw: random.Random) -> None:
    """An operand is another tensor, one of a later node included; there is one more, or one fewer."""
    if not graph.node:
        return
    node = draw.choice(graph.node)
    side = node.input if draw.random() < 0.7 else node.output
    match draw.randrange(3):
        case 0 if side:
            side[draw.randrange(len(side))] = draw.choice(_names(graph))
        case 1 if side:
            del side[draw.randrange(len(side))]
        case _:
            side.append(draw.choice(_names(graph)))


def _swapped(model: Any, graph: Any, draw: random.Random) -> None:
    """Two tensors in each other's place, everywhere or in one node."""
    one, other = draw.choice(_names(graph)), draw.choice(_names(graph))
    nodes = list(graph.node) if draw.random() < 0.5 or not graph.node else [draw.choice(graph.node)]
    for node in nodes:
        for side in (node.input, node.output):
            side[:] = [{one: other, other: one}.get(name, name) for name in side]


def _cycle(model: Any, graph: Any, draw: random.Random) -> None:
    if graph.node:
        one, other = draw.choice(graph.node), draw.choice(graph.node)
        if one.input and other.output:
            one.input[draw.randrange(len(one.input))] = draw.choice(list(other.output))


def _operator(model: Any, graph: Any, draw: random.Random) -> None:
    if graph.node:
        node = draw.choice(graph.node)
        node.op_type = draw.choice(OPERATORS)
        node.domain = draw.choice((node.domain, "", "ai.onnx.ml", "com.microsoft", "own"))


def _order(model: Any, graph: Any, draw: random.Random) -> None:
    """Nodes left out, twice, or in another order."""
    nodes = list(graph.node)
    if not nodes:
        return
    match draw.randrange(3):
        case 0:
            del nodes[draw.randrange(len(nodes))]
        case 1:
            nodes.insert(draw.randrange(len(nodes) + 1), draw.choice(nodes))
        case _:
            draw.shuffle(nodes)
    try:
        copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    except DecodeError:
        return  # protobuf writes deeper graphs than it reads
    del graph.node[:]
    graph.node.extend(copies)


def _many(model: Any, graph: Any, draw: random.Random) -> None:
    """A chain of many operators behind a tensor."""
    name = draw.choice(_names(graph))
    kind = draw.choice(("Relu", "Identity", "Neg", "Shape", "Add"))
    for number in range(draw.choice((3, 40, _MOST_EXTRA))):
        made = graph.node.add(op_type=kind, input=[name] * (1 + (kind == "Add")), output=[f"{name}.{number}"])
        name = made.output[0]
    if graph.output and draw.random() < 0.5:
        graph.output[0].name = name


def _deep(model: Any, graph: Any, draw: random.Random) -> None:
    """Conditions within conditions around the whole graph."""
    import onnx

    for _ in range(draw.choice((1, 3, _MOST_DEEP))):
        body = onnx.GraphProto()
        body.CopyFrom(graph)
        del body.input[:]
        outputs, condition = [each.name for each in graph.output], draw.choice(_names(graph))
        del graph.node[:]
        node = graph.node.add(op_type="If", input=[condition], output=outputs)
        for side in ("then_branch", "else_branch"):
            content = body if side == "then_branch" else onnx.GraphProto(output=body.output)
            node.attribute.add(name=side, type=5).g.CopyFrom(content)


def _attribute(model: Any, graph: Any, draw: random.Random) -> None:
    if not graph.node:
        return
    node = draw.choice(graph.node)
    own = draw.choice(node.attribute) if node.attribute else node.attribute.add()
    own.name = own.name or draw.choice(ATTRIBUTES)
    match draw.randrange(6):
        case 0:
            own.name = draw.choice(ATTRIBUTES)
        case 1:
            own.type = draw.choice((1, 2, 3, 4, 6, 7, 8))
        case 2:
            own.i, own.f = draw.choice(EXTENTS), draw.choice(NUMBERS)
            own.s = draw.choice((b"nearest", b"", b"NOTSET", b"ij,jk", b"\xff", b"a" * 3000))
        case 3:
            own.ints[:] = [draw.choice(EXTENTS) for _ in range(draw.randrange(7))]
            own.floats[:] = [draw.choice(NUMBERS) for _ in range(draw.randrange(7))]
        case 4 if own.ints:
            own.ints[draw.randrange(len(own.ints))] = draw.choice(EXTENTS)
        case 5 if own.type == 4:
            _changed(own.t, draw)
        case _:
            node.attribute.remove(own)


def _constant(model: Any, graph: Any, draw: random.Random) -> None:
    """An initializer's extents, type or values; or an input becomes one."""
    if graph.initializer and draw.random() < 0.7:
        _changed(draw.choice(graph.initializer), draw)
    else:
        rank = draw.choice((0, 1, 1, 1, 2))
        dims = [draw.choice((1, 2, 4)) for _ in range(rank)]
        name, kind = draw.choice(_names(graph)), draw.choice((7, 7, 1, 6, 9))
        made = graph.initializer.add(name=name, data_type=kind, dims=dims)
        _values(made, draw)


def _changed(tensor: Any, draw: random.Random) -> None:
    match draw.randrange(6):
        case 0:
            tensor.dims[:] = [draw.choice(EXTENTS) for _ in range(draw.randrange(6))]
        case 1:
            tensor.data_type = draw.choice(TYPES)
        case 2:
            tensor.raw_data = tensor.raw_data[: draw.randrange(9)]
        case 3:
            tensor.data_location = 1
            path = draw.choice(("../x", "/etc/passwd", "a.onnx", "", ".", "weights\0", "/dev/zero"))
            for key, value in (("location", path), ("offset", "-1"), ("length", str(draw.choice(EXTENTS)))):
                tensor.external_data.add(key=key, value=value)
        case _:
            _values(tensor, draw)


_FORMS = {1: "f4", 2: "u1", 3: "i1", 6: "i4", 9: "?", 10: "f2", 11: "f8"}


def _values(tensor: Any, draw: random.Random) -> None:
    """Other values of the same number, as far as that is small."""
    import numpy as np

    count = 1
    for extent in tensor.dims:
        count = min(max(count * extent, 0), 1000)
    kind = np.dtype(_FORMS.get(tensor.data_type, "i8"))
    drawn = [draw.choice(NUMBERS if kind.kind == "f" else EXTENTS) for _ in range(count)]
    same = drawn[:1] * count if draw.random() < 0.5 else drawn
    with np.errstate(all="ignore"):
        values = np.array(same, "f8" if kind.kind == "f" else "i8").astype(kind)
    for name in ("float_data", "int32_data", "int64_data", "double_data"):
        tensor.ClearField(name)
    tensor.raw_data = values.tobytes()


def _declared(model: Any, graph: Any, draw: random.Random) -> None:
    """Inputs and outputs of another type, of other extents, more or fewer, of another name."""
    every = [*graph.input, *graph.output, *graph.value_info]
    if not every:
        return
    value = draw.choice(every)
    dims = value.type.tensor_type.shape.dim
    match draw.randrange(6):
        case 0:
            value.type.tensor_type.elem_type = draw.choice(TYPES)
        case 1 if dims:
            draw.choice(dims).dim_value = draw.choice(EXTENTS)
        case 2:
            dims.add().dim_value = draw.choice(EXTENTS)
        case 3 if dims:
            draw.choice(dims).dim_param = draw.choice(NAMES)
        case 4:
            value.name = draw.choice(_names(graph))
        case _:
            value.ClearField("type")


def _renamed(model: Any, graph: Any, draw: random.Random) -> None:
    """A tensor of an odd name, everywhere."""
    one, other = draw.choice(_names(graph)), draw.choice(NAMES)
    for node in graph.node:
        for side in (node.input, node.output):
            side[:] = [other if name == one else name for name in side]
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = other if value.name == one else value.name


def _versions(model: Any, graph: Any, draw: random.Random) -> None:
    if draw.random() < 0.5 and model.opset_import:
        draw.choice(model.opset_import).version = draw.choice((0, 1, 6, 9, 11, 13, 18, 23, 99, -1, 2**62))
    else:
        model.opset_import.add(domain=draw.choice(("", "ai.onnx.ml", "own")), version=draw.choice((1, 3, 18)))


CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    _operand, _operand, _swapped, _cycle, _operator, _order, _many, _deep, _attribute, _attribute, _constant,
    _constant, _constant, _declared, _declared, _renamed, _versions,
)  # fmt: skip
"""The kinds of changes, some of them twice."""
