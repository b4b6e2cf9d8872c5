"""The subgraphs that an IF or a WHILE names, and whether they may be computed where they would not run."""

from collections.abc import Mapping
from typing import Any

import tflite

from target_arch.relax.readers.tflite_operators.walk.codes import CODES, builtin_code
from target_arch.relax.site import NotConverted

_PARTIAL: Mapping[str, int] = {
    **dict.fromkeys(("GATHER", "GATHER_ND", "SEGMENT_SUM"), 1),
    **dict.fromkeys(("EMBEDDING_LOOKUP", "SCATTER_ND", "SPARSE_TO_DENSE"), 0),
    **dict.fromkeys(("DIV", "FLOOR_DIV", "FLOOR_MOD"), 1),
}
"""Operators that are undefined for some values of that operand: a branch may be there to avoid them."""
_REAL = (tflite.TensorType.FLOAT32, tflite.TensorType.FLOAT16)


def branches(model: Any, operator: Any) -> tuple[int, int]:
    """The subgraphs of an IF for a condition that is true and one that is false. NotConverted where there are
    none.
    """
    options = _options(operator, tflite.IfOptions)
    found = (options.ThenSubgraphIndex(), options.ElseSubgraphIndex())
    for index in found:
        _check(model, index, operator.InputsLength() - 1, operator.OutputsLength())
    return found


def loop(model: Any, operator: Any) -> tuple[int, int]:
    """The subgraphs of a WHILE: its condition and its body. NotConverted where there are none."""
    options = _options(operator, tflite.WhileOptions)
    found = (options.CondSubgraphIndex(), options.BodySubgraphIndex())
    for index, outputs in zip(found, (1, operator.OutputsLength()), strict=True):
        _check(model, index, operator.InputsLength(), outputs)
    _check_places(model.Subgraphs(found[1]))
    return found


def _check_places(body: Any) -> None:
    """NotConverted where a trip passes an input on in place of a later one: LiteRT writes those of the next
    trip one after the other, TFLite Micro all at once.
    """
    inputs = [body.Inputs(number) for number in range(body.InputsLength())]
    for number in range(body.OutputsLength()):
        source = body.Outputs(number)
        if source in inputs[:number] and body.Outputs(inputs.index(source)) != source:
            raise NotConverted("its body returns an input in place of a later one, where interpreters differ")


def _options(operator: Any, table: type[Any]) -> Any:
    stored = operator.BuiltinOptions()
    if stored is None:
        raise NotConverted("its options are missing")
    options = table()
    options.Init(stored.Bytes, stored.Pos)
    return options


def _check(model: Any, index: int, inputs: int, outputs: int) -> None:
    if not 0 < index < model.SubgraphsLength():
        raise NotConverted("it names a subgraph that the model does not have")
    graph = model.Subgraphs(index)
    if (graph.InputsLength(), graph.OutputsLength()) != (inputs, outputs):
        raise NotConverted("a subgraph has another number of inputs or outputs")


def check_total(model: Any, number: int) -> None:
    """NotConverted where a subgraph, or one that it runs, may not be computed unless its branch is taken."""
    waiting, seen = [number], set[int]()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        graph = model.Subgraphs(one)
        for place in range(graph.OperatorsLength()):
            operator = graph.Operators(place)
            code = CODES.get(builtin_code(model.OperatorCodes(operator.OpcodeIndex())), "")
            waiting += _run_by(model, operator, code)
            _check_operator(model, graph, operator, code)


def check_alone(model: Any, graph: Any, operator: Any, code: str) -> None:
    """The same of one operator."""
    _check_operator(model, graph, operator, code)
    for number in _run_by(model, operator, code):
        check_total(model, number)


def _run_by(model: Any, operator: Any, code: str) -> tuple[int, ...]:
    """The subgraphs that an operator runs."""
    if code not in ("IF", "WHILE"):
        return ()
    return branches(model, operator) if code == "IF" else loop(model, operator)


def _check_operator(model: Any, graph: Any, operator: Any, code: str) -> None:
    if code in _PARTIAL and not _is_safe(model, graph, operator, _PARTIAL[code]):
        raise NotConverted(f"where it may not run there is `{code}`, which some values do not allow")


def _is_safe(model: Any, graph: Any, operator: Any, index: int) -> bool:
    if index >= operator.InputsLength():
        return False
    tensor = graph.Tensors(operator.Inputs(index))
    return tensor.Type() in _REAL or model.Buffers(tensor.Buffer()).DataLength() > 0
