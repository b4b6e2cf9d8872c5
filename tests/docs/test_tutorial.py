"""docs/tutorial.md is executed: its files are those of `examples/tutorial`, its commands run in their order,
and the program that they build runs on an emulated board.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
EXAMPLE = ROOT / "examples" / "tutorial"
FILES = {"python": "model.py", "toml": "my_chip.toml", "c": "main.c", "cmake": "CMakeLists.txt"}
COMMANDS = re.compile(r"```sh\n(.*?)```", re.DOTALL)
RIGHT = re.compile(r"(\d) of 8 digits right")


def written(text: str) -> str:
    """The page with the files of the example."""
    for kind, name in FILES.items():
        block = f"```{kind}\n{(EXAMPLE / name).read_text()}```"
        text = re.sub(rf"```{kind}\n.*?```", lambda _, block=block: block, text, count=1, flags=re.DOTALL)
    return text


def test_its_files_are_those_of_the_example(pytestconfig: pytest.Config) -> None:
    text = PAGE.read_text()
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(text := written(text))
    assert text == written(text)
    assert sorted(path.name for path in EXAMPLE.iterdir()) == sorted(FILES.values())


@pytest.mark.slow
def test_from_a_model_to_a_program_on_a_board(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    for module in ("torch", "sklearn", "onnxruntime", "ortools"):
        pytest.importorskip(
            module, reason=f"needs {module}: pip install 'target-arch[verify,quantize,torch,test]'"
        )
    for tool in ("cmake", "arm-none-eabi-gcc", "qemu-system-arm"):
        needs_tool(tool)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, words in (("target-arch", "-m target_arch"), ("python", "-W ignore")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    folder = tmp_path / "work"
    shutil.copytree(EXAMPLE, folder)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    said = ""
    for command in "".join(COMMANDS.findall(PAGE.read_text())).splitlines():
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        said += done.stdout + done.stderr
    found = RIGHT.search(said)
    assert found is not None
    assert int(found[1]) >= 6
    assert "digits fits: " in said
    assert "verification passed" in said
    assert (folder / "report.html").exists()
