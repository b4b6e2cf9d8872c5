"""The C compiler of this machine, and errors for missing tools."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, Hint

_CANDIDATES = ("cc", "gcc", "clang")


class ToolMissing(DiagnosticError):
    """A program or package that is needed is not installed. The command line exits with 3."""


@frozen(kw_only=True)
class Compiler:
    """A C compiler: the words its command starts with, and the first line of its version text."""

    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        return f"{' '.join(self.command)} ({self.version})"


def find_compiler(name: str | None = None) -> Compiler:
    """The compiler of that name; else the one in the environment's CC; else cc, gcc or clang, the first there
    is.

    ToolMissing where it does not exist or does not answer.
    """
    wanted = name or os.environ.get("CC")
    candidates = [tuple(shlex.split(wanted))] if wanted else [(candidate,) for candidate in _CANDIDATES]
    for command in candidates:
        if command and shutil.which(command[0]):
            return Compiler(command=command, version=_version(command))
    raise missing(
        "c-compiler",
        f"no C compiler: {' and '.join(f'`{shlex.join(command)}`' for command in candidates)} not found",
        "install gcc or clang (`apt-get install gcc`), or name one in the environment variable CC",
    )


def find_cross_compiler(name: str, packages: Mapping[str, str]) -> Compiler:
    """The compiler of that name, for a machine. ToolMissing where it is not there or does not answer."""
    return Compiler(command=(tool(name, packages),), version=_version((name,)))


def tool(name: str, packages: Mapping[str, str]) -> str:
    """The name of a program for emulated machines, once it is there. ToolMissing where it is not; `packages`
    are the Debian packages of programs.
    """
    if shutil.which(name) is None:
        install = f"install it (`apt-get install {packages[name]}`)" if name in packages else "install it"
        hint = f"{install}, or run `make simulators` in a checkout"
        raise missing(name, f"`{name}` not found; the port's machine needs it", hint)
    return name


def missing(place: str, message: str, hint: Hint) -> ToolMissing:
    """The error for a tool that is not there."""
    return ToolMissing([Diagnostic(rule="tool-missing", place=place, message=message, hint=hint)])


def _version(command: tuple[str, ...]) -> str:
    try:
        answer = subprocess.run(
            (*command, "--version"), capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        hint = "set the environment variable CC to a working C compiler"
        raise missing("c-compiler", f"`{shlex.join(command)} --version` does not work", hint) from error
    return answer.stdout.partition("\n")[0]
