"""A bundle for readers that would rather look: pictures, a page of HTML, a comparison, a trace.

Everything is made from `ShownBundle`, the values that `facts` reads out of a manifest and a SoC; nothing here
reads or writes a file. Same manifest, same bytes.
"""

from target_arch.report.facts.compared import Compared, compared
from target_arch.report.facts.read import read_shown
from target_arch.report.facts.shown import ShownBundle
from target_arch.report.page.comparison import comparison_page, comparison_text
from target_arch.report.page.page import report_page
from target_arch.report.page.space import space_page
from target_arch.report.pictures.chip import chip_picture
from target_arch.report.pictures.every import pictures
from target_arch.report.trace import trace

__all__ = [
    "Compared",
    "ShownBundle",
    "chip_picture",
    "compared",
    "comparison_page",
    "comparison_text",
    "pictures",
    "read_shown",
    "report_page",
    "space_page",
    "trace",
]
