"""Several models in one bundle: built with every compiler and sanitizer, alternating, against references."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, ModelsCompilation, ModelsRequest, compile_models
from target_arch.plan.model_pools import Sharing
from target_arch.run import reference_for, verify_models, write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import self_test_on_machine
from target_arch.run.verification.verify import compare_models
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS, portable
from tests.systems import COMPILER, EMULATOR

Tool = Callable[[str], str]


def compiled(
    models: dict[str, Path],
    soc: str,
    folder: Path,
    arenas: Sharing = Sharing.SHARED,
    port: str = "host",
    image: str = "",
) -> ModelsCompilation:
    """One bundle of models by their names; `image` is the last one's bitstream."""
    chip = read_soc(soc)
    requests = tuple(
        CompileRequest(
            model_path=path,
            soc=chip,
            name=name,
            port=port,
            images={"fpga_conv2d": image} if image and name == tuple(models)[-1] else {},
        )
        for name, path in models.items()
    )
    made = compile_models(ModelsRequest(models=requests, arenas=arenas))
    write_bundle(made.bundle, folder)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "arenas"),
    [("gcc", Sharing.SHARED), ("clang", Sharing.SEPARATE)],
)
def test_models_alternate_with_programs_of_their_own(
    compiler: str, arenas: Sharing, needs_tool: Tool, tmp_path: Path
) -> None:
    """Two models, two bitstreams for one engine: equal to the reference, and clean under sanitizers."""
    needs_tool(compiler)
    models = {"first": DIGITS, "second": DIGITS}
    made = compiled(models, "zynq_edge", tmp_path, arenas, image="second.bit")
    steps = made.bundle.files["src/second_steps.c"].decode()
    assert "ZYNQ_EDGE_IMAGE_SECOND_FPGA_CONV2D, " in steps
    assert "ZYNQ_EDGE_IMAGE_FPGA_CONV2D, " in made.bundle.files["src/first_steps.c"].decode()
    executable = build(
        tmp_path, sanitize=("address", "undefined"), compiler=portable(compiler), optimize="-O1"
    )
    references = {name: reference_for(path) for name, path in models.items()}
    for lazy in (False, True):
        found = compare_models(references, executable, count=3, lazy=lazy)
        assert {name: (each.passed, each.self_test) for name, each in found.items()} == {
            "first": (True, "passed"),
            "second": (True, "passed"),
        }


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> ModelsCompilation:
    """The digits model under two names."""
    folder = tmp_path_factory.mktemp("twice") / "bundle"
    return compiled({"first": DIGITS, "second": DIGITS}, "zynq_edge", folder)


def test_what_models_share_is_there_once(twice: ModelsCompilation) -> None:
    """One runtime, one SoC header, one copy of kernels that are the same."""
    made = twice
    own = {
        path
        for path in made.bundle.files
        if path.startswith(("src/", "include/")) and "target_arch/" not in path
    }
    assert own == {
        "include/first.h", "include/second.h", "include/zynq_edge_models.h", "include/zynq_edge_soc.h",
        "src/first.c", "src/first_constants.c", "src/first_steps.c",
        "src/second.c", "src/second_constants.c", "src/second_steps.c",
        "src/program_table.h", "src/runner.c", "src/selftest.c", "src/test_vectors.h",
        "src/zynq_edge_models.c", "src/zynq_edge_models_arenas.c",
        "src/zynq_edge_models_deadline.c",
        "src/zynq_edge_models_dsp_cpu_kernels.c", "src/zynq_edge_models_host_cpu_kernels.c",
        "src/zynq_edge_models_internal.h", "src/zynq_edge_simulation.c", "src/zynq_edge_soc.c",
    }  # fmt: skip
    kernels = made.bundle.files["src/zynq_edge_models_host_cpu_kernels.c"].decode()
    defined = [line for line in kernels.splitlines() if line.startswith("static void ")]
    assert defined
    assert len(defined) == len(set(defined))


def test_same_bytes_in_any_folder_with_any_hash_seed(twice: ModelsCompilation, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "target_arch", "compile", f"first={DIGITS}", f"second={DIGITS}")
    subprocess.run(
        [*command, "--soc", "zynq_edge", "-o", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        check=True,
        capture_output=True,
    )
    folder = tmp_path / "out"
    written = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert written == twice.bundle.files


@pytest.mark.slow
def test_null_port_and_cmake_take_several_models(needs_tool: Tool, tmp_path: Path) -> None:
    """On the port to clone everything links; its devices are not there, and init says so."""
    needs_tool("cmake")
    compiled({"a": DIGITS, "b": DIGITS}, "mcu_m55", tmp_path / "bundle", port="null")
    for command in (["cmake", "-S", "bundle", "-B", "made"], ["cmake", "--build", "made"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    test = subprocess.run([tmp_path / "made" / "mcu_m55_models_selftest"], capture_output=True, check=False)
    assert test.returncode == 0, test.stderr


@pytest.mark.slow
def test_predicted_is_linked_for_two_models_on_a_board(
    shared: Path, needs_tool: Tool, tmp_path: Path
) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    files = {name: shared / "models" / f"{name}.tflite" for name in ("kws_int8", "ad01_int8")}
    made = compiled(files, "mcu_m7", tmp_path, port="qemu_mps2")
    executable = build(tmp_path)
    assert executable.image is not None
    assert executable.image.differences == ()
    arenas = {part.section: part.linked for part in executable.image.sections}
    pools = {str(pool.pool): pool.bytes for pool in made.pools.pools}
    assert arenas[".ta_sram"] == pools["sram"] == 16_000
    assert arenas[".ta_flash_constants"] == pools["flash.constants"]
    found = self_test_on_machine(executable)
    assert found is not None
    passed, profile = found
    assert passed
    counts = [len(model.steps.steps) for model in made.models]
    assert len(profile.steps) == sum(counts)
    assert min(sum(profile.steps[: counts[0]]), sum(profile.steps[counts[0] :])) > 200_000
    verified = verify_models(files, tmp_path, count=2)
    assert {name: (each.passed, each.equal) for name, each in verified.items()} == dict.fromkeys(
        files, (True, 2)
    )
