"""Chips ranked, and what would make the others good."""

from pathlib import Path

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.bases import base_chip, catalogue
from target_arch.explore.choose import ranked, tasks
from target_arch.explore.evaluate import PointTask
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.wishes import limits
from target_arch.resources import soc_configs
from target_arch.soc.files.soc_file import parse_soc
from tests.explore.in_process import fits

MODELS = {"digits": Path("digits.onnx")}
NAMES = ("mcu_m55", "mcu_m7", "vta_edge", "zynq_edge")


def by_sram(task: PointTask) -> PointOutcome:
    """Needs 600,000 B of SRAM; the run takes longer the more memories there are."""
    try:
        soc = parse_soc(task.chip.text, task.chip.shown)
    except DiagnosticError as error:
        return PointOutcome(status=Status.NO_CHIP, reason=str(error))
    size = soc.memory("sram").size
    if size < 600_000:
        return PointOutcome(status=Status.REFUSED, rule="does-not-fit", reason=f"{size:,} B are too few")
    return fits(len(soc.memories) * 1e-3, sram=600_000)


def test_a_ranking() -> None:
    bases = [base_chip(name) for name in NAMES]
    outcomes = {base: by_sram(task) for base, task in tasks(bases, MODELS).items()}
    chips = ranked(outcomes, MODELS, limits(["latency=6ms"], ["digits"], ["sram"]), "latency", by_sram)
    good = [chip.name for chip in chips if chip.good]
    assert good == [chip.name for chip in chips][: len(good)]
    for chip in chips:
        if chip.why.startswith("refused"):
            soc = parse_soc((soc_configs() / f"{chip.name}.toml").read_text(), chip.name)
            if len(soc.memories) <= 6:
                assert chip.change.startswith("sram of 6"), chip
                assert chip.change.endswith(f" B instead of {soc.memory('sram').size:,} B")
            else:
                assert chip.change == ""


def test_the_catalogue_has_every_soc_file_that_comes_along() -> None:
    files = sorted(soc_configs().rglob("*.toml"))
    assert catalogue() == tuple(sorted(file.stem for file in files))
    assert [base_chip(name).name for name in catalogue()] == list(catalogue())
