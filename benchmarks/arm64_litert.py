"""LiteRT for AArch64, with a Python that runs it under QEMU's user mode.

    dpkg --add-architecture arm64 && apt-get update
    python -m benchmarks.arm64_litert FOLDER
    python -m benchmarks.instructions --only AArch64 --arm64 FOLDER

The first line, once and as root, lets Debian 12's apt find packages for arm64. Nothing is installed:
FOLDER gets the files of a Python and of its libraries, and of LiteRT's wheel in this environment's version.
LiteRT asks the system what processor it runs on, so FOLDER has the answers of a board with one core.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

_PYTHON = "3.11"
"""Debian 12's."""
_PACKAGES = (
    f"python{_PYTHON}-minimal",
    f"libpython{_PYTHON}-minimal",
    f"libpython{_PYTHON}-stdlib",
    *("libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1", "libssl3", "libffi8", "libbz2-1.0"),
    *("liblzma5", "libcrypt1", "libuuid1"),
)
_WHEELS = ("ai-edge-litert", "numpy")
_CORE = """processor\t: 0
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd03
CPU revision\t: 4
"""
"""A Cortex-A53: what instructions there are LiteRT asks the emulator."""
_SYSTEM = {
    "proc/cpuinfo": _CORE,
    "sys/devices/system/cpu/possible": "0\n",
    "sys/devices/system/cpu/present": "0\n",
}


def python_of(folder: Path) -> tuple[str, ...]:
    """The program and its first words, to stand behind an emulator that has `folder` as its root."""
    return (
        str(folder / f"usr/bin/python{_PYTHON}"),
        "-c",
        f"import sys; sys.path.insert(0, {str(site(folder))!r})\n",
    )


def site(folder: Path) -> Path:
    """Where the wheels are."""
    return folder / "site"


def unpack_packages(folder: Path) -> None:
    """Packages of the system's distribution, for arm64, that a Python needs."""
    with tempfile.TemporaryDirectory() as there:
        names = [f"{package}:arm64" for package in _PACKAGES]
        subprocess.run(("apt-get", "download", "-qq", *names), cwd=there, check=True)
        for package in sorted(Path(there).glob("*.deb")):
            subprocess.run(("dpkg-deb", "-x", str(package), str(folder)), check=True)


def unpack_wheels(folder: Path) -> None:
    """Wheels for arm64 in the versions of this environment."""
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in (17, 27, 28, 31, 34)]
    platform = [word for each in platforms for word in ("--platform", each)]
    names = [f"{wheel}=={version(wheel)}" for wheel in _WHEELS]
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
    with tempfile.TemporaryDirectory() as there:
        words = (*pip, *platform, "--python-version", _PYTHON, "--dest", there, *names)
        subprocess.run(words, check=True)
        for wheel in sorted(Path(there).glob("*.whl")):
            zipfile.ZipFile(wheel).extractall(site(folder))


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    unpack_packages(folder)
    unpack_wheels(folder)
    for name, text in _SYSTEM.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
