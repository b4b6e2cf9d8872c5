"""The rules a plug-in has to keep, each a message about one thing that is missing or wrong."""

import re
from collections.abc import Iterable, Iterator

from target_arch.backend.contract import (
    CONTRACT_VERSION,
    UNDERSTOOD,
    Backend,
    DefaultArch,
    Option,
    Pattern,
    RuntimeSources,
)
from target_arch.diagnostics import listed
from target_arch.plan.kernels import Codegen
from target_arch.registry.lookup.table import Complaint
from target_arch.registry.validate_hooks import wrong_lowering
from target_arch.soc.words import DLDeviceType

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOOKS = ("supports", "cost")


def complaints(value: Backend, name: str) -> tuple[Complaint, ...]:
    """Every fault of the value found under `name`; nothing for a backend that can be used."""
    if not value.contract:
        message = f"backend `{name}` does not say which contract it is written for"
        return (("backend-contract", message, f"contract={CONTRACT_VERSION}"),)
    if value.contract not in UNDERSTOOD:
        message = (
            f"backend `{name}` is written for contract {value.contract}, this is contract {CONTRACT_VERSION}"
        )
        return (("backend-contract", message, f"see what changed in contract {CONTRACT_VERSION}"),)
    return (*_misnamed(value, name), *_half_filled(value, name))


def _misnamed(backend: Backend, name: str) -> Iterator[Complaint]:
    if backend.name != name:
        message = f"the value registered as `{name}` calls itself `{backend.name}`"
        yield "backend-misnamed", message, "give both the same name"
    elif not _NAME.fullmatch(name):
        message = f"backend name `{name}` is not a lower-case identifier"
        yield "backend-misnamed", message, "use letters a to z, digits and `_`"


def _half_filled(backend: Backend, name: str) -> Iterator[Complaint]:
    wrong = [
        *(f"`{hook}` is not callable" for hook in _HOOKS if not callable(getattr(backend, hook))),
        *(["`joins` is not callable"] if not (backend.joins is None or callable(backend.joins)) else ()),
        *wrong_lowering(backend),
        *(["`description` is empty"] if not _is_text(backend.description) else ()),
        *_wrong_codegen(backend.codegen),
        *_wrong_patterns(backend.patterns),
        *_wrong_options(backend.options),
        *_wrong_buffers(backend.needs_buffers),
        *_wrong_runtime(backend.runtime),
        *_wrong_default(backend.default_arch, backend.needs_buffers),
    ]
    for problem in wrong:
        yield "backend-incomplete", f"backend `{name}`: {problem}", None


def _wrong_codegen(codegen: object) -> Iterator[str]:
    if not _is_text(codegen):
        yield "`codegen` is empty"
    elif not isinstance(codegen, Codegen):
        yield f"`codegen` is `{codegen}`, not one of {listed(Codegen)}"


def _wrong_patterns(patterns: object) -> Iterator[str]:
    if not isinstance(patterns, tuple):
        yield "`patterns` is not a tuple"
        return
    for index, pattern in enumerate(patterns):
        if not isinstance(pattern, Pattern):
            yield f"`patterns[{index}]` is not a Pattern"
        elif not _is_text(pattern.name) or not callable(pattern.load):
            yield f"`patterns[{index}]` lacks a name or a `load` that can be called"


def _wrong_options(options: object) -> Iterator[str]:
    if not isinstance(options, tuple):
        yield "`options` is not a tuple"
        return
    for index, option in enumerate(options):
        if not isinstance(option, Option):
            yield f"`options[{index}]` is not an Option"
        elif not isinstance(option.name, str) or not _NAME.fullmatch(option.name):
            yield f"`options[{index}]`: name `{option.name}` is not a lower-case identifier"
        elif not isinstance(option.default, int | float | str | bool):
            yield f"option `{option.name}` has no default that a SoC file can hold"
        elif not _is_text(option.help):
            yield f"option `{option.name}` has no help"
    yield from _twice("option", [option.name for option in options if isinstance(option, Option)])


def _wrong_buffers(buffers: object) -> Iterator[str]:
    if not isinstance(buffers, tuple):
        yield "`needs_buffers` is not a tuple"
        return
    for buffer in buffers:
        if not isinstance(buffer, str) or not _NAME.fullmatch(buffer):
            yield f"buffer name `{buffer}` is not a lower-case identifier"
    yield from _twice("buffer", [str(buffer) for buffer in buffers])


def _wrong_runtime(runtime: object) -> Iterator[str]:
    if not isinstance(runtime, RuntimeSources):
        yield "`runtime` is not a RuntimeSources"
        return
    for hook in ("files", "simulator"):
        if not callable(getattr(runtime, hook)):
            yield f"`runtime.{hook}` is not callable"
    for symbol in ("driver", "simulator_symbol"):
        value = getattr(runtime, symbol)
        if value is not None and not _C_IDENTIFIER.fullmatch(value):
            yield f"`runtime.{symbol}` is `{value}`, not a C identifier"
    if runtime.simulator_symbol is not None and runtime.driver is None:
        yield "`runtime` has a simulator and no driver that would talk to it"


def _wrong_default(default: object, buffers: object) -> Iterator[str]:
    if default is None:
        return
    if not isinstance(default, DefaultArch):
        yield "`default_arch` is not a DefaultArch"
        return
    names = [memory.name for memory in default.memories]
    every = [memory.name for memory in default.every_memory]
    yield from (f"`default_arch.memories`: {said}" for said in _twice("memory", every))
    if not isinstance(default.device, DLDeviceType):
        yield f"`default_arch.device` is `{default.device}`, which DLPack does not know"
    if isinstance(buffers, tuple) and set(default.buffers) != set(buffers):
        yield "`default_arch.buffers` and `needs_buffers` do not name the same buffers"
    for buffer, memory in sorted(default.buffers.items()):
        if memory not in names:
            yield f"`default_arch.buffers` maps `{buffer}` to `{memory}`, which is none of its memories"


def _twice(kind: str, names: Iterable[str]) -> Iterator[str]:
    listed = list(names)
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"{kind} `{name}` is declared {listed.count(name)} times"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
