"""Whole models on the VTA-class engine: what it takes, and smaller buffers with the same bits."""

from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from target_arch.soc import SoC, read_soc
from tests.e2e.conftest import Compile

LEAST = {"kws_int8": 5, "ad01_int8": 8}
"""Operators of each model that are at the engine."""
SMALLER = {"vta_inp": 4096, "vta_wgt": 16384, "vta_acc": 8192}


def smaller(sizes: dict[str, int]) -> SoC:
    soc = read_soc("vta_edge")
    memories = (evolve(memory, size=sizes.get(memory.name, memory.size)) for memory in soc.memories)
    return evolve(soc, memories=tuple(memories))


def taken(compilation: CompiledModel) -> dict[str, int]:
    """The most bytes of each buffer of the engine that a layer takes."""
    found: dict[str, int] = {}
    for kernel in compilation.kernels.values():
        for buffer in kernel.buffers:
            found[buffer.memory] = max(found.get(buffer.memory, 0), buffer.bytes)
    return found


def outputs(model: Path, folder: Path) -> tuple[bytes, ...]:
    frames = reference_for(model).frames(5, seed=3)
    return tuple(
        run_frames(build(folder), tuple(b"".join(part.tobytes() for part in frame) for frame in frames))
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("kws_int8", marks=pytest.mark.long), "ad01_int8"])
def test_smaller_buffers_take_smaller_tiles_and_keep_the_bits(
    compiled: Compile, shared: Path, tmp_path: Path, name: str
) -> None:
    model = shared / "models" / f"{name}.tflite"
    whole, folder = compiled(model, "vta_edge")
    at_the_engine = [c for c in whole.graph.choices if c.instance == "tensor"]
    assert len(at_the_engine) >= LEAST[name]
    small = compile_model(
        CompileRequest(
            model_path=model, soc=smaller(SMALLER), require={c.operator: "tensor" for c in at_the_engine}
        )
    )
    assert all(size <= SMALLER[memory] for memory, size in taken(small).items())
    assert sum(taken(small).values()) < sum(taken(whole).values())
    write_bundle(small.bundle, tmp_path / "bundle")
    assert outputs(model, tmp_path / "bundle") == outputs(model, folder)


def test_what_no_tile_fits_goes_elsewhere_and_says_why(shared: Path) -> None:
    model = shared / "models" / "kws_int8.tflite"
    compilation = compile_model(CompileRequest(model_path=model, soc=smaller({"vta_wgt": 256})))
    choices = {choice.operator: choice for choice in compilation.graph.choices}
    first = next(iter(choices.values()))
    assert first.instance == "host_cpu"
    refused = next(each.refusal for each in first.candidates if each.instance == "tensor")
    assert refused == "one result needs 40 entries of `vta_wgt`, there are 1"
    assert {choice.instance for choice in choices.values()} == {"host_cpu", "tensor"}
