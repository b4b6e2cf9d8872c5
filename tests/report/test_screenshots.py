"""The pictures of the documents, taken of real reports in a real browser.

`pytest --update-golden -m slow` with this file replaces those in `docs/pictures`.
"""

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.report import pictures, report_page
from target_arch.run import write_bundle
from target_arch.run.bundles.shown import read_report
from target_arch.soc import read_soc
from tests.report.browser import chromium, opened

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = DOCS / "pictures"
DRAWN = ("chip", "timeline", "memory-sram", "budgets-conv_bram")
"""Pictures of the report of `digits` that pages show alone."""
MOST_BYTES = 300_000


def test_pages_show_every_picture() -> None:
    shown = {
        name for page in DOCS.glob("*.md") for name in re.findall(r"\]\(pictures/([^)]+)\)", page.read_text())
    }
    there = {path.name: path.stat().st_size for path in PICTURES.iterdir()}
    assert shown == set(there)
    assert max(there.values()) < MOST_BYTES


@pytest.mark.slow
def test_pictures_of_digits_and_vww(
    digits_bundle: Path, shared: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Both on `zynq_edge`: one page in dark colours, the other in light ones."""
    model, bundle, taken = shared / "models" / "vww_96_int8.tflite", tmp_path / "vww", tmp_path / "taken"
    write_bundle(compile_model(CompileRequest(model_path=model, soc=read_soc("zynq_edge"))).bundle, bundle)
    taken.mkdir()
    with chromium() as browser:
        _photographed(browser, digits_bundle, "dark", taken / "digits.png")
        _photographed(browser, bundle, "light", taken / "vww_96_int8.png")
    drawn = pictures(read_report(digits_bundle))
    for name in DRAWN:
        (taken / f"{name}.svg").write_text(drawn[name].alone(), encoding="utf-8")
    assert {path.name for path in taken.iterdir()} <= {path.name for path in PICTURES.iterdir()}
    for path in taken.iterdir():
        if pytestconfig.getoption("--update-golden"):
            (PICTURES / path.name).write_bytes(path.read_bytes())
        assert path.stat().st_size < MOST_BYTES
        if path.suffix == ".png":
            assert _size(path) == _size(PICTURES / path.name)


def _photographed(browser: Any, bundle: Path, scheme: str, path: Path) -> None:
    """The top of the report of a bundle, and below it its timeline."""
    page = bundle.with_suffix(".html")
    page.write_text(report_page(read_report(bundle)), encoding="utf-8")
    with opened(browser, page, scheme, height=1100) as view:
        view.screenshot(path=path)
        view.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        view.evaluate("document.querySelector('#timeline').scrollIntoView()")
        view.screenshot(path=path.with_name(f"{path.stem}-timeline.png"))


def _size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG file."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height
