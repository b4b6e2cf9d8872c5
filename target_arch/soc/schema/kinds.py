"""The kinds of values a SoC file holds: how each is read, checked and described to an editor.

`read` turns a value of TOML into one of the model, `check` judges a value of the model (also one that was
made in Python). Both add mistakes to `faults` and return None where nothing usable is left.
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from fractions import Fraction
from typing import Any, Protocol

from attrs import field, frozen

from target_arch.diagnostics import listed, name_hint
from target_arch.soc.faults import Fault, Path
from target_arch.soc.units import (
    BANDWIDTH,
    BITS,
    FREQUENCY,
    PATTERN,
    POWER,
    SIZE,
    TIME,
    split,
    written,
)

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_MOST_LISTED = 10
"""Words that the name of a kind may list."""

LONGEST_NAME = 63
"""Characters of an internal identifier that every C99 compiler distinguishes (5.2.4.1)."""

Faults = list[Fault]


class Kind(Protocol):
    """How one value is read; `name` is its type in words."""

    @property
    def name(self) -> str: ...

    def read(self, path: Path, value: object, faults: Faults) -> Any: ...

    def check(self, path: Path, value: Any, faults: Faults) -> None: ...

    def schema(self) -> dict[str, Any]: ...


@frozen(kw_only=True)
class Text:
    """Text that is not empty; an identifier of C where `identifier`, a name without folders where
    `file_name`.
    """

    identifier: bool = False
    file_name: bool = False
    name: str = "text"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, str):
            return wrong_type(path, "text", value, faults)
        self.check(path, value, faults)
        return value

    def check(self, path: Path, value: str, faults: Faults) -> None:
        if self.identifier:
            check_identifier(path, value, faults)
        elif not value or not value.isprintable():
            faults.append(
                Fault(rule="bad-text", path=path, message=f"`{path[-1]}` must be printable text on one line")
            )
        elif self.file_name and ("/" in value or "\\" in value or value in (".", "..")):
            message = f"`{path[-1]}` must be the name of a file, without folders"
            faults.append(Fault(rule="bad-text", path=path, message=message))

    def schema(self) -> dict[str, Any]:
        pattern = f"^{IDENTIFIER.pattern}$" if self.identifier else "^[^\\n]+$"
        return {"type": "string", "pattern": pattern}


@frozen(kw_only=True)
class Flag:
    """True or false."""

    name: str = "true or false"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        return value if isinstance(value, bool) else wrong_type(path, "true or false", value, faults)

    def check(self, path: Path, value: bool, faults: Faults) -> None:
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@frozen(kw_only=True)
class Integer:
    """An integer from `least` to `most`, both included; a power of two where `power_of_two`."""

    least: int
    most: int
    power_of_two: bool = False
    name: str = "integer"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            return wrong_type(path, "an integer", value, faults)
        before = len(faults)
        self.check(path, value, faults)
        return value if len(faults) == before else None

    def check(self, path: Path, value: int, faults: Faults) -> None:
        if not self.least <= value <= self.most:
            out_of_range(path, f"`{path[-1]}` must be from {self.least:,} to {self.most:,}", faults)
        elif self.power_of_two and value & (value - 1):
            out_of_range(path, f"`{path[-1]}` must be a power of two", faults)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@frozen(kw_only=True)
class Quantity:
    """A number with a unit, as a float in the base unit, or as an int where `whole`.

    A size may also be a bare number of bytes. `zero` allows zero. It is written in the unit `written_in`,
    which is the base unit where nothing is said, with six digits.
    """

    what: str
    units: Mapping[str, Fraction] = field(hash=False)
    most: float
    whole: bool = False
    zero: bool = False
    written_in: str = ""

    @property
    def name(self) -> str:
        return self.what

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        exact = self._exact(path, value, faults)
        if exact is None:
            return None
        if self.whole and exact.denominator != 1:
            return out_of_range(path, f"`{path[-1]}` must be a whole number of bytes", faults)
        before = len(faults)
        self.check(path, exact, faults)
        if len(faults) > before:
            return None
        return int(exact) if self.whole else float(exact)

    def check(self, path: Path, value: float | Fraction, faults: Faults) -> None:
        finite = not isinstance(value, float) or math.isfinite(value)
        if not finite or value < 0 or (value == 0 and not self.zero) or value > self.most:
            least = "at least 0" if self.zero else "above 0"
            most = written(self.most, self.units)
            out_of_range(path, f"`{path[-1]}` must be {least} and at most {most}", faults)

    def schema(self) -> dict[str, Any]:
        alternatives = "|".join(re.escape(unit) for unit in self.units)
        text = {"type": "string", "pattern": PATTERN.replace("UNIT", f"({alternatives})")}
        return {"anyOf": [text, {"type": "integer", "minimum": 1}]} if self.whole else text

    def written(self, value: float) -> int | str:
        if self.whole:
            return int(value)
        unit = self.written_in or next(name for name, factor in self.units.items() if factor == 1)
        return f"{_six_digits(value / float(self.units[unit]))} {unit}"

    def _exact(self, path: Path, value: object, faults: Faults) -> Any:
        if self.whole and isinstance(value, int) and not isinstance(value, bool):
            return Fraction(value)
        example = f'such as `"{self._example()}"`'
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._bad(path, f"`{path[-1]}` needs a unit", example, faults)
        if not isinstance(value, str):
            return wrong_type(path, f"a {self.what} {example}", value, faults)
        parts = split(value)
        if parts is None:
            return self._bad(
                path, f"`{path[-1]}` must be a {self.what}: a number and a unit", example, faults
            )
        number, unit = parts
        if unit not in self.units:
            return self._bad(path, *self._unit_fault(path, number, unit, example), faults)
        return number * self.units[unit]

    def _unit_fault(self, path: Path, number: Fraction, unit: str, example: str) -> tuple[str, str]:
        """Message and hint for text behind a number that is no unit."""
        if unit[:1].isdigit():
            return (
                f"`{path[-1]}` has a number of more than 15 digits",
                f"write it in a larger unit, {example}",
            )
        if self.units is BANDWIDTH and unit in BITS:
            in_bytes = written(float(number * BITS[unit]), BANDWIDTH)
            return f"`{unit}` counts bits, and bandwidths are in bytes", f"write `{in_bytes}`"
        if unit:
            return f"`{unit}` is no unit of {self.what}", name_hint(unit, self.units, "units are")
        return f"`{path[-1]}` needs a unit", example

    def _example(self) -> str:
        return f"64 {list(self.units)[1]}"

    def _bad(self, path: Path, message: str, hint: str, faults: Faults) -> Any:
        faults.append(Fault(rule="bad-unit", path=path, message=message, hint=hint))
        return None


@frozen(kw_only=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"one of {listed(self.words)}" if len(self.words) <= _MOST_LISTED else "word"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, str):
            return wrong_type(path, f"one of {listed(self.words)}", value, faults)
        before = len(faults)
        self.check(path, value, faults)
        return value if len(faults) == before else None

    def check(self, path: Path, value: str, faults: Faults) -> None:
        if value not in self.words:
            hint = name_hint(value, self.words, "choose from")
            message = f"`{path[-1]}` cannot be `{value}`"
            faults.append(Fault(rule="bad-choice", path=path, message=message, hint=hint))

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


@frozen(kw_only=True)
class Names:
    """A list of names, at least so many, none twice."""

    least: int = 1
    name: str = "list of names"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, list):
            return wrong_type(path, "a list of names", value, faults)
        for index, item in enumerate(value):
            if not isinstance(item, str):
                return wrong_type((*path, index), "a name", item, faults)
        self.check(path, tuple(value), faults)
        return tuple(value)

    def check(self, path: Path, value: tuple[str, ...], faults: Faults) -> None:
        if len(value) < self.least:
            faults.append(Fault(rule="empty-list", path=path, message=f"`{path[-1]}` names nothing"))
        for index, name in enumerate(value):
            if name in value[:index]:
                message = f"`{path[-1]}` names `{name}` twice"
                faults.append(Fault(rule="repeated-name", path=(*path, index), message=message))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "minItems": self.least, "uniqueItems": True}


@frozen(kw_only=True)
class NameOrNames:
    """A name, or a list of names."""

    name: str = "name or list of names"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        kind = Names() if isinstance(value, list) else Text()
        return kind.read(path, value, faults)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [Text().schema(), Names().schema()]}


@frozen(kw_only=True)
class OneOrMore:
    """A name or a list of names, always read as a tuple."""

    name: str = "name or list of names"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if isinstance(value, str):
            Text().check(path, value, faults)
            return (value,)
        if isinstance(value, list):
            return Names().read(path, value, faults)
        return wrong_type(path, "a name or a list of names", value, faults)

    def written(self, value: tuple[str, ...]) -> str | list[str]:
        return value[0] if len(value) == 1 else list(value)

    def check(self, path: Path, value: str, faults: Faults) -> None:
        """The model holds one name: a list stands for several values."""
        Text().check(path, value, faults)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [Text().schema(), Names().schema()]}


@frozen(kw_only=True)
class Table:
    """A table from names to values of one kind. `also` are names that are no identifiers and allowed."""

    of: Kind
    also: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"name → {self.of.name}"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return wrong_type(path, "a table", value, faults)
        read = {}
        for key, item in value.items():
            self._check_key((*path, key), key, faults)
            read[key] = self.of.read((*path, key), item, faults)
        return {key: item for key, item in read.items() if item is not None}

    def check(self, path: Path, value: Mapping[str, Any], faults: Faults) -> None:
        for key, item in value.items():
            self._check_key((*path, key), key, faults)
            self.of.check((*path, key), item, faults)

    def _check_key(self, path: Path, key: str, faults: Faults) -> None:
        if key not in self.also:
            check_identifier(path, key, faults)

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.of.schema()}


@frozen(kw_only=True)
class Scalar:
    """An option of a backend, whose type the backend knows."""

    name: str = "values"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if isinstance(value, int | float | str) and (not isinstance(value, float) or math.isfinite(value)):
            return value
        return wrong_type(path, "a number, text, true or false", value, faults)

    def check(self, path: Path, value: object, faults: Faults) -> None:
        self.read(path, value, faults)

    def schema(self) -> dict[str, Any]:
        return {"type": ["number", "string", "boolean"]}


@frozen(kw_only=True)
class Sentences:
    """A list of texts, each on one line."""

    name: str = "list of texts"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        if not isinstance(value, list):
            return wrong_type(path, "a list of texts", value, faults)
        read = [Text().read((*path, index), item, faults) for index, item in enumerate(value)]
        return None if None in read else tuple(read)

    def check(self, path: Path, value: tuple[str, ...], faults: Faults) -> None:
        for index, item in enumerate(value):
            Text().check((*path, index), item, faults)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Text().schema()}


@frozen(kw_only=True)
class Factor:
    """A number above 0 that something is multiplied by."""

    name: str = "number"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        return _number(self, path, value, faults)

    def check(self, path: Path, value: float, faults: Faults) -> None:
        if not 0 < value < math.inf:
            out_of_range(path, f"`{path[-1]}` must be above 0", faults)

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "exclusiveMinimum": 0}


@frozen(kw_only=True)
class Part:
    """A number from 0 to `most` that says which part of something is meant."""

    most: float
    name: str = "number"

    def read(self, path: Path, value: object, faults: Faults) -> Any:
        return _number(self, path, value, faults)

    def check(self, path: Path, value: float, faults: Faults) -> None:
        if not 0 <= value <= self.most:
            out_of_range(path, f"`{path[-1]}` must be from 0 to {self.most:g}", faults)

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": 0, "maximum": self.most}


def _number(kind: Factor | Part, path: Path, value: object, faults: Faults) -> Any:
    """The number in a file, whole or not, that a kind accepts."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return wrong_type(path, "a number", value, faults)
    before = len(faults)
    kind.check(path, float(value), faults)
    return float(value) if len(faults) == before else None


