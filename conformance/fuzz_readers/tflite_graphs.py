"""Mutants of TFLite files that keep their form: tensors, operators, options, buffers and graphs."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from conformance.fuzz_readers.mutate import of_bytes
from conformance.fuzz_readers.onnx_graphs import EXTENTS, NAMES, NUMBERS

_SMALL = tuple(value for value in EXTENTS if -(2**31) <= value < 2**31)
_MOST = 400


def of_tflite(seeds: Sequence[bytes], number: int) -> bytes:
    """Most changes are of tables of the file, one in ten knows no format."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    draw = random.Random(number)
    if draw.random() < 0.1:
        return of_bytes(seeds, number)
    model = schema.ModelT.InitFromPackedBuf(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        draw.choice(CHANGES)(model, draw.choice(model.subgraphs), draw)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _index(graph: Any, draw: random.Random) -> int:
    """Mostly a tensor that exists."""
    return (
        draw.choice((-1, -2, len(graph.tensors), 2**31 - 1))
        if draw.random() < 0.1
        else draw.randrange(len(graph.tensors) or 1)
    )


def _changed(values: Any, new: int, draw: random.Random) -> list[int]:
    """A list with one value changed, added or left out."""
    found = [] if values is None else [int(value) for value in values]
    match draw.randrange(3):
        case 0 if found:
            found[draw.randrange(len(found))] = new
        case 1 if found:
            del found[draw.randrange(len(found))]
        case _:
            found.insert(draw.randrange(len(found) + 1), new)
    return found


def _operand(model: Any, graph: Any, draw: random.Random) -> None:
    """An operand is another tensor, also one of a later operator, or none; there is one more, or fewer."""
    if graph.operators:
        operator = draw.choice(graph.operators)
        side = draw.choice(("inputs", "inputs", "outputs"))
        setattr(operator, side, _changed(getattr(operator, side), _index(graph, draw), draw))


def _swapped(model: Any, graph: Any, draw: random.Random) -> None:
    """Two tensors in each other's place."""
    if len(graph.tensors) > 1:
        one, other = draw.sample(range(len(graph.tensors)), 2)
        graph.tensors[one], graph.tensors[other] = graph.tensors[other], graph.tensors[one]


def _ends(model: Any, graph: Any, draw: random.Random) -> None:
    """Inputs and outputs of the graph."""
    side = draw.choice(("inputs", "outputs"))
    setattr(graph, side, _changed(getattr(graph, side), _index(graph, draw), draw))


def _operators(model: Any, graph: Any, draw: random.Random) -> None:
    """Operators left out, twice, in another order, of another kind, or many."""
    if not graph.operators:
        return
    match draw.randrange(5):
        case 0:
            del graph.operators[draw.randrange(len(graph.operators))]
        case 1:
            graph.operators.insert(draw.randrange(len(graph.operators)), draw.choice(graph.operators))
        case 2:
            draw.shuffle(graph.operators)
        case 3:
            draw.choice(graph.operators).opcodeIndex = draw.choice((0, 1, 2, 99, 2**32 - 1))
        case _:
            graph.operators += [draw.choice(graph.operators)] * draw.choice((3, _MOST))


def _code(model: Any, graph: Any, draw: random.Random) -> None:
    """Another kind of operator, another version, a name of its own."""
    if model.operatorCodes:
        code = draw.choice(model.operatorCodes)
        code.builtinCode = draw.choice((draw.randrange(220), code.builtinCode))
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = draw.choice((0, 1, 2, 9, code.version))
        if draw.random() < 0.2:
            code.builtinCode, code.deprecatedBuiltinCode, code.customCode = 32, 32, draw.choice(NAMES)


def _tensor(model: Any, graph: Any, draw: random.Random) -> None:
    """Extents, signature, element type, buffer or name of a tensor."""
    if not graph.tensors:
        return
    tensor = draw.choice(graph.tensors)
    match draw.randrange(7):
        case 0 | 1:
            tensor.shape = _changed(tensor.shape, draw.choice(_SMALL), draw)
        case 2:
            tensor.shapeSignature = _changed(tensor.shapeSignature, draw.choice((-1, *_SMALL)), draw)
        case 3:
            tensor.type = draw.randrange(20)
        case 4:
            tensor.buffer = draw.choice((0, 1, len(model.buffers) - 1, len(model.buffers), 2**32 - 1))
        case 5:
            tensor.name = draw.choice(NAMES)
        case _:
            tensor.isVariable, tensor.hasRank = draw.random() < 0.5, draw.random() < 0.5


def _quantization(model: Any, graph: Any, draw: random.Random) -> None:
    """Scales that are zero, negative, no numbers or too many; zero points and dimensions out of range."""
    from ai_edge_litert import schema_py_generated as schema

    if not graph.tensors:
        return
    tensor = draw.choice(graph.tensors)
    if tensor.quantization is None:
        tensor.quantization = schema.QuantizationParametersT()
    grid, count = tensor.quantization, draw.choice((0, 1, 1, 2, 3, 1000))
    match draw.randrange(4):
        case 0:
            grid.scale = [draw.choice(NUMBERS)] * count
        case 1:
            grid.zeroPoint = [draw.choice(EXTENTS)] * count
        case 2:
            grid.quantizedDimension = draw.choice(_SMALL)
        case _:
            tensor.quantization = None


def _buffer(model: Any, graph: Any, draw: random.Random) -> None:
    """The bytes of a constant: fewer, more, or others."""
    import numpy as np

    buffer = draw.choice(model.buffers)
    size = 0 if buffer.data is None else len(buffer.data)
    match draw.randrange(4):
        case 0:
            buffer.data = None
        case 1:
            buffer.data = np.zeros(draw.choice((0, 1, max(size - 1, 0), size + 1, 4 * size)), np.uint8)
        case 2:
            buffer.data = np.full(size, draw.choice((0, 1, 127, 128, 255)), np.uint8)
        case _:
            kind, values = draw.choice((("<f4", NUMBERS), ("<i4", _SMALL), ("<i8", EXTENTS)))
            count = max(size // np.dtype(kind).itemsize, 1)
            buffer.data = np.array([draw.choice(values)] * count, kind).view(np.uint8)


def _options(model: Any, graph: Any, draw: random.Random) -> None:
    """A number of an operator's options, or the options of another one."""
    if not graph.operators:
        return
    operator = draw.choice(graph.operators)
    options = operator.builtinOptions
    names = (
        [] if options is None else sorted(name for name, each in vars(options).items() if _is_number(each))
    )
    if names and draw.random() < 0.8:
        name = draw.choice(names)
        value = getattr(options, name)
        other = draw.choice((0, 1, 2, 3, 7, 100)) if isinstance(value, int) else draw.choice(NUMBERS)
        setattr(options, name, not value if isinstance(value, bool) else other)
    else:
        donor = draw.choice(graph.operators)
        operator.builtinOptions, operator.builtinOptionsType = donor.builtinOptions, donor.builtinOptionsType
    if draw.random() < 0.1:
        operator.builtinOptions, operator.builtinOptionsType = None, 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _graphs(model: Any, graph: Any, draw: random.Random) -> None:
    """Graphs within graphs: another one is called, or there is one more or fewer."""
    for operator in graph.operators:
        for name in ("condSubgraphIndex", "bodySubgraphIndex", "thenSubgraphIndex", "elseSubgraphIndex"):
            if hasattr(operator.builtinOptions, name) and draw.random() < 0.5:
                setattr(operator.builtinOptions, name, draw.choice((0, 1, 2, -1, 99)))
    if draw.random() < 0.5:
        model.subgraphs.append(graph)
    elif len(model.subgraphs) > 1:
        del model.subgraphs[draw.randrange(len(model.subgraphs))]


CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    _operand, _operand, _swapped, _ends, _operators, _code, _tensor, _tensor, _tensor, _quantization,
    _quantization, _buffer, _buffer, _options, _options, _graphs,
)  # fmt: skip
"""The kinds of changes, some of them twice."""
