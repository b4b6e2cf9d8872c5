"""Moving a layer to another target_arch changes no bit of an int8 result."""

from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS

PLACEMENTS = {
    "dsp": {"*": "dsp_cpu"},
    "convolutions on the engine": {"conv2d": "fpga_conv2d"},
    "pointwise and dense on the matrix engine": {"conv2d_5": "accelerator", "dense": "accelerator"},
    "as cost decides": {},
}


def _outputs(folder: Path, require: dict[str, str]) -> tuple[bytes, ...]:
    request = CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), require=require)
    write_bundle(compile_model(request).bundle, folder)
    frames = reference_for(DIGITS).frames(20, seed=3)
    return tuple(
        run_frames(build(folder), tuple(b"".join(part.tobytes() for part in frame) for frame in frames))
    )


@pytest.fixture(scope="module")
def on_the_host(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ...]:
    return _outputs(tmp_path_factory.mktemp("host") / "bundle", {"*": "host_cpu"})


@pytest.mark.slow
@pytest.mark.parametrize("require", PLACEMENTS.values(), ids=PLACEMENTS.keys())
def test_bits(tmp_path: Path, on_the_host: tuple[bytes, ...], require: dict[str, str]) -> None:
    assert _outputs(tmp_path / "bundle", require) == on_the_host
