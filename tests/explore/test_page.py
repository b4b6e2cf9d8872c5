"""The page of compared chips: everything in one file, and the same bytes for the same outcomes."""

import xml.etree.ElementTree

from target_arch.explore.search import SpaceSearch
from target_arch.explore.sensitivity import sentences
from target_arch.explore.shown import shown_space
from target_arch.report import space_page
from target_arch.report.pictures.space import axes_picture, front_picture
from tests.explore.in_process import InProcess, by_size
from tests.explore.spaces import ZYNQ, space

EVERY = ZYNQ.replace('where = ["tcm <= sram"]\n', "")
MADE = SpaceSearch(space(EVERY), InProcess(by_size), "p").whole()


def test_a_page() -> None:
    shown = shown_space(MADE, "chips.toml", ["digits_int8.onnx"])
    page = space_page(shown)
    assert page == space_page(shown_space(MADE, "chips.toml", ["digits_int8.onnx"]))
    for point in MADE.front:
        number = MADE.space.number(point)
        assert f'id="point-{number}"' in page
        assert f'href="#point-{number}"' in page
    assert "target-arch explore chips.toml --chip 11 -o chip.toml &amp;&amp; target-arch verify" in page
    assert "http" not in page.replace("http-equiv", "")
    for picture in (front_picture(shown), axes_picture(shown)):
        xml.etree.ElementTree.fromstring(picture.alone())
    assert len(shown.points) == 6
    assert all(0 <= place <= 1 for point in shown.points for place in point.places)


def test_sentences() -> None:
    assert list(sentences(MADE, (1, 1, 1))) == [
        "tcm 128 KiB instead of 64 KiB: latency -50.0 %, price +19.5 %",
        "tcm 32 KiB instead of 64 KiB: latency +100.0 %, price -9.8 %",
        "sram 1 KiB instead of 64 KiB: refused",
        "bus 100 MB/s instead of 400 MB/s: latency +300.0 %",
    ]


def test_a_page_without_a_good_point() -> None:
    made = SpaceSearch(space(EVERY.replace('"1 s"', '"1 ns"')), InProcess(by_size), "p").whole()
    assert "No point is good." in space_page(shown_space(made, "chips.toml", ["x.onnx"]))
