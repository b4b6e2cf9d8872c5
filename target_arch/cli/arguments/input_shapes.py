"""`--input-shape NAME=1x3x224x224` and `--batch 1` as a value."""

import re
from collections.abc import Sequence

from target_arch.diagnostics import refusal
from target_arch.plan.inputs.shapes import InputShapes

_SHAPE = re.compile(r"([1-9]\d{0,8}(x[1-9]\d{0,8})*)?", re.ASCII)


def input_shapes(given: Sequence[str], batch: int | None) -> InputShapes:
    """The shapes that the arguments name. DiagnosticError for one that is no shape, or is given twice."""
    found: dict[str, tuple[int, ...]] = {}
    for each in given:
        name, equals, text = each.rpartition("=")
        if not equals or not name or not _SHAPE.fullmatch(text):
            hint = "as in `--input-shape x=1x3x224x224`; a scalar is `x=`"
            raise refusal("bad-shape", "command line", f"`{each}` is not NAME=EXTENTxEXTENT...", hint)
        shape = tuple(int(extent) for extent in text.split("x")) if text else ()
        if found.setdefault(name, shape) != shape:
            said = f"input `{name}` is to have two shapes: {_text(found[name])} and {_text(shape)}"
            raise refusal("bad-shape", "command line", said, "name one of them")
    return InputShapes(shapes=found, batch=batch)


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"