ADDRESS = Integer(least=0, most=2**64 - 1, name="address")
SIZE_IN_BYTES = Quantity(what="size", units=SIZE, most=2**44, whole=True)
BANDWIDTH_OF_PATHS = Quantity(what="bandwidth", units=BANDWIDTH, most=1e15)
LATENCY = Quantity(what="time", units=TIME, most=1e6, zero=True)
CLOCK = Quantity(what="frequency", units=FREQUENCY, most=1e12)
WATTS = Quantity(what="power", units=POWER, most=1e3, zero=True)
EVERY_KIND = ("*",)
"""What stands for all kinds of operators, and is no identifier."""


def check_identifier(path: Path, name: str, faults: Faults) -> None:
    """A fault where the name cannot become part of a C identifier."""
    if len(name) > LONGEST_NAME:
        message = f"`{name[:24]}…` has {len(name):,} characters"
        hint = f"C tells names apart by their first {LONGEST_NAME}"
        faults.append(
            Fault(rule="bad-identifier", path=path, message=message, hint=hint, at_key=name == path[-1])
        )
    elif not IDENTIFIER.fullmatch(name):
        message = f"`{name}` is not a C identifier"
        hint = "use letters, digits and `_`, and start with a letter or `_`"
        faults.append(
            Fault(rule="bad-identifier", path=path, message=message, hint=hint, at_key=name == path[-1])
        )


