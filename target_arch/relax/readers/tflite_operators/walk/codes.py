"""The number and the name of an operator; without TVM, for readers that only look into a file."""

from typing import Any

import tflite
from flatbuffers.number_types import Int32Flags

CODES = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}
"""The names of operators by their numbers."""
_BUILTIN_CODE = 10
"""Of the field in the table's list of fields."""


def builtin_code(code: Any) -> int:
    """The number of an operator in TFLite's schema; an old file has it in a field of one byte alone.

    What ai-edge-quantizer adds is in the new field alone, which the package `tflite` does not read where it
    is below 127.
    """
    table = code._tab
    place = table.Offset(_BUILTIN_CODE)
    number = table.Get(Int32Flags, place + table.Pos) if place else 0
    return int(max(number, code.DeprecatedBuiltinCode()))


def operator_name(code: Any) -> str:
    """The name of an operator: its own, where it is a custom one."""
    number = builtin_code(code)
    if number == tflite.BuiltinOperator.CUSTOM:
        return str((code.CustomCode() or b"?").decode("utf-8", errors="replace"))
    return str(CODES.get(number, number))
