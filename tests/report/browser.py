"""The system's Chromium, driven by Playwright; tests that need it skip where one of the two is missing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
HINT = "needs a browser: `apt-get install chromium-headless-shell` and `pip install playwright`"

OVERLAPS = """() => {
  const found = [];
  for (const figure of document.querySelectorAll("svg.figure")) {
    const texts = [...figure.querySelectorAll("text")].filter(each => each.closest("svg") === figure
      && each.getClientRects().length && getComputedStyle(each).display !== "none").slice(0, 1500);
    const boxes = texts.map(each => [each.getBoundingClientRect(), each.textContent]);
    boxes.sort((one, other) => one[0].top - other[0].top);
    for (let i = 0; i < boxes.length; i++) {
      for (let j = i + 1; j < boxes.length && boxes[j][0].top < boxes[i][0].bottom - 3; j++) {
        const [a, b] = [boxes[i][0], boxes[j][0]];
        if (a.left < b.right - 1 && b.left < a.right - 1) { found.push([boxes[i][1], boxes[j][1]]); }
      }
    }
  }
  return found;
}"""
"""Pairs of words in pictures that overlap; a word that its bar clips is not looked at."""
OUTSIDE = """() => [...document.querySelectorAll("svg.figure g")].flatMap(group => {
  const rect = [...group.children].find(each => each.tagName === "rect");
  if (!rect) { return []; }
  const box = rect.getBoundingClientRect();
  return [...group.children].filter(each => each.tagName === "text").filter(each => {
    const text = each.getBoundingClientRect();
    return text.right > box.right + 1 || text.left < box.left - 1;
  }).map(each => each.textContent);
})"""
"""Words that stick out of their boxes."""
CUT = """() => [...document.querySelectorAll("svg.figure svg")].flatMap(bar => {
  const box = bar.getBoundingClientRect();
  return [...bar.children].filter(each => each.tagName === "text")
    .filter(each => getComputedStyle(each).display !== "none")
    .filter(each => each.getBoundingClientRect().right > box.right + 1).map(each => each.textContent);
})"""
"""Words that their bars cut off."""
TOUCHING = """() => {
  const cards = [...document.querySelectorAll("main>section, main>.tiles")]
    .map(each => each.getBoundingClientRect());
  return cards.slice(1).filter((each, index) => each.top < cards[index].bottom).length;
}"""
"""Sections that overlap."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window. Skips the test where there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason=HINT)
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(HINT)
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Any, page: Path, scheme: str = "light", width: int = 1280, height: int = 900
) -> Iterator[Any]:
    """The page, with everything that it complained about in `complaints`; it must not ask for anything."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    view = context.new_page()
    view.complaints = []
    view.on("console", lambda said: view.complaints.append(said.text))
    view.on("pageerror", lambda error: view.complaints.append(str(error)))
    view.on("request", lambda asked: asked.url == page.as_uri() or view.complaints.append(asked.url))
    try:
        view.goto(page.as_uri())
        yield view
    finally:
        context.close()
