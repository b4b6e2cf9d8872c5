"""The rules that ports, load processes, policies and planners have to keep."""

import re
from collections.abc import Iterator
from typing import Any

from target_arch.backend.load_process import FIRST_OF_PLUG_INS, LoadProcessKind
from target_arch.backend.planner import Algorithm
from target_arch.backend.policy import Policy
from target_arch.backend.port import BareMetal, Hosted, Machine, PortKind
from target_arch.registry.lookup.table import Complaint

C_NAME = re.compile(r"[a-z][a-z0-9_]*")
_WORDS = re.compile(r"[a-z][a-z0-9-]*")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def port_complaints(port: PortKind, name: str) -> Iterator[Complaint]:
    """Everything wrong with the port that was found under a name."""
    yield from misnamed("port", port, name, C_NAME)
    for problem in _wrong_port(port):
        yield "port-incomplete", f"port `{name}`: {problem}", None


def load_process_complaints(process: LoadProcessKind, name: str) -> Iterator[Complaint]:
    """Everything wrong with the load process that was found under a name."""
    yield from misnamed("load process", process, name, C_NAME)
    for problem in _wrong_process(process):
        yield "load-process-incomplete", f"load process `{name}`: {problem}", None


def policy_complaints(policy: Policy, name: str) -> Iterator[Complaint]:
    """Everything wrong with the policy that was found under a name."""
    yield from misnamed("policy", policy, name)
    if not callable(policy.wishes):
        yield "policy-incomplete", f"policy `{name}`: `wishes` is not callable", None


def planner_complaints(planner: Algorithm, name: str) -> Iterator[Complaint]:
    """Everything wrong with the planner that was found under a name."""
    yield from misnamed("planner", planner, name)
    if not callable(planner.pack):
        yield "planner-incomplete", f"planner `{name}`: `pack` is not callable", None


def misnamed(word: str, value: Any, name: str, pattern: re.Pattern[str] = _WORDS) -> Iterator[Complaint]:
    """Everything wrong with the name and the description of a plug-in."""
    rule = f"{word.replace(' ', '-')}-misnamed"
    if value.name != name:
        yield rule, f"the value registered as `{name}` calls itself `{value.name}`", "give both the same name"
    elif not pattern.fullmatch(name):
        said = f"{word} name `{name}` is not a lower-case identifier"
        yield rule, said, f"use letters a to z, digits and `{'_' if pattern is C_NAME else '-'}`"
    if not isinstance(value.description, str) or not value.description.strip():
        yield f"{word.replace(' ', '-')}-incomplete", f"{word} `{name}`: `description` is empty", None


def _wrong_port(port: PortKind) -> Iterator[str]:
    if not callable(port.files):
        yield "`files` is not callable"
    if port.prefix and not _C_IDENTIFIER.fullmatch(port.prefix):
        yield f"`prefix` is `{port.prefix}`, not a C identifier"
    if isinstance(port.system, Hosted):
        yield from _wrong_hosted(port, port.system)
    elif isinstance(port.system, BareMetal):
        yield from _wrong_bare_metal(port, port.system)
    else:
        yield "`system` is neither Hosted nor BareMetal"


def _wrong_hosted(port: PortKind, system: Hosted) -> Iterator[str]:
    for what in ("simulates", "modules", "complains"):
        if getattr(system, what) and not (port.prefix and port.header):
            yield f"it says `{what}`, and names no `prefix` and `header` of its functions"
    if not isinstance(system.libraries, tuple):
        yield "`libraries` is not a tuple"


def _wrong_bare_metal(port: PortKind, system: BareMetal) -> Iterator[str]:
    if not (port.prefix and port.header):
        yield "it names no `prefix` and `header` of its functions"
    for tool in ("compiler", "archiver"):
        if not getattr(system, tool):
            yield f"`{tool}` is empty"
    if not system.emulator:
        yield "`emulator` is empty"
    if not system.machines or not all(isinstance(machine, Machine) for machine in system.machines):
        yield "`machines` holds no Machine, or something else"
        return
    names = [machine.name for machine in system.machines]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"machine `{name}` is declared {names.count(name)} times"


def _wrong_process(process: LoadProcessKind) -> Iterator[str]:
    if not isinstance(process.number, int) or isinstance(process.number, bool):
        yield "`number` is not a whole number"
    elif process.macro and not 0 <= process.number < FIRST_OF_PLUG_INS:
        yield f"`number` is {process.number}, which `abi.h` leaves to plug-ins, and `macro` is set"
    elif not process.macro and not FIRST_OF_PLUG_INS <= process.number < 2**32:
        yield f"`number` is {process.number}, those of plug-ins are from {FIRST_OF_PLUG_INS} on"
    for symbol in (process.macro, process.check):
        if symbol and not _C_IDENTIFIER.fullmatch(symbol):
            yield f"`{symbol}` is not a C identifier"
    if process.image is not None and not process.image.startswith("."):
        yield f"`image` is `{process.image}`, not how the name of a file ends, such as `.bin`"
    if not callable(process.files):
        yield "`files` is not callable"
