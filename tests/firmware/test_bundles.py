"""Models whose partitions run as firmware, in processes under an emulator: equal to the reference."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.run import build, run_frames, verify
from tests.firmware.conftest import DIGITS, Compile
from tests.slow import slow_except

LOG = "TARGET_ARCH_CORE_LOG"
FRAMES = 2
SLOW = pytest.mark.slow

Tools = Callable[[str], None]


def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "bundle", ignore=shutil.ignore_patterns("build")))


def dispatched(folder: Path) -> int:
    """Steps that the DSP executes in one run."""
    text = next((folder / "src").glob("*_steps.c")).read_text()
    return len(re.findall(r"TA_STEP_DISPATCH.*on dsp_cpu", text))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "core"),
    [
        ("ad01_int8", "hexagon"),
        pytest.param("kws_int8", "hexagon", marks=pytest.mark.long),
        pytest.param("ad01_int8", "riscv64", marks=SLOW),
        pytest.param("kws_int8", "riscv64", marks=SLOW),
        pytest.param("ad01_int8", "aarch64", marks=SLOW),
    ],
)
def test_model(
    compiled: Compile,
    shared: Path,
    core_tools: Tools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    core: str,
) -> None:
    """The C of the core's functions is broken first, so that nothing but the firmware can have computed.

    The other models: `tests/rtl/test_ports.py`.
    """
    core_tools(core)
    model = shared / "models" / f"{name}.tflite"
    made, folder = compiled(model, core)
    assert any(part.instance == "dsp_cpu" for part in made.graph.partitions)
    bundle = copied(folder, tmp_path)
    (kernels,) = (bundle / "src").glob("*_dsp_cpu_kernels.c")
    broken = kernels.read_text().replace(
        "void *const *p)\n{\n", "void *const *p)\n{\n    if (p) return TA_OK;\n"
    )
    assert "if (p) return TA_OK;" in broken
    kernels.write_text(broken)
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    found = verify(model, bundle, count=FRAMES, firmware=True)
    assert found.passed, str(found)
    assert found.equal == found.outputs == FRAMES
    assert found.self_test == "passed"
    calls = (tmp_path / "log").read_text().splitlines()
    assert len(calls) == (FRAMES + 1) * dispatched(bundle)
    (image,) = build(bundle, firmware=True).firmware
    assert image.entry.differences == ()


@pytest.mark.parametrize("mode", slow_except([], ["lazy", "jitter"]))
def test_the_same_bytes_whenever_devices_come_to_it(
    compiled: Compile, core_tools: Tools, tmp_path: Path, mode: str
) -> None:
    core_tools("hexagon")
    made, folder = compiled(DIGITS, "hexagon")
    bundle = copied(folder, tmp_path)
    size = sum(made.model.tensors[name].bytes for name in made.model.inputs)
    frames = tuple(bytes([number]) * size for number in range(3))
    expected = run_frames(build(bundle), frames)
    executable = build(bundle, firmware=True)
    assert run_frames(executable, frames, lazy=mode == "lazy", jitter=3 * (mode == "jitter")) == expected


def test_the_object_code_is_the_same_every_time(compiled: Compile) -> None:
    from target_arch.pipeline import compile_model

    made, _ = compiled(DIGITS, "hexagon")
    again = compile_model(made.request)
    assert again.bundle.files == made.bundle.files
    assert any(path.endswith(".o") for path in made.bundle.files)