def wrong_type(path: Path, expected: str, value: object, faults: Faults) -> Any:
    """A fault that names the kind of a value and the kind that is needed.

    Returns None, as `read` then does.
    """
    key = path[-1] if isinstance(path[-1], str) else f"{path[-2]}[{path[-1]}]"
    message = f"`{key}` must be {expected}, not {_described(value)}"
    faults.append(Fault(rule="wrong-type", path=path, message=message))
    return None


def unknown_key(path: Path, known: Sequence[str]) -> Fault:
    """The fault of a key that a table does not have."""
    hint = name_hint(str(path[-1]), known, "known here")
    return Fault(rule="unknown-key", path=path, message=f"unknown key `{path[-1]}`", hint=hint, at_key=True)


def out_of_range(path: Path, message: str, faults: Faults) -> Any:
    """A fault that tells the limits of a number. Returns None, as `read` then does."""
    faults.append(Fault(rule="out-of-range", path=path, message=message))
    return None


def _six_digits(value: float) -> str:
    """Six digits, without an exponent: as quantities are read."""
    text = f"{value:.6g}"
    return f"{float(text):.15f}".rstrip("0").rstrip(".") if "e" in text else text


def _described(value: object) -> str:
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "true or false"),
        (int, "an integer"),
        (float, "a number with a fraction"),
        (str, "text"),
        (list, "a list"),
        (dict, "a table"),
        ((date, time), "a date or time"),
        (type(None), "null"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)
