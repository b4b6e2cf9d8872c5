"""A point of a space from its numbers to verified C, on this computer and in RTL."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli import main
from tests.explore.spaces import DIGITS, ZYNQ, space_file

ENGINES = """
[vary.bram]
key = "memory.conv_bram.size"
values = ["16 KiB", "64 KiB"]
"""


@pytest.mark.slow
def test_the_best_point_is_verified_c(
    tmp_path: Path, needs_tool: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its predicted run is that of the bundle's manifest, whose self-test passes with the engines in RTL, and
    near the run with the cycles that are counted there.
    """
    needs_tool("verilator")
    file, chip, bundle = space_file(tmp_path, ZYNQ + ENGINES), tmp_path / "chip.toml", tmp_path / "bundle"
    assert main(["explore", str(file), "--workers", "1", "--format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    best = next(point for point in made["points"] if point["point"] == made["front"][0])
    assert main(["explore", str(file), "--chip", str(best["point"]), "-o", str(chip)]) == 0
    for words in ([], ["--rtl"]):
        command = ["verify", str(DIGITS), "--soc", str(chip), "-o", str(bundle), *words]
        assert main(command) == 0, capsys.readouterr().err
    (model,) = json.loads((bundle / "manifest.json").read_text())["models"]
    predicted = best["models"]["digits"]["latency"]
    assert model["execution"]["makespan"] == pytest.approx(predicted, rel=1e-6)
    assert 0.8 < _counted(chip, bundle) / predicted < 1.5


def _counted(chip: Path, bundle: Path) -> float:
    """The run on a chip whose engine's commands take the cycles that are counted in RTL."""
    costs = chip.with_name("rtl.json")
    assert main(["calibrate", str(DIGITS), "--soc", str(chip), "--port", "rtl", "-o", str(costs)]) == 0
    words = ["--soc", str(chip), "--cost", str(costs), "-o", str(bundle)]
    assert main(["compile", str(DIGITS), *words]) == 0
    (model,) = json.loads((bundle / "manifest.json").read_text())["models"]
    return float(model["execution"]["makespan"])
