"""A report in a real browser: all there, nothing complains, nothing overlaps."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from target_arch.explore.search import SpaceSearch
from target_arch.explore.shown import shown_space
from target_arch.report import compared, comparison_page, report_page, space_page
from target_arch.report.facts.space import ShownProgress
from target_arch.run.bundles.shown import read_report
from tests.explore.in_process import InProcess, by_size
from tests.explore.spaces import ZYNQ, space
from tests.report.browser import CUT, HINT, OUTSIDE, OVERLAPS, TOUCHING, chromium, opened
from tests.report.many import shown
from tests.slow import slow_except

SECTIONS = ("chip", "model", "timeline", "memory", "budgets", "lowering", "verification", "image")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page(digits_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "digits.html"
    path.write_text(report_page(read_report(digits_bundle)))
    return path


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)]
)
def test_the_page_is_all_there_and_nothing_overlaps(
    browser: Any, page: Path, scheme: str, width: int
) -> None:
    with opened(browser, page, scheme, width) as view:
        assert [id for id in SECTIONS if view.locator(f"#{id}").count() != 1] == []
        assert view.evaluate(OVERLAPS) == []
        assert view.evaluate(OUTSIDE) == []
        assert view.evaluate(CUT) == []
        assert view.evaluate(TOUCHING) == 0
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert view.complaints == []


def test_nothing_is_cut_off_in_print(browser: Any, page: Path) -> None:
    """On a sheet of A4 without its margins, 688 pixels wide."""
    with opened(browser, page, width=688) as view:
        view.emulate_media(media="print")
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        figures = "[...document.querySelectorAll('svg.figure')]"
        assert max(view.evaluate(f"{figures}.map(each => each.getBoundingClientRect().right)")) <= 688
        assert view.evaluate(OVERLAPS) == []


def test_an_operator_of_the_picture_opens_its_costs(browser: Any, page: Path) -> None:
    with opened(browser, page) as view:
        details = view.locator("#op-conv2d_1")
        assert not details.is_visible()
        view.locator('a[href="#op-conv2d_1"]').click()
        assert details.is_visible()
        assert "accelerator" in details.inner_text()


def test_the_timeline_zooms_without_a_script(browser: Any, page: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    view = context.new_page()
    view.goto(page.as_uri())
    before = view.locator("#timeline .canvas").bounding_box()["width"]
    view.locator('label[for="time-2"]').click()
    assert view.locator("#timeline .canvas").bounding_box()["width"] == pytest.approx(4 * before)
    context.close()


@pytest.mark.parametrize("scheme", slow_except(["light"], ["light", "dark"]))
def test_text_has_contrast(browser: Any, page: Path, scheme: str) -> None:
    """WCAG's 4.5:1, by axe-core for words of the page, and by coloraide for those in boxes of pictures."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=HINT).Axe()
    with opened(browser, page, scheme) as view:
        view.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        found = axe.run(view, options={"runOnly": ["color-contrast"]}).response
        assert [node["target"] for each in found["violations"] for node in each["nodes"]] == []
        assert any(each["id"] == "color-contrast" for each in found["passes"])
        pairs = view.evaluate(INKS)
    assert len(pairs) > 3
    assert [pair for pair in pairs if contrast(*pair) < 4.5] == []


def contrast(one: str, other: str) -> float:
    """Of two colours as a browser writes them."""
    colour = pytest.importorskip("coloraide", reason=HINT).Color
    return float(colour(one).contrast(other, method="wcag21"))


def test_a_narrow_page_has_the_chip_in_one_column_and_the_numbers_of_pools(browser: Any, page: Path) -> None:
    with opened(browser, page, width=400) as view:
        stacked, wide = (
            view.locator("#chip .below-each-other svg"),
            view.locator("#chip .beside-each-other svg"),
        )
        assert stacked.is_visible()
        assert not wide.is_visible()
        assert stacked.bounding_box()["width"] < 340
        numbers = view.locator(".pool span")
        assert numbers.count() == 7
        assert all(numbers.nth(each).bounding_box()["width"] < 400 for each in range(7))
        assert "9,936 of 65,536 B" in numbers.first.inner_text()
    with opened(browser, page) as view:
        assert not view.locator("#chip .below-each-other svg").is_visible()


