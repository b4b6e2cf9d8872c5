"""JSON text from other programs, parsed within limits: accepted values can be walked, printed and written
again. The places of mistakes in their values.

Tests: `tests/soc/files/test_json_text.py`.
"""

import json
import math
from collections.abc import Iterable
from typing import Any

from target_arch.diagnostics import Diagnostic, DiagnosticError, Span, in_order, refusal
from target_arch.soc.faults import Fault
from target_arch.soc.files.json_positions import JsonPositions

DEEPEST = 64
"""Tables and lists within each other. Our own files have at most 8; Python's recursion ends near 1,000."""
_LARGEST = 2**63


class _OutOfRange(ValueError):
    """A number that no field of ours can have; the text says which."""


def parsed(text: str, shown: str) -> Any:
    """The value of a JSON text; `shown` is the file's name in messages.

    DiagnosticError with rule `json-syntax` where it is no JSON, has a number that is not finite or has more
    than 63 bits, a key twice in one table, or text that is no Unicode; with rule `too-deep` where it nests
    deeper than `DEEPEST`.
    """
    odd: list[object] = []

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        odd.extend(pairs[len(value) :])
        return value

    try:
        value = json.loads(
            text, parse_int=_integer, parse_float=_number, parse_constant=odd.append, object_pairs_hook=table
        )
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise _too_deep(shown) from None
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        place = Span(path=shown, line=error.lineno, column=error.colno, text=line)
        raise DiagnosticError([_refused(place, f"{error.msg[:1].lower()}{error.msg[1:]}")]) from None
    except UnicodeEncodeError:
        why = "an escape `\\ud800` to `\\udfff` that has no partner"
        raise DiagnosticError([_refused(shown, why)]) from None
    except _OutOfRange as error:
        raise DiagnosticError([_refused(shown, str(error))]) from None
    if _depth(value) > DEEPEST:
        raise _too_deep(shown)
    if odd:
        raise DiagnosticError(_refused(place, why) for place, why in JsonPositions(shown, text).faults())
    return value


def parsed_table(text: str, shown: str, what: str) -> dict[str, Any]:
    """The table of a JSON text; `what` is the kind of its file in messages. DiagnosticError as `parsed`, and
    where it is something else.
    """
    value = parsed(text, shown)
    if not isinstance(value, dict):
        place = JsonPositions(shown, text).value(())
        raise refusal("wrong-type", place, f"a {what} is a table, `{{` to `}}`")
    return value


def placed(faults: Iterable[Fault], shown: str, text: str) -> tuple[Diagnostic, ...]:
    """The faults at their places in the text, in order."""
    positions = JsonPositions(shown, text)
    return in_order(_diagnostic(fault, positions) for fault in faults)


def _diagnostic(fault: Fault, positions: JsonPositions) -> Diagnostic:
    place = positions.key(fault.path) if fault.at_key else positions.value(fault.path)
    return Diagnostic(rule=fault.rule, place=place, message=fault.message, hint=fault.hint)


def _integer(text: str) -> int:
    if len(text) > 20 or abs(int(text)) >= _LARGEST:
        raise _OutOfRange(f"the number {text[:20]}{'…' if len(text) > 20 else ''} has more than 63 bits")
    return int(text)


def _number(text: str) -> float:
    if not math.isfinite(float(text)):
        raise _OutOfRange(f"the number {text[:20]} is too large")
    return float(text)


def _depth(value: Any) -> int:
    level, depth = [value] if isinstance(value, dict | list) else [], 0
    while level:
        depth += 1
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
        if depth > DEEPEST:
            break
    return depth


def _too_deep(shown: str) -> DiagnosticError:
    message = f"the file nests deeper than {DEEPEST} tables and lists"
    return DiagnosticError([Diagnostic(rule="too-deep", place=shown, message=message)])


def _refused(place: str | Span, why: str) -> Diagnostic:
    return Diagnostic(rule="json-syntax", place=place, message=f"not JSON: {why}")
