"""run, verify and report about a bundle for an emulated machine."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.cli import main
from target_arch.resources import examples
from tests.cli.closed_schema import require_described
from tests.systems import COMPILER, EMULATOR

DIGITS = str(examples() / "digits" / "digits_int8.onnx")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("machine") / "digits"
    assert main(["compile", DIGITS, "--soc", "mcu_m7", "--port", "qemu_mps2", "-o", str(made)]) == 0
    return made


@pytest.fixture(autouse=True)
def tools(needs_tool: Callable[[str], str]) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)


def test_run_prints_the_instructions_of_every_step(folder: Path, capsys: Capture) -> None:
    assert main(["run", str(folder), "--port", "qemu_mps2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("self-test passed: its own input on port `qemu_mps2`, compared with ")
    assert "\ninstructions on mps2-an500, counted by its timer under QEMU's icount\n" in out
    assert "dispatch conv2d_" in out
    assert "runtime, between the steps" in out
    assert " B used of 4,096 B" in out


def test_run_on_a_file_gives_the_outputs_too(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (model,) = manifest["models"]
    (tensor,) = model["inputs"]
    np.save(tmp_path / "in.npy", np.zeros(tensor["shape"], tensor["dtype"]))
    assert main(["run", str(folder), "--input", str(tmp_path / "in.npy"), "--format=json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    require_described("run", answer)
    assert answer.keys() == {model["outputs"][0]["name"], "profile"}
    assert len(answer["profile"]["steps"]) == len(model["steps"])
    assert sum(answer["profile"]["steps"]) < answer["profile"]["instructions"]


def test_report_image(folder: Path, capsys: Capture) -> None:
    assert main(["report", str(folder), "--image"]) == 0
    out = capsys.readouterr().out
    assert "memory  section" in out
    assert "memories in bytes, gaps included\n" in out
    assert "linked as predicted\n" in out
    image = json.loads((folder / "manifest.json").read_text())["image"]
    require_described("report", image)
    assert image["differences"] == []
    assert {each["memory"] for each in image["memories"]} == {"flash", "sram"}


def test_another_port_is_refused(folder: Path, capsys: Capture) -> None:
    assert main(["run", str(folder), "--port", "host"]) == 2
    assert "the bundle carries port `qemu_mps2`, not `host` [another-port]" in capsys.readouterr().err


def test_a_soc_without_a_machine_is_refused(tmp_path: Path, capsys: Capture) -> None:
    arguments = ["compile", DIGITS, "--soc", "orin_like", "--port", "qemu_mps2", "-o", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert "`orin_like` does not say on which machine port `qemu_mps2` runs it" in capsys.readouterr().err


def test_a_missing_emulator_exits_with_3(
    folder: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    needs_tool: Callable[[str], str],
) -> None:
    main(["run", str(folder)])
    (tmp_path / COMPILER).symlink_to(needs_tool(COMPILER))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["run", str(folder)]) == 3
    assert f"`{EMULATOR}` not found" in capsys.readouterr().err


def test_there_is_no_image_on_this_computer(tmp_path: Path, capsys: Capture) -> None:
    made = str(tmp_path / "out")
    assert main(["compile", DIGITS, "--soc", "mcu_m7", "-o", made]) == 0
    assert main(["report", made, "--image"]) == 2
    assert "[no-machine]" in capsys.readouterr().err
