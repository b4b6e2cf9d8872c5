"""Functions of single 8-bit values: the unit looks each value up in a table of 256 results.

No operator of TFLite has a table of its own; Vela makes one of functions that it knows. So a function is
written as one of those, and once Vela is done, the table that the stream loads is replaced by that of the
plan. What the function was, and how its file format rounds, is in the table: results are those of the plan to
the bit.
"""

import math
from collections.abc import Callable, Mapping

from target_arch.backends.ethos_u.drawing import Drawing, Unwritable
from target_arch.backends.ethos_u.stream import BadStream, loads
from target_arch.backends.ethos_u.tflite_file import SubgraphOperator
from target_arch.plan.arithmetic import DTYPE_RANGE, requantization, require_quantization
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind

KINDS = (OperatorKind.LOOKUP, OperatorKind.RELU, OperatorKind.REQUANTIZE)
TYPES = ("int8", "uint8")
ENTRIES = 256


def _sigmoid(x: float) -> float:
    """The sigmoid as Vela has it, which ends at 8."""
    if abs(x) >= 8:
        return float(x > 0)
    return 1 / (1 + math.exp(-x))


_FUNCTIONS: Mapping[str, Callable[[float], float]] = {"TANH": math.tanh, "LOGISTIC": _sigmoid}
"""Operators of which Vela makes a table, by its `convert_to_lut8`."""


def table_of(operator: Operator, model: Model) -> bytes:
    """The stored result of each stored value, from the least one on."""
    if operator.kind is OperatorKind.LOOKUP:
        data = model.tensors[operator.constants[0]].data
        assert data is not None
        return data
    rule = requantization(operator, model)
    low, high = DTYPE_RANGE[model.tensors[operator.inputs[0]].dtype]
    return bytes(rule.apply(value + rule.input_offset) & 0xFF for value in range(low, high + 1))


def unfit(operator: Operator, model: Model) -> str | None:
    """Why a function of single values is no table, None where it is one."""
    types = tuple(model.tensors[name].dtype for name in (operator.inputs[0], operator.output))
    if types[0] not in TYPES or types[1] != types[0]:
        return f"it makes {types[1]} of {types[0]}, the unit has tables from int8 to int8 and uint8 to uint8"
    if operator.kind is OperatorKind.LOOKUP and len(table_of(operator, model)) != ENTRIES:
        return "its table has no result for each value"
    return None


def write_table(operator: Operator, drawing: Drawing) -> None:
    """A function as one that Vela knows, of which it makes another table for each table of the chain.

    Raises Unwritable where it makes the same of two.
    """
    wanted = table_of(operator, drawing.model)
    for code in _FUNCTIONS:
        if drawing.tables.setdefault(_made(code, operator, drawing.model), wanted) == wanted:
            break
    else:
        raise Unwritable(f"Vela makes the same table of `{operator.id}` and of another operator")
    name = drawing.tensor(operator.inputs[0])
    node = SubgraphOperator(code=code, version=2, inputs=(name,), output=operator.output)
    drawing.add(operator.output, node, drawing.tensors[name].shape)


def _made(code: str, operator: Operator, model: Model) -> bytes:
    """The table that Vela makes of a function, in its arithmetic."""
    x, out = (require_quantization(name, model) for name in (operator.inputs[0], operator.output))
    low, high = DTYPE_RANGE[model.tensors[operator.output].dtype]
    table = bytearray()
    for value in range(low, high + 1):
        real = _FUNCTIONS[code](x.scale[0] * (value - x.zero_point[0]))
        exact = out.zero_point[0] + real / out.scale[0]
        rounded = math.trunc(exact + math.copysign(0.5, exact))
        table.append(min(max(rounded, low), high) & 0xFF)
    return bytes(table)


def with_tables(weights: bytes, stream: bytes, region: int, tables: Mapping[bytes, bytes]) -> bytes:
    """The constants of a chain with the plan's tables in place of Vela's.

    Raises BadStream where the stream does not load each of them from there.
    """
    changed, left = bytearray(weights), set(tables)
    for start in loads(stream, region, ENTRIES):
        there = weights[start : start + ENTRIES]
        if there in tables:
            changed[start : start + ENTRIES] = tables[there]
            left.discard(there)
    if left:
        raise BadStream(f"it does not load {len(left)} of {len(tables)} tables of functions")
    return bytes(changed)