def test_pools_that_are_nearly_empty_are_folded_together(browser: Any, page: Path) -> None:
    with opened(browser, page) as view:
        heading = view.locator("details.folded > summary")
        assert (
            heading.inner_text() == "5 pools under 10% full: ddr.constants, dsp_tcm, npu_inp, npu_wgt, sram"
        )
        assert not view.locator("#memory h3", has_text="sram").is_visible()
        heading.click()
        assert view.locator("#memory h3", has_text="sram").is_visible()
        assert view.evaluate(OVERLAPS) == []


def test_a_timeline_opens_on_the_longest_computation(browser: Any, tmp_path: Path) -> None:
    """Of the busiest instance, as near as needed to read the names of half of the time."""
    path = tmp_path / "many.html"
    path.write_text(report_page(shown(90)))
    with opened(browser, path) as view:
        assert view.locator("#timeline .canvas").bounding_box()["width"] > 3000
        assert view.locator("#timeline .names div").first.inner_text() == "host_cpu"
        assert view.locator("#timeline input:checked").get_attribute("id") == "time-3"


def test_the_page_of_compared_chips(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "space.html"
    made = SpaceSearch(space(ZYNQ), InProcess(by_size), "p").whole()
    running = ShownProgress(done=9, every=5120, seconds=600, dashboard="http://host:8787/status")
    path.write_text(space_page(shown_space(made, "chips.toml", ["digits_int8.onnx"]), running))
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=HINT).Axe()
    for scheme, width in product(("light", "dark"), (1280, 400)):
        with opened(browser, path, scheme, width) as view:
            assert view.locator("#progress a").get_attribute("href") == "http://host:8787/status"
            assert view.evaluate(OVERLAPS) == []
            assert view.evaluate(TOUCHING) == 0
            assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert view.locator("#front svg.figure").bounding_box()["width"] <= width
            found = axe.run(view, options={"runOnly": ["color-contrast"]}).response
            assert found["violations"] == []
            assert view.complaints == []


def test_a_comparison(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "comparison.html"
    path.write_text(comparison_page(compared(shown(12), shown(14))))
    with opened(browser, path, "dark") as view:
        assert view.evaluate(OVERLAPS) == []
        assert "conv2d_13" in view.locator("#moved-1").inner_text()
        assert view.complaints == []


@pytest.mark.slow
def test_a_run_that_is_far_shorter_has_no_words_that_overlap(browser: Any, tmp_path: Path) -> None:
    """Both timelines have one scale."""
    path = tmp_path / "comparison.html"
    path.write_text(comparison_page(compared(shown(3), shown(90))))
    with opened(browser, path) as view:
        assert view.evaluate(OVERLAPS) == []
        assert view.evaluate(OUTSIDE) == []


@pytest.mark.long
def test_ten_thousand_operators_open_in_time(browser: Any, tmp_path: Path) -> None:
    """In five seconds, and in three of the page's own thread, in which other work on this computer does not
    count: 1.6 were measured.
    """
    path = tmp_path / "many.html"
    path.write_text(report_page(shown(10_000)))
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    view = context.new_page()
    session = context.new_cdp_session(view)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    view.goto(path.as_uri(), timeout=120_000)
    view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    assert found["TaskDuration"] < 3


INKS = """() => {
  const fill = each => getComputedStyle(each).fill;
  const pairs = [...document.querySelectorAll("svg.figure g, svg.figure svg")].flatMap(group => {
    const rect = [...group.children].find(each => each.tagName === "rect");
    const texts = [...group.children].filter(each => each.tagName === "text");
    return rect ? texts.map(each => [fill(each), fill(rect)]) : [];
  });
  return [...new Map(pairs.map(each => [each.join(), each])).values()];
}"""
"""The colours of words in boxes of pictures, each with that of the box."""
