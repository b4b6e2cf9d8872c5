"""A bundle in the layouts that other tools take: unpacked, compiled as they compile it, and run."""

import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.cli.main import main
from target_arch.resources import examples
from target_arch.run import build, run_frames

MAIN = """\
#include <stdio.h>
#include "tvmgen_default.h"

int main(void)
{
    static float image[64] __attribute__((aligned(16))), scores[10] __attribute__((aligned(16)));
    struct tvmgen_default_inputs in = {image};
    struct tvmgen_default_outputs out = {scores};
    const int status = tvmgen_default_run(&in, &out) || tvmgen_default_run(&in, &out);
    printf("%g", (double)scores[0]);
    return status;
}
"""
SKETCH = '#include "digits_int8.ino"\nint main() { setup(); loop(); return digits_int8_stop() != TA_OK; }\n'


OPTIONS = {
    "arena": ["--soc", "zynq_edge"],
    "caller": ["--soc", "mcu_m7", "--io", "caller"],
    "section": ["--soc", "zynq_edge", "--constants", "section"],
}


@pytest.fixture(scope="module", params=sorted(OPTIONS))
def digits(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives") / "digits"
    model = str(examples() / "digits" / "digits_int8.onnx")
    assert main(["compile", model, *OPTIONS[request.param], "-o", str(folder)]) == 0
    return folder


def compiled(folder: Path, sources: list[Path], include: Path) -> list[Path]:
    """Object files, as a build without any option of ours makes them."""
    objects = []
    for number, source in enumerate(sources):
        objects.append(folder / f"{number}.o")
        command = ["cc", "-O0", "-pthread", "-I", include, "-c", source, "-o", objects[-1]]
        subprocess.run(command, check=True)
    return objects


def test_the_same_bundle_gives_the_same_bytes(digits: Path, tmp_path: Path) -> None:
    for layout in ("arduino", "mlf"):
        for name in ("one", "two"):
            assert main(["package", str(digits), layout, "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_bundle_that_lacks_a_file_is_refused(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = Path(shutil.copytree(digits, tmp_path / "part"))
    (part / "library.json").unlink()
    assert main(["package", str(part), "mlf", "-o", str(tmp_path / "out")]) == 2
    assert "is no whole bundle: `library.json` is missing [not-a-bundle]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_model_library_format(digits: Path, tmp_path: Path, needs_tool: Callable[..., object]) -> None:
    """Its entry gives what the bundle gives."""
    needs_tool("cc")
    assert main(["package", str(digits), "mlf", "-o", str(tmp_path / "m.tar")]) == 0
    with tarfile.open(tmp_path / "m.tar") as archive:
        archive.extractall(tmp_path / "m", filter="data")
    facts = json.loads((tmp_path / "m" / "metadata.json").read_text())
    (main_function,) = facts["modules"]["default"]["memory"]["functions"]["main"]
    assert main_function["inputs"] == {"image": {"dtype": "float32", "size": 256}}
    host = tmp_path / "m" / "codegen" / "host"
    (host / "src" / "main.c").write_text(MAIN)
    objects = compiled(tmp_path, sorted((host / "src").glob("*.c")), host / "include")
    subprocess.run(["cc", "-pthread", *objects, "-lm", "-o", tmp_path / "run"], check=True)
    said = subprocess.run([tmp_path / "run"], check=True, capture_output=True, text=True).stdout
    assert said == f"{np.frombuffer(run_frames(build(digits), [bytes(256)])[0], np.float32)[0]:g}"


@pytest.mark.slow
def test_arduino_library(digits: Path, tmp_path: Path, needs_tool: Callable[..., object]) -> None:
    """Every C file below `src` with `src` alone for headers, as Arduino does; the sketch is C++."""
    needs_tool("g++")
    assert main(["package", str(digits), "arduino", "-o", str(tmp_path / "a.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path)
    library = tmp_path / "digits_int8"
    about = dict(line.split("=", 1) for line in (library / "library.properties").read_text().splitlines())
    assert {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url"} <= set(
        about
    )
    assert (library / "src" / about["includes"]).is_file()
    sketch = library / "examples" / "digits_int8"
    (sketch / "main.cpp").write_text(SKETCH)
    objects = compiled(tmp_path, sorted((library / "src").rglob("*.c")), library / "src")
    command = ["g++", "-pthread", "-I", library / "src", sketch / "main.cpp", *objects, "-lm"]
    subprocess.run([*command, "-o", tmp_path / "sketch"], check=True)
    subprocess.run([tmp_path / "sketch"], check=True)


def test_several_models_are_no_model_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = examples() / "digits" / "digits_int8.onnx"
    both = [f"a={model}", f"b={model}"]
    assert main(["compile", *both, "--soc", "mcu_m55", "-o", str(tmp_path / "two")]) == 0
    assert main(["package", str(tmp_path / "two"), "mlf"]) == 2
    assert "has 2 models, and the format has one [one-model]" in capsys.readouterr().err
