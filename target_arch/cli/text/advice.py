"""Options in hints as arguments of the command line."""

import shlex
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import evolve

from target_arch.diagnostics import Advice, Diagnostic, Entries, Keyword

OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "__cause__": "--traceback",
        "begin": "--from",
        "compiler": "--cc",
        "end": "--to",
        "flags": "--cflags",
        "input_ranges": "--input-range",
        "input_shapes": "--input-shape",
        "input_values": "--input-value",
        "targets": "--target",
    }
)
"""The options that are not called as their keyword."""


def in_options(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with a hint for a reader of a command line."""
    hint = diagnostic.hint
    return evolve(diagnostic, hint=hint.worded(worded)) if isinstance(hint, Advice) else diagnostic


def worded(keyword: Keyword) -> str:
    """The arguments that give a keyword its value."""
    if keyword.name == "model.name":
        return f"{keyword.value}=FILE"
    option = OPTIONS.get(keyword.name, f"--{keyword.name.replace('_', '-')}")
    values = tuple(_values(keyword.value))
    return " ".join(f"{option} {shlex.quote(value)}" for value in values) if values else option


def _values(value: object) -> Iterator[str]:
    """The text of each time that the option stands there."""
    if isinstance(value, Entries):
        yield from (f"{key}={_text(each, 'x')}" for key, each in value.pairs)
    elif value is not None:
        yield _text(value, ",")


def _text(value: object, between: str) -> str:
    return between.join(map(str, value)) if isinstance(value, tuple) else str(value)
