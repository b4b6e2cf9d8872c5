"""Chains on the Ethos-U of the shipped SoC, from model to verified bundle, in large memory and in small.

The unit is stood in for by the same operators in plain C (see docs/ethos-u.md), so that what is shown is the
plan: operands, addresses, weights, scratch, and that nothing lives where the arena is.
"""

from pathlib import Path

import pytest
from attrs import evolve

from conformance.tflite_files import TfliteFile
from target_arch.api.views.manifest_text import report_text
from target_arch.backends.ethos_u.graph import graph_of
from target_arch.backends.ethos_u.tflite_file import tflite_bytes
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.plan.steps import Dispatch
from target_arch.run.bundles.manifest import read_manifest
from target_arch.run.bundles.write import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc
from target_arch.soc.model import SoC
from tests.backends.ethos_u.chains import residual

KIB = 1024
ON_NPU = {"*": "npu"}
"""A small layer may be faster on the core, which has kernels of its own."""


def chip(sram: int, dtcm: int = 256 * KIB) -> SoC:
    soc = read_soc("corstone_u55")
    sizes = {"sram": sram, "dtcm": dtcm}
    memories = tuple(evolve(m, size=sizes.get(m.name, m.size)) for m in soc.memories)
    return evolve(soc, memories=memories)


def verified(model: Path, soc: SoC, folder: Path, frames: int = 10, **wishes: object) -> CompiledModel:
    made = compile_model(CompileRequest(model_path=model, soc=soc, **wishes))  # type: ignore[arg-type]
    write_bundle(made.bundle, folder)
    found = verify(model, folder, count=frames)
    assert found.equal == found.outputs == frames, str(found)
    return made


def chains(made: CompiledModel) -> list[tuple[int, str]]:
    return [(len(partition.operators), partition.instance) for partition in made.graph.partitions]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "residual.tflite"
    path.write_bytes(tflite_bytes(graph_of(residual().operators, residual())))
    return path


@pytest.mark.slow
def test_a_whole_model_is_one_command(model: Path, tmp_path: Path) -> None:
    made = verified(model, chip(512 * KIB), tmp_path / "out", require=ON_NPU)
    assert chains(made) == [(5, "npu")]
    assert len([step for step in made.steps.steps if isinstance(step, Dispatch)]) == 1
    kinds = {buffer.kind for buffer in made.plan.buffers}
    assert kinds == {"input", "output", "constant", "local"}, "what is inside the chain has no buffer"
    report = report_text(read_manifest(tmp_path / "out"))
    assert "p0         conv2d_0 and 4 more  sram" in report, "one budget for the chain"
    assert "\nsaid by backends\nid  of its kernel\np0  Vela, for speed: arena " in report


def gated(folder: Path) -> Path:
    """A sigmoid gate, a product with it, a change of grid, and what a concat puts side by side."""
    file, shape = TfliteFile(), (1, 8, 8, 16)
    x = file.input(shape, "int8", 0.05, 3)
    gate, product = file.tensor(shape, "int8", 1 / 256, -128), file.tensor(shape, "int8", 0.04, 0)
    other = file.tensor(shape, "int8", 0.04, 0)
    y = file.output((1, 8, 8, 32), "int8", 0.04, 0)
    file.operator("LOGISTIC", [x], [gate], version=2)
    file.operator("MUL", [x, gate], [product], ("MulOptions", {}), 2)
    file.operator("QUANTIZE", [x], [other], version=2)
    file.operator("CONCATENATION", [product, other], [y], ("ConcatenationOptions", {"axis": 3}), 2)
    path = folder / "gated.tflite"
    path.write_bytes(file.content())
    return path


@pytest.mark.slow
def test_tables_and_a_concat_are_one_command(tmp_path: Path) -> None:
    made = verified(gated(tmp_path), chip(512 * KIB), tmp_path / "out", require=ON_NPU)
    assert chains(made) == [(4, "npu")]


@pytest.mark.slow
def test_a_small_memory_splits_the_chain(model: Path, tmp_path: Path) -> None:
    made = verified(model, chip(5 * KIB), tmp_path / "out")
    assert len(chains(made)) > 1
    assert {attempt.kind for attempt in made.attempts} >= {"split"}
    assert all(peak <= 5 * KIB for arena, peak in made.plan.peaks.items() if arena == Arena("sram"))


def test_an_operator_in_the_middle_may_be_somebody_else_s(model: Path, tmp_path: Path) -> None:
    made = verified(model, chip(512 * KIB), tmp_path / "out", require={**ON_NPU, "add_2": "host_cpu"})
    assert chains(made) == [(2, "npu"), (1, "host_cpu"), (2, "npu")]


def test_the_bundle_is_the_same_every_time(model: Path) -> None:
    one, other = (compile_model(CompileRequest(model_path=model, soc=chip(64 * KIB))) for _ in range(2))
    assert one.bundle == other.bundle


def test_only_the_host_port_carries_stand_ins(model: Path) -> None:
    host = compile_model(CompileRequest(model_path=model, soc=chip(64 * KIB)))
    assert "src/residual_stand_ins.c" in host.bundle.files
    bare = compile_model(CompileRequest(model_path=model, soc=chip(64 * KIB), port="null"))
    assert not any("stand_ins" in path for path in bare.bundle.files)


REFUSED = """\
step 3 (dispatch add_2 on npu): error: pool `sram` needs 3,456 B, 3,072 B are available (these steps need at \
least 3,456 B); alive there: `add_2_out@sram` 1,152 B, `conv2d_0_out@sram` 1,152 B, \
`depthwise_conv2d_1_out@sram` 1,152 B \
[does-not-fit]
tried: note: split (3), re-place (1)
hint: `sram` 1 KiB larger, or `add_2` on `host_cpu`, or `divide='auto'`, which computes operators in slices"""


@pytest.mark.long
def test_where_nothing_fits_the_model_is_refused(model: Path) -> None:
    with pytest.raises(DiagnosticError) as refused:
        compile_model(CompileRequest(model_path=model, soc=chip(3 * KIB), require=ON_NPU))
    assert str(refused.value) == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kws_int8", "ad01_int8"])
def test_models_of_mlperf_tiny_in_three_quarters_of_the_memory_they_would_take(
    shared: Path, tmp_path: Path, name: str
) -> None:
    path = shared / "models" / f"{name}.tflite"
    large = compile_model(CompileRequest(model_path=path, soc=chip(512 * KIB), require=ON_NPU))
    took = large.plan.peaks[Arena("sram")]
    made = verified(path, chip(took * 3 // 4), tmp_path / "out", frames=5, require=ON_NPU)
    assert made.plan.peaks[Arena("sram")] <= took * 3 // 4
