"""A bundle inside other builds: CMake package, Zephyr module, PlatformIO library, CMSIS-Pack."""

import json
import subprocess
import xml.etree.ElementTree as xml
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.resources import examples
from target_arch.run import build, run_frames, write_bundle
from target_arch.soc import read_soc

HERE = Path(__file__).parent
KWS = HERE.parents[2] / "shared" / "models" / "kws_int8.tflite"
PROJECT = """\
cmake_minimum_required(VERSION 3.13)
project(two C)
find_package(kws_int8 REQUIRED)
find_package(digits_int8 REQUIRED)
add_executable(two two.c)
target_link_libraries(two PRIVATE target_arch::kws_int8 target_arch::digits_int8)
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages") / "digits"
    model = examples() / "digits" / "digits_int8.onnx"
    write_bundle(compile_model(CompileRequest(model_path=model, soc=read_soc("zynq_edge"))).bundle, folder)
    return folder


def cmake(*arguments: str | Path) -> None:
    subprocess.run(["cmake", *map(str, arguments)], check=True, capture_output=True, text=True)


@pytest.mark.long
def test_two_installed_bundles_in_one_program(
    digits: Path, tmp_path: Path, needs_tool: Callable[..., object]
) -> None:
    """Found by `find_package` from outside; each gives what it gives alone, though both are for one SoC."""
    needs_tool("cmake")
    if not KWS.exists():
        pytest.skip("needs the reference models in ../shared/models")
    kws = tmp_path / "kws"
    write_bundle(compile_model(CompileRequest(model_path=KWS, soc=read_soc("zynq_edge"))).bundle, kws)
    for bundle in (kws, digits):
        cmake("-S", bundle, "-B", tmp_path / bundle.name / "b", "-DCMAKE_C_FLAGS=-O0")
        cmake("--build", tmp_path / bundle.name / "b", "--target", f"{bundle.name}_int8")
        (tmp_path / bundle.name / "b" / f"{bundle.name}_int8_runner").touch()
        (tmp_path / bundle.name / "b" / f"{bundle.name}_int8_selftest").touch()
        cmake("--install", tmp_path / bundle.name / "b", "--prefix", tmp_path / "installed")
    project = tmp_path / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT)
    (project / "two.c").write_text((HERE / "two.c").read_text())
    cmake("-S", project, "-B", project / "b", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    cmake("--build", project / "b")
    said = subprocess.run([project / "b" / "two"], check=True, capture_output=True, text=True).stdout.split()
    first = np.frombuffer(run_frames(build(digits), [bytes(256)])[0], np.float32)[0]
    scores = np.frombuffer(run_frames(build(kws), [b"\1" * 490])[0], np.int8)
    assert said == [f"{first:g}", *map(str, scores)]


def test_every_package_lists_the_sources_that_there_are(digits: Path) -> None:
    sources = {
        path.relative_to(digits).as_posix()
        for path in digits.rglob("*.c")
        if path.name not in ("runner.c", "selftest.c")
    }
    facts = json.loads((digits / "library.json").read_text())
    filters = facts["build"]["srcFilter"]
    assert filters[0] == "-<*>"
    assert {each[2:-1] for each in filters[1:]} == sources
    pack = xml.fromstring((digits / "target_arch.digits_int8.pdsc").read_bytes())
    files = {each.attrib["name"]: each.attrib["category"] for each in pack.iter("file")}
    assert {name for name, kind in files.items() if kind == "sourceC"} == sources
    assert all((digits / name).is_dir() for name, kind in files.items() if kind == "include")
    zephyr = (digits / "zephyr" / "CMakeLists.txt").read_text()
    assert {line.strip()[3:] for line in zephyr.splitlines() if line.endswith(".c")} == sources


def test_the_module_names_files_that_there_are(digits: Path) -> None:
    module = (digits / "zephyr" / "module.yml").read_text().splitlines()
    assert module[0] == "name: digits_int8"
    assert (digits / "zephyr" / "CMakeLists.txt").is_file()
    assert (digits / "zephyr" / "Kconfig").read_text().startswith("config TARGET_ARCH_DIGITS_INT8\n\tbool ")


@pytest.mark.slow
def test_zephyrs_commands_build_the_library(
    digits: Path, tmp_path: Path, needs_tool: Callable[..., object]
) -> None:
    """With stand-ins for the commands of Zephyr that the file uses: what they get is enough to compile."""
    needs_tool("cmake")
    (tmp_path / "CMakeLists.txt").write_text(f"""\
cmake_minimum_required(VERSION 3.20)
project(app C)
set(CONFIG_TARGET_ARCH_DIGITS_INT8 y)
macro(zephyr_library_named name)
  set(lib ${{name}})
  add_library(${{name}} STATIC)
endmacro()
macro(zephyr_library_sources)
  target_sources(${{lib}} PRIVATE ${{ARGN}})
endmacro()
macro(zephyr_include_directories)
  target_include_directories(${{lib}} PUBLIC ${{ARGN}})
endmacro()
macro(zephyr_library_include_directories)
  target_include_directories(${{lib}} PRIVATE ${{ARGN}})
endmacro()
add_subdirectory({digits / "zephyr"} zephyr)
""")
    cmake("-S", tmp_path, "-B", tmp_path / "b", "-DCMAKE_C_FLAGS=-O0 -pthread")
    cmake("--build", tmp_path / "b")


def test_the_papers(digits: Path) -> None:
    assert "Apache License" in (digits / "LICENSE").read_text()
    assert "LICENSE" in (digits / "NOTICE").read_text()
    readme = (digits / "README.md").read_text()
    assert "digits_int8_input_image()" in readme
    for line in readme.splitlines():
        if line.startswith("| `") and line.count("`") == 2:
            assert (digits / line.split("`")[1]).exists(), line


def test_the_header_is_cpp(digits: Path, tmp_path: Path, needs_tool: Callable[..., object]) -> None:
    needs_tool("g++")
    (tmp_path / "main.cpp").write_text("#include <digits_int8.h>\nint main() { return digits_int8_run(); }\n")
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run(["g++", *flags, "-I", digits / "include", tmp_path / "main.cpp"], check=True)


@pytest.mark.long
def test_bindgen_reads_the_header(digits: Path, tmp_path: Path, needs_tool: Callable[..., object]) -> None:
    """Bindings with every function of the model, and not a word beside."""
    needs_tool("bindgen")
    command = ["bindgen", digits / "include" / "digits_int8.h", "-o", tmp_path / "b.rs"]
    made = subprocess.run(
        [*command, "--", f"-I{digits / 'include'}"], check=True, capture_output=True, text=True
    )
    assert made.stdout + made.stderr == ""
    text = (tmp_path / "b.rs").read_text()
    assert all(f"pub fn digits_int8_{name}(" in text for name in ("init", "run", "stop", "input_image"))
