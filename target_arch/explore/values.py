"""The values of a variation: a list, or a range with a step or a factor.

Tests: `tests/explore/test_space_file.py`.
"""

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from attrs import evolve, frozen

from target_arch.explore.space import VariedValue, literal
from target_arch.soc.faults import Fault, Path
from target_arch.soc.schema.kinds import Integer, Kind, Quantity, Scalar, wrong_type

RANGE = ("values", "from", "to", "step", "factor")
MOST = 1000
"""The most values of one variation."""


def settings(
    path: Path, kind: Kind, table: Mapping[str, Any], faults: list[Fault]
) -> tuple[VariedValue, ...]:
    """The values of a table of a space file, whose key is of that kind; none where it is wrong."""
    before = len(faults)
    if "values" in table:
        found = _listed((*path, "values"), kind, table, faults)
    else:
        found = _range(path, kind, table, faults)
    return found if len(faults) == before else ()


def _listed(path: Path, kind: Kind, table: Mapping[str, Any], faults: list[Fault]) -> tuple[VariedValue, ...]:
    given = table["values"]
    if len(table.keys() & set(RANGE)) > 1:
        faults.append(Fault(rule="bad-range", path=path, message="a list and a range are given", at_key=True))
    if not isinstance(given, list):
        return wrong_type(path, "a list of values", given, faults) or ()
    if not given:
        faults.append(Fault(rule="empty-list", path=path, message="`values` names nothing"))
    found = []
    for number, value in enumerate(given):
        wrong: list[Fault] = []
        read = kind.read(path, value, wrong)
        faults += (evolve(fault, path=(*path, number, *fault.path[len(path) :])) for fault in wrong)
        if read is not None:
            found.append(VariedValue(literal=_toml(value), shown=_shown(value), number=_number(read)))
    for number, setting in enumerate(found):
        if setting.number in [each.number for each in found[:number]]:
            said = f"`{setting.shown}` is there twice"
            faults.append(Fault(rule="repeated-value", path=(*path, number), message=said))
    return tuple(found)


def _range(path: Path, kind: Kind, table: Mapping[str, Any], faults: list[Fault]) -> tuple[VariedValue, ...]:
    if not isinstance(kind, Quantity | Integer | Scalar) or "from" not in table or "to" not in table:
        hint = "`values = […]`" if not isinstance(kind, Quantity | Integer | Scalar) else None
        said = (
            "has neither `values` nor `from` and `to`"
            if hint is None
            else "has no order that a range could follow"
        )
        faults.append(
            Fault(rule="bad-range", path=path, message=f"`{path[-1]}` {said}", hint=hint, at_key=True)
        )
        return ()
    ends = [_exact(kind, (*path, end), table[end], faults) for end in ("from", "to")]
    following = _following(path, kind, table, faults)
    if None in ends or following is None:
        return ()
    first, last = (Fraction(end) for end in ends if end is not None)
    said = ""
    if first > last:
        said = f"`from = {_shown(table['from'])}` is above `to = {_shown(table['to'])}`"
    elif following.count(first, last) > MOST:
        said = f"the range has more than {MOST:,} values"
    if said:
        faults.append(Fault(rule="bad-range", path=(*path, "from"), message=said))
        return ()
    found, value = [], first
    while value <= last:
        found.append(_setting(value, kind, path, faults))
        value = following.after(value)
    return tuple(found)


@frozen
class _Following:
    """The next value of a range: more by a step, or by a factor."""

    step: Fraction = Fraction(0)
    factor: Fraction = Fraction(1)

    def after(self, value: Fraction) -> Fraction:
        return value * self.factor + self.step

    def count(self, first: Fraction, last: Fraction) -> float:
        """How many values there are, about."""
        if self.step:
            return float((last - first) / self.step)
        return math.log(last / first) / math.log(self.factor) if first > 0 else math.inf


def _following(path: Path, kind: Kind, table: Mapping[str, Any], faults: list[Fault]) -> _Following | None:
    """The way from one value to the next; a fault, and None, where the file does not say it."""
    if "step" in table and "factor" in table:
        faults.append(
            Fault(rule="bad-range", path=(*path, "factor"), message="`step` and `factor` are given")
        )
        return None
    if "factor" in table:
        factor = table["factor"]
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1.001 <= factor <= 1e6:
            said = "`factor` must be a number from 1.001 to 1,000,000"
            faults.append(Fault(rule="bad-range", path=(*path, "factor"), message=said))
            return None
        return _Following(factor=Fraction(str(factor)))
    if "step" not in table and isinstance(kind, Quantity):
        said, hint = f"`{path[-1]}` has a range without a step", '`step = "…"` or `factor = 2`'
        faults.append(Fault(rule="bad-range", path=path, message=said, hint=hint, at_key=True))
        return None
    step = _exact(kind, (*path, "step"), table.get("step", 1), faults)
    if step is not None and step <= 0:
        faults.append(Fault(rule="bad-range", path=(*path, "step"), message="`step` must be above 0"))
        return None
    return None if step is None else _Following(step=step)


def _exact(kind: Kind, path: Path, value: object, faults: list[Fault]) -> Fraction | None:
    read = kind.read(path, value, faults)
    if read is None or isinstance(read, str | bool):
        return None if read is None else wrong_type(path, "a number", value, faults)
    return Fraction(str(read))


def _setting(value: Fraction, kind: Kind, path: Path, faults: list[Fault]) -> VariedValue:
    number = int(value) if value.denominator == 1 else float(value)
    text = literal(number, kind)
    kind.read((*path, "to"), json.loads(text), faults)
    return VariedValue(literal=text, shown=_shown(json.loads(text)), number=number)


def _toml(value: object) -> str:
    """A value of a TOML file as text of one: numbers, text and lists of these are as in JSON."""
    return json.dumps(value, ensure_ascii=False)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else _toml(value)


def _number(read: Any) -> Any:
    return read if isinstance(read, int | float | str) else _toml(list(read))
