"""The report of a model with frames in flight: memory against time."""

from pathlib import Path

from target_arch.cli import main
from target_arch.plan.manifest.model import FramesEntry, FramesPoint
from target_arch.report.pictures.frames import curve_bytes, frames_picture
from target_arch.resources import examples

DIGITS = examples() / "digits" / "digits_int8.onnx"


def test_the_page_has_the_curve(tmp_path: Path) -> None:
    folder, page = tmp_path / "b", tmp_path / "page.html"
    assert main(["compile", str(DIGITS), "--soc", "zynq_edge", "--frames", "auto", "-o", str(folder)]) == 0
    assert main(["report", str(folder), "--html", str(page)]) == 0
    section = page.read_text().partition('<section class="card" id="frames">')[2].partition("</section>")[0]
    assert "A result every 48 us with 3 frames in flight, 136 us from the start of a frame" in section
    assert [f">{n}: every " in section for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert '<a href="#frames">Frames</a>' in page.read_text()
    assert "take turns" not in section


def test_the_page_names_cores_on_which_frames_take_turns(tmp_path: Path) -> None:
    folder, page = tmp_path / "b", tmp_path / "page.html"
    words = ["compile", str(DIGITS), "--target", "c,cores=2", "--frames", "auto", "-o", str(folder)]
    assert main(words) == 0
    assert main(["report", str(folder), "--html", str(page)]) == 0
    assert "Frames take turns on <code>c</code>, <code>c_cores</code>: each" in page.read_text()


def test_bars_are_as_long_as_their_bytes() -> None:
    points = (
        FramesPoint(frames=1, period=2e-3, pools={"sram": 300, "tcm": 200}),
        FramesPoint(frames=2, period=1e-3, pools={"sram": 600, "tcm": 400}),
    )
    frames = FramesEntry(
        frames=2, rounds=2, round_steps=4, period=1e-3, latency=2e-3, bound=1e-3, busiest="dsp", curve=points
    )
    drawn = frames_picture(frames).alone()
    assert list(map(curve_bytes, points)) == [500, 1000]
    assert drawn.count("<rect") >= 2
    assert 'width="50%"' in drawn
    assert 'width="100%"' in drawn
    assert "1: every 2 ms" in drawn
    assert "2: every 1 ms" in drawn
    assert "1,000 B" in drawn
