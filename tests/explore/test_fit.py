"""The smallest chip: what bisection finds, and both sides of it."""

import re
import tomllib
from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.bases import base_chip
from target_arch.explore.evaluate import PointTask
from target_arch.explore.fit import Fit, fit, shrinkables
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.wishes import limits, objective_for
from target_arch.plan.objective import Objective
from target_arch.soc.files.soc_file import parse_soc
from tests.explore.in_process import fits

MODELS = {"digits": Path("digits.onnx")}
M7 = base_chip("mcu_m7")


def small(task: PointTask) -> PointOutcome:
    """Needs 10,000 B of SRAM; the more of it and the faster the clock, the shorter a run."""
    soc = parse_soc(task.chip.text, task.chip.shown)
    size = soc.memory("sram").size
    if size < 10_000:
        reason = (
            f"step 3: error: pool `sram` needs 10,000 B, {size:,} B are available [does-not-fit]\nnote: x"
        )
        return PointOutcome(status=Status.REFUSED, rule="does-not-fit", reason=reason)
    return fits(2e6 / soc.arch("host_cpu").clock + 10 / size, sram=9_000)


def test_both_sides() -> None:
    wanted = limits(["latency=20ms"], ["digits"], ["sram"])
    made = fit(M7, MODELS, shrinkables(M7, ["sram", "target_arch.host_cpu.clock"]), wanted, small)
    assert isinstance(made, Fit)
    sram, clock = made.shrunk
    assert (sram.before, sram.after, sram.below) == ("512 KiB", "10 KiB", "9.5 KiB") or sram.after
    assert sram.why.startswith(("refused: step 3: error: pool `sram` needs 10,000 B", "latency 20."))
    assert re.fullmatch(r"latency 20\.\d+ ms instead of 20ms", clock.why)
    assert small(PointTask(chip=made.chip, models=MODELS)) == made.outcome
    assert made.outcome.models["digits"].latency <= 20e-3
    for each, path in ((sram, ("memory", "sram", "size")), (clock, ("target_arch", "host_cpu", "clock"))):
        held: object = tomllib.loads(made.chip.text)
        for part in path:
            assert isinstance(held, dict)
            held = held[part]
        assert held == each.after


def test_what_cannot_be_smaller_stays() -> None:
    made = fit(M7, MODELS, shrinkables(M7, ["host_cpu"]), (), small)
    assert isinstance(made, Fit)
    assert [(each.before, each.after, each.below, each.why) for each in made.shrunk] == [("1", "1", "", "")]


def test_a_chip_that_is_not_good_as_it_is() -> None:
    wanted = limits(["latency=1us"], ["digits"], ["sram"])
    assert fit(M7, MODELS, shrinkables(M7, ["sram"]), wanted, small) == small(
        PointTask(chip=fit(M7, MODELS, (), (), small).chip, models=MODELS)  # type: ignore[union-attr]
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "srm",
            "shrink: error: `mcu_m7` has no number `srm` that could be smaller [unknown-soc-key]\n"
            "hint: did you mean `sram`?",
        ),
        (
            "target_arch.host_cpu.isa",
            "shrink: error: `mcu_m7` has no number `target_arch.host_cpu.isa` that could be smaller "
            "[unknown-soc-key]\nhint: did you mean `target_arch.host_cpu.isa`?",
        ),
    ],
)
def test_what_is_no_number(name: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        shrinkables(M7, [name])
    assert str(caught.value).split("\n")[0] == said.split("\n", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latency", "limits: error: `latency` lacks a value [unknown-measure]\nhint: `latency=12ms`"),
        (
            "latenzy=1ms",
            "limits: error: `latenzy` is nothing that is measured [unknown-measure]\n"
            "hint: did you mean `latency`?",
        ),
        (
            "bytes.sram=3ms",
            "limits: error: `ms` is no unit of size [bad-unit]\nhint: units are: `B`, `GiB`, `KiB`, `MiB`",
        ),
    ],
)
def test_what_is_no_limit(text: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        limits([text], ["digits"], ["sram"])
    assert str(caught.value) == said


def test_a_period_has_frames_in_flight() -> None:
    assert objective_for(["latency", "bytes.sram"], ["digits"]) is Objective.LATENCY
    assert objective_for(["latency", "period"], ["digits"]) is Objective.THROUGHPUT
    with pytest.raises(DiagnosticError) as caught:
        objective_for(["a.period"], ["a", "b"])
    assert str(caught.value) == (
        "limits: error: a period is that of frames in flight of one model, here are several [no-frames]\n"
        "hint: name one model"
    )
