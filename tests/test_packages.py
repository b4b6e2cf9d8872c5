"""What is shipped: the same source gives the same wheel and source archive, and licences are known."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
MANUAL = REPOSITORY / "docs" / "safety.md"
BUILD = "from setuptools import build_meta as b; b.build_sdist('out'); b.build_wheel('out')"
WORDS = {
    "Apache-2.0": "Apache",
    "MIT": "MIT",
    "BSD-3-Clause": "BSD",
    "MPL-2.0": "MPL",
    "Public domain": "Public domain",
}


def built(folder: Path) -> dict[str, str]:
    """The digest of each package that a copy of the source makes."""
    ignored = shutil.ignore_patterns(".git", ".venv", "*.egg-info", "build", "out", "__pycache__", ".*_cache")
    shutil.copytree(REPOSITORY, folder, ignore=ignored)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(
        [sys.executable, "-c", BUILD], cwd=folder, env=environment, check=True, capture_output=True
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "out").iterdir()}


@pytest.mark.slow
def test_packages_are_reproducible(tmp_path: Path) -> None:
    first = built(tmp_path / "one")
    time.sleep(2)  # zip files count in two seconds
    assert sorted(Path(name).suffix for name in first) == [".gz", ".whl"]
    assert built(tmp_path / "elsewhere" / "two") == first


def test_every_dependency_has_its_licence_in_the_manual() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=!~ ]", each, maxsplit=1)[0] for each in project["dependencies"]}
    table = MANUAL.read_text().partition("| package | licence |")[2]
    listed = dict(re.findall(r"^\| ([\w-]+) \| ([^|]+) \|$", table, re.MULTILINE))
    assert listed.keys() == needed
    for name, licence in listed.items():
        fields = ("License-Expression", "License", "Classifier")
        said = [each for field in fields for each in metadata(name).get_all(field) or ()]
        assert any(WORDS[licence].lower() in each.lower() for each in said), name
