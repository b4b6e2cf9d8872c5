"""Bad input of every kind: one clear message, the right exit code, no traceback, nothing half-written."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from target_arch.cli import main
from tests.cli.commands.test_models import DIGITS

Break = Callable[[Path], Path]


Answer = tuple[int, str, str]


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> Answer:
    """Exit code, stdout and stderr, of libraries as well."""
    code = main(arguments)
    printed = capfd.readouterr()
    return code, printed.out, printed.err


def refused(answer: Answer, code: int, rule: str) -> None:
    assert (answer[0], answer[1]) == (code, ""), answer[2]
    assert "Traceback" not in answer[2]
    assert answer[2].count(": error: ") == 1, answer[2]
    assert f"[{rule}]" in answer[2], answer[2]


def model(folder: Path, operator: str, shape: list[int | str]) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", [x], [y])
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), path)
    return path


def truncated(folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(Path(DIGITS).read_bytes()[:5000])
    return path


def empty(folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(b"")
    return path


def of_another_kind(folder: Path) -> Path:
    path = folder / "model.tflite"
    path.write_bytes(Path(DIGITS).read_bytes())
    return path


def of_an_unknown_ending(folder: Path) -> Path:
    path = folder / "model.h5"
    path.write_bytes(Path(DIGITS).read_bytes())
    return path


def absent(folder: Path) -> Path:
    return folder / "absent.onnx"


def a_folder(folder: Path) -> Path:
    (folder / "model.onnx").mkdir()
    return folder / "model.onnx"


def dynamic(folder: Path) -> Path:
    return model(folder, "Relu", ["n", 4])


def unsupported(folder: Path) -> Path:
    return model(folder, "Bernoulli", [4, 4])


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (truncated, "model-damaged"),
        (empty, "model-empty"),
        (of_another_kind, "model-type"),
        (of_an_unknown_ending, "model-type"),
        (absent, "model-not-found"),
        (a_folder, "model-not-found"),
        (dynamic, "dynamic-shape"),
        (unsupported, "unsupported-operator"),
    ],
)
def test_models(capfd: pytest.CaptureFixture[str], tmp_path: Path, make: Break, rule: str) -> None:
    path = make(tmp_path)
    refused(run(capfd, "compile", str(path), "--soc", "zynq_edge", "-o", str(tmp_path / "out")), 2, rule)
    assert not (tmp_path / "out").exists()


def test_a_soc_that_is_not_there(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refused(run(capfd, "compile", DIGITS, "--soc", "zynq", "-o", str(tmp_path / "out")), 2, "cannot-read")


def compiled(capfd: pytest.CaptureFixture[str], output: Path) -> Answer:
    return run(capfd, "compile", DIGITS, "--soc", "mcu_m55", "-o", str(output))


def test_an_output_that_is_a_file(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    refused(compiled(capfd, tmp_path / "out"), 2, "output-not-a-folder")
    assert (tmp_path / "out").read_text() == "mine"


def test_an_output_that_holds_something_else(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is in the way is refused, and everything else stays."""
    (tmp_path / "Makefile").write_text("mine")
    (tmp_path / "thesis.tex").write_text("mine")
    refused(compiled(capfd, tmp_path), 2, "output-in-the-way")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "thesis.tex"]
    (tmp_path / "Makefile").unlink()
    assert compiled(capfd, tmp_path)[0] == 0
    (tmp_path / "src" / "runner.c").write_text("mine")
    refused(compiled(capfd, tmp_path), 2, "output-edited")
    texts = [(tmp_path / name).read_text() for name in ("thesis.tex", "src/runner.c")]
    assert texts == ["mine", "mine"]


def test_an_output_that_cannot_be_written(capfd: pytest.CaptureFixture[str]) -> None:
    refused(compiled(capfd, Path("/proc/nothing/out")), 2, "output-unwritable")


def test_no_c_compiler(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiled(capfd, tmp_path / "out")[0] == 0
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    refused(run(capfd, "run", str(tmp_path / "out")), 3, "tool-missing")


def test_a_bundle_that_is_none(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in ("run", "report"):
        refused(run(capfd, command, str(tmp_path)), 2, "not-a-bundle")


def test_no_traceback_from_the_shell(tmp_path: Path) -> None:
    """The same through the door of a real process."""
    command = (sys.executable, "-m", "target_arch", "check", str(tmp_path / "absent.toml"))
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    refused((answer.returncode, answer.stdout, answer.stderr), 2, "cannot-read")
