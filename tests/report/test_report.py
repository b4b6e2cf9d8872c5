"""The page, pictures, comparison and trace of a bundle, as text."""

import json
import re
import xml.etree.ElementTree as xml
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.execution import ActivityKind
from target_arch.plan.manifest.verification import LayerEntry, LayersEntry, VerificationEntry
from target_arch.report import (
    chip_picture,
    compared,
    comparison_page,
    comparison_text,
    pictures,
    report_page,
    trace,
)
from target_arch.run.bundles.shown import read_report
from target_arch.soc import read_soc, shipped_socs
from tests.report.many import shown


def test_the_page_needs_nothing_beside_itself(digits_bundle: Path) -> None:
    page = report_page(read_report(digits_bundle))
    assert page == report_page(read_report(digits_bundle))
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*|url\(|@import|https?://", page) == []
    for id in ("chip", "model", "timeline", "memory", "budgets", "lowering", "verification", "image"):
        assert f'id="{id}"' in page


def test_every_operator_has_its_reason_and_every_place_its_cost_or_refusal(digits_bundle: Path) -> None:
    found = read_report(digits_bundle)
    page = report_page(found)
    (model,) = found.models
    for operator in model.operators:
        assert f'id="op-{operator.id}"' in page
        assert operator.reason
        assert [place.instance for place in operator.places] == [each.name for each in found.soc.instances]
        assert all((place.compute is None) == (place.refusal is not None) for place in operator.places)


@pytest.mark.slow
def test_a_divided_operator_is_one_with_its_shares(divided_bundle: Path, digits_bundle: Path) -> None:
    found, whole = read_report(divided_bundle), read_report(digits_bundle)
    (model,) = found.models
    assert [each.id for each in model.operators] == [each.id for each in whole.models[0].operators]
    operator = model.by_id["conv2d_1"]
    assert operator.where == "6 on fpga_conv2d, 2 on dsp_cpu"
    assert operator.before == ("quantize_0",)
    assert model.by_id["add_3"].before == ("conv2d_2", "conv2d_1")
    assert operator.shape == whole.models[0].by_id["conv2d_1"].shape
    page = report_page(found)
    assert "its left edge in those of its shares where it is divided" in page
    assert "<b>conv2d_1</b>: 6 on fpga_conv2d, 2 on dsp_cpu" in page
    assert "conv2d_1_slice0" in page  # in the timeline
    assert "shares" not in report_page(whole)
    (change,) = compared(whole, found).models
    assert "conv2d_1" in {moved.operator for moved in change.moved}


def test_verification_operator_by_operator() -> None:
    found = shown(2)
    (model,) = found.models
    layer = LayerEntry(
        operator="conv2d_1", kind="conv2d", on="host", location="", tensor="t", elements=640, differ=2,
        largest=1.0, allowed=0.0, wrong=2, exact="WRONG", first_wrong="element 7 of frame 0",
    )  # fmt: skip
    judged = VerificationEntry(
        reference="LiteRT", rule="every bit equal", seed=0, frames=1, outputs=10, equal=8, equal_to="",
        largest=1.0, allowed=0.0, self_test="passed",
        layers=LayersEntry(reference="LiteRT", seed=0, frames=1, layers=(layer,), unlike=0),
    )  # fmt: skip
    page = report_page(attrs.evolve(found, models=(attrs.evolve(model, verification=judged),)))
    rows = page[page.index("Operator by operator") :]
    assert "<td>conv2d_1</td><td>conv2d</td><td>host</td>" in rows
    assert "element 7 of frame 0" in rows
    assert "Operator by operator" not in report_page(found)


def test_names_of_strangers_are_text() -> None:
    """Names come out of model files; none may become markup, or break the XML of a picture."""
    found = shown(3)
    (model,) = found.models
    evil = '<script>alert("x")</script>&\x07'
    bad = attrs.evolve(model.operators[0], id=evil, reason=evil, location=evil)
    renamed = attrs.evolve(found, models=(attrs.evolve(model, name=evil, operators=(bad,)),))
    assert report_page(renamed).count("<script>") == report_page(found).count("<script>") == 1
    for picture in pictures(renamed).values():
        xml.fromstring(picture.alone())


@pytest.mark.parametrize("name", shipped_socs())
def test_every_shipped_chip_is_drawn(name: str) -> None:
    soc = read_soc(name)
    drawn = chip_picture(soc).alone()
    words = {text.text for text in xml.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")}
    for instance in soc.instances:
        assert any(word and word.startswith(instance.name) for word in words)
    for memory in soc.memories:
        assert any(word and word.startswith(f"{memory.name},") for word in words)


def test_pictures_of_a_bundle(digits_bundle: Path) -> None:
    drawn = pictures(read_report(digits_bundle))
    assert {"chip", "model", "timeline", "pools", "memory-sram"} <= drawn.keys()
    for picture in drawn.values():
        root = xml.fromstring(picture.alone())
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.find("{http://www.w3.org/2000/svg}title") is not None


def test_the_timeline_has_every_step_that_takes_time(digits_bundle: Path) -> None:
    (model,) = read_report(digits_bundle).models
    assert model.run is not None
    kinds = {step.number: step.kind for step in model.steps}
    for span in model.run.spans:
        assert kinds[span.step] == {ActivityKind.RUN: "dispatch", ActivityKind.COPY: "copy"}[span.kind]
    assert {span.step for span in model.run.spans} == {
        number for number, kind in kinds.items() if kind in ("dispatch", "copy")
    }
    assert {kinds[span.step] for span in model.run.waits} == {"wait"}


def test_the_trace_is_in_the_trace_event_format(digits_bundle: Path) -> None:
    """Against the format's document: what each kind of event must have, and that arrows have both ends."""
    made: dict[str, Any] = json.loads(json.dumps(trace(read_report(digits_bundle))))
    assert made["displayTimeUnit"] in ("ms", "ns")
    needed = {"X": {"ts", "dur", "tid"}, "M": {"args"}, "C": {"ts", "args"}, "s": {"id"}, "f": {"id", "bp"}}
    for event in made["traceEvents"]:
        assert {"name", "ph", "pid"} | needed[event["ph"]] <= event.keys()
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
    by_kind = {kind: [e for e in made["traceEvents"] if e["ph"] == kind] for kind in needed}
    assert all(by_kind.values())
    assert sorted(e["id"] for e in by_kind["s"]) == sorted(e["id"] for e in by_kind["f"])
    ends = {e["id"]: e["ts"] for e in by_kind["f"]}
    assert all(e["ts"] <= ends[e["id"]] for e in by_kind["s"])
    threads = {(e["pid"], e["tid"]) for e in by_kind["M"] if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in by_kind["X"]} <= threads
    for thread in threads:
        spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in by_kind["X"] if (e["pid"], e["tid"]) == thread)
        assert all(one[1] <= other[0] + 1e-6 for one, other in pairwise(spans))


def test_a_comparison_says_what_moved() -> None:
    before, after = shown(4), shown(4)
    (model,) = after.models
    there = attrs.evolve(model.operators[2], instance="host_cpu")
    moved = attrs.evolve(model, operators=(*model.operators[:2], there, model.operators[3]))
    found = compared(before, attrs.evolve(after, models=(moved,)))
    (each,) = found.models
    assert [(one.operator, one.before, one.after) for one in each.moved] == [
        ("conv2d_2", "fpga_conv2d", "host_cpu")
    ]
    assert "conv2d_2  fpga_conv2d  host_cpu" in comparison_text(found)
    assert "conv2d_2" in comparison_page(found)
    assert "no operator moved" in comparison_text(compared(before, before))


def test_a_page_of_many_operators_has_few_elements_for_each() -> None:
    """A browser's time to open a page goes by its elements."""
    page = report_page(shown(3_100))
    assert page.count("<") < 15 * 3_100
    assert page.count("<p id=") == page.count('<a href="#op-') == 3_100
    assert '<p id="op-conv2d_7">conv2d_7 on accelerator, 2 us\ncheapest: 1 us' in page


def test_a_damaged_manifest_is_refused_with_its_place(digits_bundle: Path, tmp_path: Path) -> None:
    manifest = json.loads((digits_bundle / "manifest.json").read_text())
    (tmp_path / "zynq_edge.toml").write_text((digits_bundle / "zynq_edge.toml").read_text())
    (model,) = manifest["models"]
    model["operators"][0]["candidates"] = 3
    model["buffers"][0]["pool"] = "nowhere"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest, indent=2))
    with pytest.raises(DiagnosticError) as error:
        read_report(tmp_path)
    assert "manifest.json" in str(error.value)
    assert "[bad-manifest]" in str(error.value)
    del model["operators"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest, indent=2))
    with pytest.raises(DiagnosticError, match="lacks `operators`"):
        read_report(tmp_path)
