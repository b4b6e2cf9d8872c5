"""The library for PlatformIO, found and built by PlatformIO's own builder for this computer, and run.

PlatformIO would fetch its platforms and SCons: here is a platform of a page, and the SCons that is installed
beside it. `pip install platformio scons`, in an environment of its own, whose `bin` is in the PATH.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import target_arch
from target_arch.resources import examples

BUILDER = """\
from SCons.Script import AlwaysBuild, Default, DefaultEnvironment

env = DefaultEnvironment()
env.Replace(CC="gcc", CXX="g++", AR="ar", RANLIB="ranlib", LINK="g++")
env.Append(LINKFLAGS=["-pthread"], LIBS=["m"])
Default(AlwaysBuild(env.BuildProgram()))
"""
PLATFORM = """\
from platformio.public import PlatformBase


class DeskPlatform(PlatformBase):
    pass
"""
MAIN = """\
#include <stdio.h>
#include <digits_int8.h>

int main(void)
{
    if (digits_int8_init(&ta_port_host) != TA_OK || digits_int8_run() != TA_OK)
        return 1;
    puts(digits_int8_output_logits() == NULL ? "none" : "ran");
    return digits_int8_stop() != TA_OK;
}
"""
SCONS = "4.41101.0"
"""The version that PlatformIO 6.2 asks for, in its own count; the one that is installed takes that place."""


@pytest.mark.long
def test_platformio_finds_and_builds_the_library(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    pio = shutil.which("pio")
    if pio is None:
        pytest.skip("needs PlatformIO: `pip install platformio scons`, in an environment of its own")
    needs_tool("g++")
    project, core = tmp_path / "project", tmp_path / "core"
    made = target_arch.compile(examples() / "digits" / "digits_int8.onnx", "mcu_m7")
    made.write(project / "lib" / "digits_int8")
    written(project / "src" / "main.c", MAIN)
    written(project / "platformio.ini", "[env:desk]\nplatform = desk\n")
    desk = core / "platforms" / "desk"
    written(desk / "platform.json", json.dumps(package("desk", "1.0.0") | {"packages": {}}))
    written(desk / "platform.py", PLATFORM)
    written(desk / "builder" / "main.py", BUILDER)
    scons = core / "packages" / "tool-scons"
    written(scons / "package.json", json.dumps(package("tool-scons", SCONS) | {"system": "*"}))
    written(scons / "scons.py", "import SCons.Script\nSCons.Script.main()\n")
    environment = {
        **os.environ,
        "PLATFORMIO_CORE_DIR": str(core),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
    }
    done = subprocess.run(
        [pio, "run", "-d", project], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "|-- digits_int8 @ 1.0.0" in done.stdout
    program = project / ".pio" / "build" / "desk" / "program"
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "ran\n"


def package(name: str, version: str) -> dict[str, object]:
    about = {"title": name, "description": name, "license": "Apache-2.0", "keywords": [name]}
    return {"name": name, "version": version, **about}


def written(path: Path, text: str) -> None:
    """The file; packages of PlatformIO also say where they came from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if path.name in ("platform.json", "package.json"):
        about = json.loads(text)
        kind, owner = ("platform", None) if path.name == "platform.json" else ("tool", "platformio")
        spec = {"owner": owner, "id": None, "name": about["name"], "requirements": None, "uri": None}
        known = {"type": kind, "name": about["name"], "version": about["version"], "spec": spec}
        path.with_name(".piopm").write_text(json.dumps(known))
