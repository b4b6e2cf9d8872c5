"""Operators divided over instances: the same bytes in less time, and everything that shows it."""

from pathlib import Path

import pytest
from attrs import asdict, evolve

import target_arch
from target_arch.api.placed import partition
from target_arch.api.views.times import measured
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.pipeline.compilation import CompiledModel
from target_arch.plan.division import Divide
from target_arch.plan.manifest.operators import SliceEntry
from target_arch.plan.printed.text import counted_operators, simulated_run
from target_arch.plan.steps import Wait
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from target_arch.run.verification.layers import verify_layers
from target_arch.soc import read_soc
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import parts
from target_arch.stages.errors import CheckError
from target_arch.stages.lowering.ladder import sizes
from tests.e2e.conftest import DIGITS


def _compiled(divide: Divide) -> CompiledModel:
    return compile_model(CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), divide=divide))


@pytest.fixture(scope="module")
def undivided() -> CompiledModel:
    return _compiled(Divide.NEVER)


@pytest.fixture(scope="module")
def divided() -> CompiledModel:
    return _compiled(Divide.AUTO)


@pytest.fixture(scope="module")
def bundle(divided: CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("divided") / "bundle"
    write_bundle(divided.bundle, folder)
    return folder


@pytest.mark.slow
def test_outputs_are_those_of_the_whole_operators(
    undivided: CompiledModel, bundle: Path, tmp_path: Path
) -> None:
    write_bundle(undivided.bundle, tmp_path / "whole")
    frames = reference_for(DIGITS).frames(20, seed=3)
    packed = tuple(b"".join(part.tobytes() for part in frame) for frame in frames)
    assert run_frames(build(bundle), packed) == run_frames(build(tmp_path / "whole"), packed)


def test_a_divided_run_is_shorter(undivided: CompiledModel, divided: CompiledModel) -> None:
    before, after = undivided.execution, divided.execution
    assert before is not None
    assert after is not None
    assert after.makespan < 0.95 * before.makespan
    assert after.undivided == before.makespan
    assert after.division_bound <= before.division_bound
    assert "; 112 us undivided; " in simulated_run(after)


def test_the_manifest_says_what_is_a_slice_of_what(divided: CompiledModel) -> None:
    entries = {entry.id: entry for entry in divided.manifest.operators}
    for id, part in divided.model.slices.items():
        assert entries[id].slice_of == SliceEntry(**asdict(part))
        assert f" of `{part.operator}`, which is divided: " in entries[id].reason
    assert {id: entries[id].link_of for id in divided.model.links} == divided.model.links
    assert counted_operators(divided.model).startswith("10 operators, ")


@pytest.mark.slow
def test_rules_say_which_instances_compute_slices(divided: CompiledModel) -> None:
    soc = evolve(read_soc("zynq_edge"), divide={"conv2d": ("fpga_conv2d",)})
    ruled = compile_model(CompileRequest(model_path=DIGITS, soc=soc, divide=Divide.AUTO))
    assert _places(ruled, "conv2d") == {"fpga_conv2d"}
    assert _places(divided, "conv2d") > {"fpga_conv2d"}


def _places(compiled: CompiledModel, kind: str) -> set[str]:
    """The instances that compute slices of operators of a kind."""
    graph = compiled.graph
    return {graph.choice(id).instance for id in compiled.model.slices if graph.operator(id).kind == kind}


def test_kinds_that_stay_whole(undivided: CompiledModel) -> None:
    soc = evolve(read_soc("zynq_edge"), divide={"*": ()})
    whole = compile_model(CompileRequest(model_path=DIGITS, soc=soc, divide=Divide.AUTO))
    assert not whole.model.slices
    assert whole.execution == undivided.execution


@pytest.mark.slow
def test_explanations_have_the_run_with_other_shares(divided: CompiledModel) -> None:
    soc = divided.request.soc
    found = partition(DIGITS, soc, runs_of=["conv2d_1", "dense_7"], divide="auto")
    chosen, whole = found.explain_all(["conv2d_1", "dense_7"])
    text = chosen.text[chosen.text.index("shares of its") :]
    lines = text.splitlines()
    assert lines[:2] == ["shares of its 8 places along axis 1", "   expected run  places"]
    assert lines[2].startswith("*")
    assert lines[2].endswith("6 on `fpga_conv2d`, 2 on `dsp_cpu`")
    assert sum(line.endswith("  whole") for line in lines) == 1
    division = chosen.json["division"]
    assert division["shares"][0] == {"instance": "fpga_conv2d", "start": 0, "stop": 6}
    assert all(division["run"] <= other["run"] for other in division["others"])
    assert whole.json["division"]["shares"] == []
    assert found.explain("avg_pool2d_6").json["division"] is None


@pytest.mark.long
def test_a_compilation_explains_whole_operators(divided: CompiledModel) -> None:
    assert divided.whole is not None
    found = target_arch.compile(DIGITS, "zynq_edge", divide="auto")
    assert found.explain("conv2d_1").value == divided.whole.choice("conv2d_1")
    assert found.explain("conv2d_1_slice0").value == divided.graph.choice("conv2d_1_slice0")


def test_every_layer_is_right(divided: CompiledModel, bundle: Path) -> None:
    layers = verify_layers(divided, reference_for(DIGITS), bundle, count=2, seed=0)
    assert all(layer.passed for layer in layers.layers)
    assert not layers.unlike


def test_every_wait_for_a_slice_is_needed(divided: CompiledModel) -> None:
    """A slice that is read before it is there: the steps without one of their waits are refused."""
    known, steps = sizes(divided.graph, divided.kernels), divided.steps
    states, facts = divided.model.states, parts(divided.model)
    refused = 0
    waits = [number for number, step in enumerate(steps.steps) if isinstance(step, Wait)]
    for number in waits:
        fewer = evolve(steps, steps=(*steps.steps[:number], *steps.steps[number + 1 :]))
        try:
            check(divided.request.soc, fewer, divided.plan, known, facts, states)
        except CheckError:
            refused += 1
    assert refused == len(waits)


def test_times_have_the_shares_of_divided_operators(divided: CompiledModel, bundle: Path) -> None:
    times = measured(bundle, None)
    assert {share.operator for share in times.shares} == {
        part.operator for part in divided.model.slices.values()
    }
    assert sum(share.slices for share in times.shares) == len(divided.model.slices)
    assert "divided operator" in str(times)


@pytest.mark.long
def test_the_same_input_gives_the_same_bytes(divided: CompiledModel) -> None:
    assert _compiled(Divide.AUTO).bundle == divided.bundle
