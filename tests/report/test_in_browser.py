"""A report in a real browser: all there, nothing complains, nothing overlaps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from target_arch.report import compared, comparison_page, report_page
from target_arch.run.bundles.shown import read_report
from tests.report.browser import OUTSIDE, OVERLAPS, TOUCHING, chromium, opened
from tests.report.many import shown

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


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 420)])
def test_the_page_is_all_there_and_nothing_overlaps(
    browser: Any, page: Path, scheme: str, width: int
) -> None:
    with opened(browser, page, scheme, width) as view:
        assert [id for id in SECTIONS if view.locator(f"#{id}").count() != 1] == []
        assert view.evaluate(OVERLAPS) == []
        assert view.evaluate(OUTSIDE) == []
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


def test_text_has_contrast(browser: Any, page: Path) -> None:
    """WCAG's 4.5:1 between words and what they stand on, in pictures and in both schemes."""
    for scheme in ("light", "dark"):
        with opened(browser, page, scheme) as view:
            assert view.evaluate(_CONTRAST) == []


def test_a_comparison(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "comparison.html"
    path.write_text(comparison_page(compared(shown(12), shown(14))))
    with opened(browser, path, "dark") as view:
        assert view.evaluate(OVERLAPS) == []
        assert "conv2d_13" in view.locator("#moved-1").inner_text()
        assert view.complaints == []


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


_CONTRAST = """() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = colour => colour.slice(0, 3).map(each => each / 255)
    .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  return [...document.querySelectorAll("svg.figure g")].flatMap(group => {
    const rect = [...group.children].find(each => each.tagName === "rect");
    const texts = [...group.children].filter(each => each.tagName === "text");
    if (!rect) { return []; }
    const back = light(parse(getComputedStyle(rect).fill));
    return texts.filter(each => {
      const ink = light(parse(getComputedStyle(each).fill));
      return (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05) < 4.5;
    }).map(each => each.textContent);
  });
}"""
