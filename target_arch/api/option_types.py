"""Whether the options and arguments of a call are those that there are, and of their types."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint

_P = ParamSpec("_P")
_R = TypeVar("_R")

_WIDER: Mapping[Any, Any] = {bool: bool, float: Real, int: Integral, Path: PathLike, str: str}
"""What may stand for a type: numbers of NumPy, too."""


def require_options(options: Mapping[str, object], kind: type) -> None:
    """DiagnosticError with every option that the `TypedDict` does not have, or has with another type."""
    known = get_type_hints(kind)
    faults = [_fault(name, value, known) for name, value in options.items()]
    if any(faults):
        raise DiagnosticError(fault for fault in faults if fault is not None)


def typed_arguments(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, which raises DiagnosticError for arguments of other types than it is annotated with; what
    `**options` collects it judges itself.
    """
    made = signature(function)
    known = {
        name: each.annotation
        for name, each in made.parameters.items()
        if name != "self" and each.kind is not Parameter.VAR_KEYWORD
    }

    @wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        bound = made.bind(*args, **kwargs).arguments
        faults = [_fault(name, bound[name], known) for name in known.keys() & bound.keys()]
        if any(faults):
            raise DiagnosticError(fault for fault in faults if fault is not None)
        return function(*args, **kwargs)

    return checked


def _fault(name: str, value: object, known: Mapping[str, Any]) -> Diagnostic | None:
    if name not in known:
        message, hint = f"there is no option `{name}`", name_hint(name, known, "there are")
        return Diagnostic(rule="unknown-keyword", place="options", message=message, hint=hint)
    if _fits(value, known[name]):
        return None
    message = f"option `{name}` is {value!r}, and takes `{_written(known[name])}`"
    return Diagnostic(rule="bad-keyword", place="options", message=message)


def _fits(value: object, kind: Any) -> bool:
    """Whether a value is of an annotated type, with what is inside."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any or (is_typeddict(kind) and isinstance(value, Mapping)):
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inside)
    if origin is Callable:
        return callable(value)
    if origin is not None:
        return isinstance(value, origin) and not isinstance(value, str | bytes) and _holds(value, inside)
    return isinstance(value, _WIDER.get(kind, kind)) and (kind is bool or not isinstance(value, bool))


def _holds(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether all keys and values, or all elements, are of their types."""
    if isinstance(value, Mapping):
        return all(_fits(key, kinds[0]) and _fits(each, kinds[1]) for key, each in value.items())
    if isinstance(value, tuple) and len(kinds) > 1:
        return len(value) == len(kinds) and all(map(_fits, value, kinds))
    return all(_fits(each, kinds[0]) for each in value)


def _written(kind: Any) -> str:
    """The type as Python writes it, without the modules."""
    if kind is NoneType:
        return "None"
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " | ".join(map(_written, inside))
    name = getattr(origin or kind, "__name__", str(kind))
    return f"{name}[{', '.join(map(_written, inside))}]" if inside and origin is not Callable else name
