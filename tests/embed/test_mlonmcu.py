"""MLonMCU drives target-arch by the plug-in of `examples/mlonmcu`: two models on two SoCs."""

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.resources import examples

MODELS = ("kws_int8", "ad01_int8")
TARGETS = ("target_arch_host", "target_arch_cortex_m7")


@pytest.mark.long
def test_a_session(shared: Path, tmp_path: Path, needs_tool: Callable[..., object]) -> None:
    """Every run has bytes of its plan and a validation that passed; emulated ones have instructions."""
    mlonmcu = shutil.which("mlonmcu")
    if mlonmcu is None:
        pytest.skip("needs MLonMCU: `pip install mlonmcu`, in an environment of its own, in the PATH")
    for tool in ("make", "cc", "arm-none-eabi-gcc", "qemu-system-arm"):
        needs_tool(tool)
    home = tmp_path / "home"
    (home / "plugins").mkdir(parents=True)
    shutil.copy(examples() / "mlonmcu" / "environment.yml", home)
    shutil.copy(examples() / "mlonmcu" / "extensions.py", home / "plugins")
    for model in MODELS:
        (home / "models" / model).mkdir(parents=True)
        shutil.copy(shared / "models" / f"{model}.tflite", home / "models" / model)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    targets = [word for target in TARGETS for word in ("-t", target)]
    subprocess.run(
        [mlonmcu, "flow", "run", *MODELS, *targets],
        env={**os.environ, "MLONMCU_HOME": str(home), "HOME": str(tmp_path), "PATH": path},
        cwd=home,
        check=True,
    )
    with next((home / "results").glob("*.csv")).open() as file:
        rows = {(row["Model"], row["Target"]): row for row in csv.DictReader(file)}
    assert set(rows) == {(model, target) for model in MODELS for target in TARGETS}
    for (_, target), row in rows.items():
        assert row["Validation"] == "True"
        assert int(float(row["Constants [B]"])) > 20_000
        measured = "Total Instructions" if target == "target_arch_cortex_m7" else "Runtime [s]"
        assert float(row[measured]) > 0
