"""The packages of the wheel: every folder of Python, and the folders of data that `pyproject.toml` maps.

With SOURCE_DATE_EPOCH the source archive has the same bytes whenever and wherever it is made, as a wheel.
"""

import gzip
import os
import tarfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

DATA = ("examples", "rtl", "runtime_c", "soc_configs")


class ReproducibleSdist(sdist):
    """An archive in the order of its names, with one time and one owner, where the epoch is set."""

    def make_archive(
        self,
        base_name: str,
        format: str,
        root_dir: str | None = None,
        base_dir: str | None = None,
        **more: object,
    ) -> str:
        """As distutils': the path of the archive."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar" or base_dir is None:
            return super().make_archive(base_name, format, root_dir, base_dir, **more)
        target = Path(f"{base_name}.tar.gz")
        with (
            target.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(path for path in Path(base_dir).rglob("*") if path.is_file()):
                _add(archive, path, int(epoch))
        return str(target)


def _add(archive: tarfile.TarFile, path: Path, epoch: int) -> None:
    member = archive.gettarinfo(path)
    member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
    member.mode = 0o755 if member.mode & 0o100 else 0o644
    with path.open("rb") as content:
        archive.addfile(member, content)


setup(
    cmdclass={"sdist": ReproducibleSdist},
    packages=[
        *find_packages(include=["target_arch", "target_arch.*"]),
        *(f"target_arch.{folder}" for folder in DATA),
    ],
)
