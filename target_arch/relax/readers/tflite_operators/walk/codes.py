"""The number of an operator; without TVM, for readers that only look into a file."""

from typing import Any

import tflite

CODES = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}
"""The names of operators by their numbers."""


def builtin_code(code: Any) -> int:
    """The number of an operator in TFLite's schema; an old file has it in a field of one byte."""
    return int(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()))
