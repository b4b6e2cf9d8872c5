"""Whether an emulator can give a core its memories at the addresses at which the core sees them.

A core under user-mode emulation shares an address space with the emulator's stack and its own boot ROM, and
that space ends where the core's addresses do. The addresses in use differ by emulator and version, so its
boot ROM is asked: it maps the memories, as for a run, and its exit code says how that went.
"""

import fcntl
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from target_arch.diagnostics import Diagnostic, DiagnosticError, Keyword, advice
from target_arch.soc.cores import Core

_MAPPED = 66
"""The boot ROM's exit code where every memory is in its place, and no entry address comes."""
_FIRST_FILE = 16
"""The least number of a memory's file, above that of the doorbell."""
_TIMEOUT = 30.0


def require_room(directory: Path, core: Core, boot: Path, about: Mapping[str, Any]) -> None:
    """DiagnosticError with every memory of a described firmware that the emulator has no room for."""
    seen: Sequence[Mapping[str, Any]] = about["seen"]
    if _maps(core, boot, seen):
        return
    alone = [memory for memory in seen if not _maps(core, boot, [memory])]
    raise DiagnosticError(
        Diagnostic(
            rule="not-in-emulator",
            place=str(directory),
            message=f"`{core.emulator}` cannot put memory `{memory['name']}`, {memory['bytes']:,} B at "
            f"{memory['device']:#x}, where `{about['target_arch']}` sees it",
            hint=advice(
                f"its boot ROM is at {core.rom:#x}, and its stack is in this address space too: describe "
                "the memory at another address, or leave out ",
                Keyword("firmware"),
            ),
        )
        for memory in alone or seen
    )


def _maps(core: Core, boot: Path, memories: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all these memories are mapped at once. They are files without a byte on the disk."""
    with tempfile.TemporaryFile() as file:
        file.truncate(max(memory["bytes"] for memory in memories))
        number = fcntl.fcntl(file, fcntl.F_DUPFD, _FIRST_FILE)
        with open(number, "rb"):
            words = [f"{each['device']:x}:{each['bytes']:x}:{number:x}" for each in memories]
            command = (core.emulator, str(boot), *words)
            done = subprocess.run(
                command, pass_fds=(number,), capture_output=True, timeout=_TIMEOUT, check=False
            )
    return done.returncode == _MAPPED
