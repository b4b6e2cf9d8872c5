"""Instances with room for slices of operators alone compute these where whole ones are refused or slower."""

from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompileRequest, compile_model, explain_model
from target_arch.plan.division import Divide
from target_arch.plan.lowered import AttemptKind
from target_arch.plan.partitions import PartitionGraph
from target_arch.run.bundles.write import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc
from target_arch.stages.division.shares import divisible
from target_arch.stages.errors import DoesNotFitError, PlacementError
from tests.e2e.conftest import DIGITS

REFUSED = "`dsp_cpu`: its operands need 4,416 B, `dsp_tcm` has 3,072 B"


def _asked(divide: Divide, **wishes: object) -> CompileRequest:
    """A DSP whose memory has no room for the second convolution."""
    request = CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), divide=divide)
    return evolve(request, memory={"dsp_tcm": 3072}, **wishes)


@pytest.fixture(scope="module")
def whole() -> PartitionGraph:
    return explain_model(_asked(Divide.NEVER), ())


def test_no_bound_leaves_out_an_instance_that_takes_slices(whole: PartitionGraph) -> None:
    """The time of a slice counts in the bound of any division, though the whole operator is refused."""
    there = {each.instance: each for each in whole.choice("conv2d_2").candidates}["dsp_cpu"]
    assert there.cost is None
    assert there.refusal is not None
    assert there.in_slices is not None
    roomy = explain_model(evolve(_asked(Divide.NEVER), memory={}), ())
    assert whole.run is not None
    assert roomy.run is not None
    assert whole.run.division_bound == pytest.approx(roomy.run.division_bound)


def test_shares_are_cut_where_an_instance_has_no_room_for_them(whole: PartitionGraph) -> None:
    soc = _asked(Divide.NEVER).soc
    each = divisible(whole, {"ddr": 1}, soc)["conv2d_2"]
    assert each.pieces(1) is None
    narrow = evolve(each, most={each.instance: 3})
    cut = narrow.pieces(1)
    assert cut is not None
    assert [len(share.places) for share in cut.shares] == [3, 3, 2]


def test_whole_operators_are_still_refused() -> None:
    with pytest.raises(PlacementError, match=REFUSED) as refused:
        compile_model(_asked(Divide.NEVER, require={"conv2d_2": "dsp_cpu"}))
    assert "`divide='auto'`, which computes operators in slices" in str(refused.value.diagnostics[0].hint)
    graph = explain_model(_asked(Divide.AUTO, require={"conv2d_2": "dsp_cpu"}), ())
    assert graph.choice("conv2d_2").instance == "dsp_cpu"


@pytest.mark.long
def test_a_model_that_fits_in_slices_alone(tmp_path: Path) -> None:
    made = compile_model(_asked(Divide.AUTO, require={"conv2d_2": "dsp_cpu"}))
    found = [attempt for attempt in made.attempts if attempt.kind is AttemptKind.DIVIDE]
    assert [attempt.reason for attempt in found] == ["no room for all operands of `conv2d_2`"]
    assert {share.instance for share in made.division["conv2d_2"].shares} == {"dsp_cpu"}
    write_bundle(made.bundle, tmp_path / "bundle")
    verified = verify(DIGITS, tmp_path / "bundle", count=20, record=False)
    assert verified.passed
    assert verified.equal == verified.outputs


def test_no_hint_at_slices_where_they_do_not_fit_either() -> None:
    asked = evolve(_asked(Divide.NEVER), memory={"ddr": 4 * 1024})
    with pytest.raises(DoesNotFitError) as refused:
        compile_model(asked)
    assert "divide" not in str(refused.value.diagnostics[0].hint)


@pytest.mark.slow
def test_slices_go_where_whole_operators_have_no_room() -> None:
    before, after = (compile_model(_asked(divide)).execution for divide in (Divide.NEVER, Divide.AUTO))
    assert before is not None
    assert after is not None
    assert after.undivided == before.makespan
    assert after.makespan < before.makespan
