"""The library for Arduino, built by Arduino's own builder with a core for this computer, and run."""

import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli.main import main
from target_arch.resources import examples

PLATFORM = """\
name=This computer
version=1.0.0
recipe.c.o.pattern=cc -c -O1 {includes} "{source_file}" -o "{object_file}"
recipe.cpp.o.pattern=c++ -c -O1 {includes} "{source_file}" -o "{object_file}"
recipe.S.o.pattern=cc -c {includes} "{source_file}" -o "{object_file}"
recipe.ar.pattern=ar rcs "{archive_file_path}" "{object_file}"
recipe.c.combine.pattern=c++ -pthread {object_files} "{archive_file_path}" -lm -o "{build.path}/program"
recipe.preproc.includes=c++ -x c++ -M -MG -MP {includes} "{source_file}"
recipe.preproc.macros=c++ -x c++ -w -E -CC {includes} "{source_file}" -o "{preprocessed_file_path}"
preproc.macros.flags=-w -x c++ -E -CC
tools.ctags.pattern=arduino-ctags -u --language-force=c++ -f - --c++-kinds=svpf --fields=KSTtzns \
--line-directives "{source_file}"
"""
BOARDS = "desk.name=A desk\ndesk.build.core=desk\ndesk.build.board=DESK\n"
CORE = """\
#include <Arduino.h>
int main() { setup(); loop(); return 0; }
"""


@pytest.mark.slow
def test_arduinos_builder_finds_and_builds_the_library(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """It finds the library by the header that the sketch includes, and compiles all of `src`."""
    builder = needs_tool("arduino-builder")
    needs_tool("g++")
    model, bundle = str(examples() / "digits" / "digits_int8.onnx"), tmp_path / "bundle"
    assert main(["compile", model, "--soc", "zynq_edge", "-o", str(bundle)]) == 0
    assert main(["package", str(bundle), "arduino", "-o", str(tmp_path / "a.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path / "libraries")
    core = tmp_path / "hardware" / "here" / "pc" / "cores" / "desk"
    core.mkdir(parents=True)
    (core / "Arduino.h").write_text("void setup(); void loop();\n")
    (core / "main.cpp").write_text(CORE)
    (core.parents[1] / "platform.txt").write_text(PLATFORM)
    (core.parents[1] / "boards.txt").write_text(BOARDS)
    (tmp_path / "build").mkdir()
    sketch = tmp_path / "libraries" / "digits_int8" / "examples" / "digits_int8" / "digits_int8.ino"
    folders = ["-hardware", tmp_path / "hardware", "-libraries", tmp_path / "libraries"]
    tools = ["-tools", "/usr/share/arduino-builder", "-build-path", tmp_path / "build"]
    command = [builder, "-compile", *folders, *tools, "-fqbn", "here:pc:desk", sketch]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([tmp_path / "build" / "program"], check=True)
