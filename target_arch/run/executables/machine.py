"""The machine that the programs of a bundle are for, from its manifest."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class CrossMachine:
    """A machine without an operating system, and how programs for it are made and run.

    `emulator` is the command that runs a program, up to its name; `packages` are the Debian packages of
    programs; `counter_hz` is the frequency of the timer that the port reads, and an instruction takes
    2^`shift` ns; `start` is the first function of a program that has a stack frame.
    """

    name: str
    compiler: str
    flags: tuple[str, ...]
    link: tuple[str, ...]
    emulator: tuple[str, ...]
    packages: Mapping[str, str] = field(repr=False)
    counter_hz: int
    shift: int
    start: str


def machine_in(manifest: Mapping[str, Any]) -> CrossMachine | None:
    """The machine that a bundle's programs are for; None where that is this computer."""
    described, made = manifest["machine"], manifest["toolchain"]
    if described is None:
        return None
    return CrossMachine(
        name=described["name"],
        compiler=made["compiler"],
        flags=tuple(made["flags"]),
        link=tuple(made["link"]),
        emulator=tuple(made["emulator"]),
        packages=made["packages"],
        counter_hz=made["counter_hz"],
        shift=made["shift"],
        start=made["start"],
    )
