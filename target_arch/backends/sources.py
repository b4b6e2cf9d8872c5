"""The C files that a bundle carries for a register-file engine: its own, and those that all such engines
share.
"""

from target_arch.resources import runtime_c


def driver_files(engine: str) -> dict[str, str]:
    """Driver and register header: path below `runtime/` → text."""
    stems = ("drivers/engine", f"drivers/{engine}")
    return _read(tuple(f"{stem}.{suffix}" for stem in stems for suffix in ("c", "h")))


def simulator_files(engine: str, *more: str) -> dict[str, str]:
    """Behavioural simulator, of one file and what `more` names: path below `runtime/` → text."""
    names = (f"{engine}.c", *more, "int8.c", "int8.h")
    return _read(tuple(f"simulators/{name}" for name in names))


def own_files(*paths: str) -> dict[str, str]:
    """Files of `runtime_c`: path below `runtime/` → text."""
    return _read(paths)


def _read(paths: tuple[str, ...]) -> dict[str, str]:
    folder = runtime_c()
    return {path: (folder / path).read_text(encoding="utf-8") for path in paths}
