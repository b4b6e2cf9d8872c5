"""Where the files that travel with the package are: the C runtime, RTL, SoC files and example models.

In a wheel they are inside the package, in a checkout beside it.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def runtime_c() -> Path:
    """The folder of the C runtime (`include/`, `core/`, `ports/`, `drivers/`, `simulators/`)."""
    return _folder("runtime_c")


def rtl() -> Path:
    """The folder of the engines that exist as Verilog, one folder per engine."""
    return _folder("rtl")


def soc_configs() -> Path:
    """The folder of the shipped SoC files."""
    return _folder("soc_configs")


def examples() -> Path:
    """The folder of the example models."""
    return _folder("examples")


def c_files(folder: Path, below: str) -> dict[str, str]:
    """The C sources and headers in a folder and below it, each by its path with `below` before it."""
    return {
        f"{below}/{path.relative_to(folder).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".c", ".h"}
    }


def _folder(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
