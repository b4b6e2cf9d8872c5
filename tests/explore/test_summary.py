"""Explorations as text, JSON and CSV."""

import csv
import io
import json
from collections.abc import Callable

from target_arch.explore import summary
from target_arch.explore.exploration import Exploration
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.search import SpaceSearch
from target_arch.explore.space import Point
from tests.explore.in_process import InProcess, by_size, fits
from tests.explore.spaces import ALONE, ZYNQ, space

EVERY = ZYNQ.replace('where = ["tcm <= sram"]\n', "")


def explored(text: str = EVERY) -> Exploration:
    return SpaceSearch(space(text), InProcess(by_size), "p").whole()


def test_text(golden: Callable[[str, str], None]) -> None:
    made = explored()
    outcomes: dict[Point, PointOutcome] = dict(made.outcomes)
    outcomes[0, 1, 0] = PointOutcome(
        status=Status.CRASHED, rule="defect", reason="Traceback …\n  x\nKeyError: 'a'\n"
    )
    outcomes[0, 1, 1] = PointOutcome(
        status=Status.NO_CHIP, rule="bad-unit", reason="x.toml:1:1: error: y [bad-unit]"
    )
    golden("front", summary.text(Exploration(space=made.space, outcomes=outcomes)))


def test_one_point(golden: Callable[[str, str], None]) -> None:
    """Where nothing varies, the texts are about the point, with one that is good, too slow, or refused."""
    point, limited = space(ALONE), space(f'{ALONE}[limits]\nlatency = "1 ns"\n')
    refused = PointOutcome(status=Status.REFUSED, rule="does-not-fit", reason="step 3: error: too small")
    outcomes = ((point, fits(1.0)), (limited, fits(1.0)), (point, refused))
    texts = (summary.text(Exploration(space=of, outcomes={(): outcome})) for of, outcome in outcomes)
    golden("one-point", "\n".join(texts))


def test_limits_that_exclude_everything(golden: Callable[[str, str], None]) -> None:
    text = EVERY.replace('"1 s"', '"10 us"').replace(
        "[limits]", '[limits]\nprice = 2.5\n"digits.energy" = "1 mJ"'
    )
    golden("excluded", summary.text(explored(text)))


def test_limits_that_exclude_each_other(golden: Callable[[str, str], None]) -> None:
    text = EVERY.replace('"1 s"', '"25 us"').replace("[limits]", '[limits]\n"bytes.sram" = "63 KiB"')
    golden("excluded-together", summary.text(explored(text)))


def test_csv_and_json_agree() -> None:
    made = explored()
    rows = list(csv.DictReader(io.StringIO(summary.to_csv(made))))
    values = json.loads(json.dumps(summary.to_json(made)))
    assert [int(row["point"]) for row in rows] == [each["point"] for each in values["points"]]
    assert [int(row["point"]) for row in rows if row["front"] == "1"] == sorted(values["front"])
    for row, each in zip(rows, values["points"], strict=True):
        assert row["status"] == each["status"]
        assert row["tcm"] == each["values"]["tcm"]
        latency = each["measures"]["latency"]
        assert row["latency"] == ("" if latency is None else repr(latency))


def test_what_is_minimized_may_be_unknown() -> None:
    text = EVERY.replace('"latency", "price"', '"energy"').split("[limits]")[0]
    said = summary.text(explored(text))
    assert "an energy needs the power of every target_arch" in said
    assert fits(1.0).models["digits"].energy is None
