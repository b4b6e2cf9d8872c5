"""`--input-shape NAME=1x3x224x224`, `--batch 1` and `--input-value NAME=16000` as a value."""

import re
from collections.abc import Sequence

from target_arch.diagnostics import refusal
from target_arch.plan.inputs.shapes import InputShapes

_NUMBER = re.compile(r"[+-]?(\d{1,18}|\d{0,18}\.\d{1,18}|\d{1,18}\.)(e[+-]?\d{1,2})?", re.ASCII)
_SHAPE = re.compile(r"([1-9]\d{0,8}(x[1-9]\d{0,8})*)?", re.ASCII)


def input_shapes(given: Sequence[str], batch: int | None, values: Sequence[str] = ()) -> InputShapes:
    """The shapes and values that the arguments name. DiagnosticError for text that is neither, or given
    twice.
    """
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
    return InputShapes(shapes=found, batch=batch, values=_values(values))


def _values(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in given:
        name, equals, text = each.rpartition("=")
        if not equals or not name or not _NUMBER.fullmatch(text):
            hint = "as in `--input-value rate=16000`"
            raise refusal("bad-value", "command line", f"`{each}` is not NAME=NUMBER", hint)
        number = int(text) if text.lstrip("+-").isdigit() else float(text)
        if found.setdefault(name, number) != number:
            said = f"input `{name}` is to have two values: {found[name]} and {number}"
            raise refusal("bad-value", "command line", said, "name one of them")
    return found


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"
