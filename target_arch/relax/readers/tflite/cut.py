"""TFLite models from tensors to tensors: the file with other lists of inputs, outputs and operators."""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tflite

from target_arch.plan.inputs.cut import ModelCut, OperatorTensors, TensorGraph
from target_arch.relax.readers.tflite_operators.walk.codes import builtin_code

_INPUTS, _OUTPUTS, _OPERATORS = 6, 8, 10
"""Where the table of a subgraph in the schema has its lists."""
_SIGNATURES = 18
"""Where that of the model has names for inputs and outputs, which a part does not have."""
_VARIABLES = "\0variables"
"""What operators on resource variables read and write: any of them may be any other's."""
_READS = (tflite.BuiltinOperator.READ_VARIABLE,)
_WRITES = (tflite.BuiltinOperator.ASSIGN_VARIABLE, tflite.BuiltinOperator.CALL_ONCE)


def cut_tflite(path: Path, data: bytes, cut: ModelCut) -> bytes:
    """The file of which a cut names the part. Names are those of the tensors of its first subgraph; of
    several with one name, the later ones have their number behind a colon.

    Raises DiagnosticError, as `TensorGraph.part` does.
    """
    if not cut:
        return data
    model = tflite.Model.GetRootAsModel(data, 0)
    graph = model.Subgraphs(0)
    names = _names(graph)
    numbers = {name: number for number, name in enumerate(names)}
    part = TensorGraph(
        inputs=tuple(names[graph.Inputs(index)] for index in range(graph.InputsLength())),
        outputs=tuple(names[graph.Outputs(index)] for index in range(graph.OutputsLength())),
        steps=[_step(model, graph.Operators(number), names) for number in range(graph.OperatorsLength())],
        hidden=frozenset((_VARIABLES,)),
    ).part(str(path), cut)
    changed = bytearray(data)
    _keep_operators(changed, graph, part.steps)
    for field, wanted in ((_INPUTS, part.inputs), (_OUTPUTS, part.outputs)):
        _replace(changed, graph, field, [numbers[name] for name in wanted])
    offset = model._tab.Offset(_SIGNATURES)
    if offset:
        struct.pack_into("<I", changed, model._tab.Vector(offset) - 4, 0)
    return bytes(changed)


def _step(model: Any, operator: Any, names: Sequence[str]) -> OperatorTensors:
    code = builtin_code(model.OperatorCodes(operator.OpcodeIndex()))
    reads = [operator.Inputs(index) for index in range(operator.InputsLength())]
    writes = [operator.Outputs(index) for index in range(operator.OutputsLength())]
    return OperatorTensors(
        reads=(*_named(reads, names), *((_VARIABLES,) if code in _READS else ())),
        writes=(*_named(writes, names), *((_VARIABLES,) if code in _WRITES else ())),
    )


def _named(numbers: Iterable[int], names: Sequence[str]) -> list[str]:
    return [names[number] for number in numbers if number >= 0]


def _names(graph: Any) -> list[str]:
    names: list[str] = []
    taken: set[str] = set()
    for index in range(graph.TensorsLength()):
        name = (graph.Tensors(index).Name() or b"").decode("utf-8", errors="replace")
        names.append(f"{name}:{index}" if not name or name in taken else name)
        taken.add(names[-1])
    return names


def _keep_operators(changed: bytearray, graph: Any, steps: Sequence[int]) -> None:
    """Shorten the list of operators, where it is."""
    start = graph._tab.Vector(graph._tab.Offset(_OPERATORS))
    for place, number in enumerate(steps):
        (offset,) = struct.unpack_from("<I", changed, start + 4 * number)
        struct.pack_into("<I", changed, start + 4 * place, offset + 4 * (number - place))
    struct.pack_into("<I", changed, start - 4, len(steps))


def _replace(changed: bytearray, graph: Any, field: int, numbers: Sequence[int]) -> None:
    """Let a field of the subgraph have a new list, at the end of the file."""
    changed.extend(bytes(-len(changed) % 4))
    place = graph._tab.Pos + graph._tab.Offset(field)
    struct.pack_into("<I", changed, place, len(changed) - place)
    changed.extend(struct.pack(f"<I{len(numbers)}i", len(numbers), *numbers))
