"""Variables that an expression reads."""

from collections.abc import Iterator
from typing import Any

from tvm import relax


def variables_of(expr: Any) -> Iterator[Any]:
    """The variables an expression reads, in order, repeated where it reads one twice."""
    if isinstance(expr, relax.Var):
        yield expr
    elif isinstance(expr, relax.Call):
        for argument in expr.args[:]:
            yield from variables_of(argument)
    elif isinstance(expr, relax.Tuple):
        for item in expr.fields[:]:
            yield from variables_of(item)
    elif isinstance(expr, relax.TupleGetItem):
        yield from variables_of(expr.tuple_value)
