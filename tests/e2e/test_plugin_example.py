"""A plug-in from outside of the package: installed, found, compiled for, run and verified.

`tests/plugin_example` is a project of its own. It adds a kind of target_arch, with a composite, an S-TIR
schedule, a simulator and a C driver, and not a line of the package knows of it.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from target_arch.cli import main
from target_arch.registry import Backends
from tests.cli.commands.test_describe import call
from tests.relax.models import onnx_model, save

PLUGIN = Path(__file__).parents[1] / "plugin_example"
PACKAGE = Path(__file__).parents[2] / "target_arch"
LONGEST = 300

TARGETS = ("--target", "slope_unit,inp=2KiB,host=c", "--target", "dsp,backend=c,ram=1MiB", "--target", "c")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plug-in installed in it, as `pip install` does, without a network."""
    folder = tmp_path_factory.mktemp("site")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    command = (sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(copied(folder)))
    subprocess.run(command, check=True)
    return folder


def copied(folder: Path) -> Path:
    """The project without what its builds leave behind: setuptools writes beside the sources."""
    target = folder.with_name("project")
    shutil.copytree(PLUGIN, target, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    return target


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """conv → leaky → conv → leaky, then the mean of every channel: float32."""
    draw = np.random.default_rng(0)
    weights = {
        name: (draw.standard_normal(shape) * 0.2).astype(np.float32)
        for name, shape in (("w1", (8, 3, 3, 3)), ("w2", (8, 8, 3, 3)))
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("LeakyRelu", ["a"], ["b"], alpha=0.1),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("LeakyRelu", ["c"], ["d"], alpha=0.3),
        helper.make_node("GlobalAveragePool", ["d"], ["y"]),
    ]
    made = onnx_model(nodes, {"x": (1, 3, 12, 12)}, {"y": (1, 8, 1, 1)}, weights)
    return save(made, tmp_path_factory.mktemp("model") / "leaky.onnx")


def sources() -> list[Path]:
    built = ("build", "__pycache__")
    return [
        path
        for path in sorted(PLUGIN.rglob("*"))
        if path.is_file() and not any(part in built or part.endswith(".egg-info") for part in path.parts)
    ]


def test_it_is_short() -> None:
    assert {path.suffix for path in sources()} == {".toml", ".py", ".c", ".h"}
    assert sum(len(path.read_text().splitlines()) for path in sources()) <= LONGEST


def test_the_package_does_not_know_of_it() -> None:
    for path in (*PACKAGE.rglob("*.py"), *PACKAGE.parent.glob("*.toml")):
        assert "slope_unit" not in path.read_text(), path


@pytest.mark.usefixtures("installed")
def test_it_is_found_where_it_is_installed() -> None:
    backends = Backends.discover()
    assert backends.origin("slope_unit") == (
        "entry point `slope_unit = slope_unit:backend` of slope-unit 1.0"
    )
    assert backends["slope_unit"].description == "leaky rectifiers over float32"


@pytest.mark.usefixtures("installed")
def test_a_model_runs_on_it_and_is_right(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], needs_tool: Callable[[str], str]
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    before = digest()
    out = str(tmp_path / "bundle")
    assert main(["compile", str(model), *TARGETS, "--require", "leaky_relu=slope_unit", "-o", out]) == 0
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    (entry,) = manifest["models"]
    where = {part["instance"]: part["operators"] for part in entry["partitions"]}
    assert "slope_unit" in where
    commands = [step for step in entry["steps"] if step["kind"] == "dispatch"]
    assert len(commands) > len(entry["partitions"]), "the layers are cut into tiles"
    assert main(["run", out]) == 0
    assert call(capsys, "verify", str(model), "--bundle", out, "--count", "5")[0] == 0
    assert digest() == before


@pytest.mark.long
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.long)])
def test_its_c_is_clean(
    model: Path, tmp_path: Path, needs_tool: Callable[[str], str], compiler: str, sanitizer: str
) -> None:
    needs_tool(compiler)
    needs_tool("make")
    out = str(tmp_path / "bundle")
    assert main(["compile", str(model), *TARGETS, "--require", "leaky_relu=slope_unit", "-o", out]) == 0
    flags = f"-std=c99 -pedantic -Wall -Wextra -Werror -O1 -g -fsanitize={sanitizer}"
    command = ("make", "-s", "-C", out, f"CC={compiler}", f"CFLAGS={flags}", "selftest")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


NO_ROOM = ("--target", "c", "--target", "slope_unit,inp=2")


@pytest.mark.usefixtures("installed")
def test_what_it_has_no_room_for_runs_without_it(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host does not take the composite, but the operators that it was made of."""
    out = str(tmp_path / "bundle")
    assert main(["compile", str(model), *NO_ROOM, "-o", out]) == 0
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    (entry,) = manifest["models"]
    assert {part["instance"] for part in entry["partitions"]} == {"c"}
    assert [(each["kind"], each["outcome"]) for each in entry["attempts"]][-1] == (
        "targets",
        "on c, without composites of others",
    )
    assert call(capsys, "verify", str(model), "--bundle", out, "--count", "1")[0] == 0


@pytest.mark.usefixtures("installed")
def test_what_must_be_there_and_has_no_room_is_said(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(
        capsys, "verify", str(model), *NO_ROOM, "--require", "leaky_relu=slope_unit", "--count", "1"
    )
    assert code == 2
    assert err.endswith("hint: `slope_unit_inp` 1 KiB larger\n")


def test_without_it_the_host_computes_the_same(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "verify", str(model), "--target", "c", "--count", "5")[0] == 0


def digest() -> str:
    """Of every file of the package."""
    hashed = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            hashed.update(path.read_bytes())
    return hashed.hexdigest()
