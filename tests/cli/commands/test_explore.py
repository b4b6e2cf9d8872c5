"""`explore`: from a space file to a front, and to the SoC file of a point."""

import json
from pathlib import Path

import pytest

from target_arch.cli import main
from tests.explore.spaces import DIGITS, ZYNQ, space_file


@pytest.mark.slow
def test_explore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = space_file(tmp_path)
    words = ["explore", str(file), "--workers", "1"]
    assert main([*words, "--csv", str(tmp_path / "points.csv")]) == 0
    first, err = capsys.readouterr()
    assert first.startswith("chips: 4 points: 4 fit\n\nfront of latency, price: ")
    assert "--chip " in err
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 5
    assert (tmp_path / "chips.outcomes.jsonl").is_file()
    assert main([*words, "--format", "json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert main([*words, "--chip", str(values["front"][0]), "-o", str(tmp_path / "chip.toml")]) == 0
    assert main(["check", str(tmp_path / "chip.toml")]) == 0
    assert main([*words, "--chip", "99"]) == 2
    assert capsys.readouterr().err.endswith(
        "chips: error: there is no point 99 [no-point]\nhint: points are numbered from 0 to 11\n"
    )


@pytest.mark.slow
def test_no_good_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = space_file(tmp_path, ZYNQ.replace('"1 s"', '"1 ns"'))
    assert main(["explore", str(file), "--workers", "1"]) == 1
    assert "limits that no point keeps\n  digits.latency: at most 1 ns is wanted, the least is " in (
        capsys.readouterr().out
    )


def test_a_model_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = space_file(tmp_path)
    (tmp_path / "digits_int8.onnx").unlink()
    (tmp_path / "digits_int8.onnx").write_bytes(b"no model")
    assert main(["explore", str(file), "--workers", "1"]) == 2
    assert "digits_int8.onnx: error: " in capsys.readouterr().err


@pytest.mark.slow
def test_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The chip that fits compiles, and the one a step below does not."""
    found = tmp_path / "found.toml"
    words = ["fit", str(DIGITS), "--soc", "mcu_m7", "--shrink", "sram", "-o", str(found)]
    assert main([*words, "--format", "json"]) == 0
    (sram,) = json.loads(capsys.readouterr().out)["shrunk"]
    assert main(["compile", str(DIGITS), "--soc", str(found), "-o", str(tmp_path / "bundle")]) == 0
    below = tmp_path / "below.toml"
    below.write_text(found.read_text().replace(f'size = "{sram["after"]}"', f'size = "{sram["below"]}"'))
    assert below.read_text() != found.read_text()
    capsys.readouterr()
    assert main(["compile", str(DIGITS), "--soc", str(below), "-o", str(tmp_path / "none")]) == 2
    assert sram["why"].removeprefix("refused: ") == capsys.readouterr().err.splitlines()[0]
    assert main([*words, "--within", "latency=1ns"]) == 2
    assert capsys.readouterr().err.startswith(
        "soc_configs/mcu_m7.toml: error: it is not good as it is: latency "
    )


@pytest.mark.slow
def test_choose(capsys: pytest.CaptureFixture[str]) -> None:
    chips = ["--soc", "mcu_m7", "--soc", "zynq_edge"]
    assert main(["choose", str(DIGITS), *chips, "--limit", "latency=1ms", "--workers", "1"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out] == ["chips", "chip", "zynq_edge", "mcu_m7:"]
    assert main(["choose", str(DIGITS), *chips, "--limit", "latency=1ns", "--workers", "1"]) == 1
    assert "none is good" in capsys.readouterr().out
    assert main(["choose", str(DIGITS), *chips, "--by", "beauty"]) == 2
    assert capsys.readouterr().err == (
        "by: error: `beauty` is nothing that is measured [unknown-measure]\nhint: such as `latency`\n"
    )
