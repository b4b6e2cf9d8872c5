"""Planting a fault: a function that everybody knows already gets the code of a mutant."""

import inspect
from functools import cached_property
from types import CodeType, FunctionType, ModuleType

from conformance.mutants.mutations import Mutant


def plant(module: ModuleType, mutant: Mutant) -> None:
    """Change the function in place, for whoever imported it, too. There is no way back but another process.

    LookupError where the function cannot be found, as for one that a decorator keeps to itself.
    """
    function = live(module, mutant.function)
    if mutant.default is not None:
        _set_default(function, *mutant.default)
        return
    code = compile(mutant.tree, function.__code__.co_filename, "exec")
    function.__code__ = _found(code, mutant.function)


def live(module: ModuleType, qualified: str) -> FunctionType:
    """The function object of that name, below its decorators."""
    found: object = module
    for name in qualified.split("."):
        found = inspect.getattr_static(found, name)
    while not isinstance(found, FunctionType) or hasattr(found, "__wrapped__"):
        match found:
            case property(fget=inner) if inner is not None:
                found = inner
            case cached_property(func=inner):
                found = inner
            case staticmethod() | classmethod():
                found = found.__func__
            case _ if hasattr(found, "__wrapped__"):
                found = found.__wrapped__
            case _:
                raise LookupError(f"{qualified} of {module.__name__} is no function: {found!r}")
    return found


def _found(code: CodeType, qualified: str) -> CodeType:
    left = [code]
    while left:
        code = left.pop()
        if code.co_qualname == qualified:
            return code
        left += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    raise LookupError(f"no code of {qualified}")


def _set_default(function: FunctionType, name: str, value: object) -> None:
    if name in (function.__kwdefaults__ or {}):
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), name: value}
        return
    code, defaults = function.__code__, list(function.__defaults__ or ())
    names = code.co_varnames[: code.co_argcount]
    defaults[names.index(name) - len(names)] = value
    function.__defaults__ = tuple(defaults)
