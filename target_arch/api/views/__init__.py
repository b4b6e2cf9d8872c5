"""Views of a bundle: text, report, times, sizes of programs, archives for other tools.

The names below are imported when they are asked for: a compilation shows none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from target_arch.api.views.archives import archived
    from target_arch.api.views.manifest_text import report_text
    from target_arch.api.views.programs import images, instructions
    from target_arch.api.views.report import report_in, report_on
    from target_arch.api.views.times import measured, timeline
    from target_arch.api.views.weights import weights_table

__all__ = [
    "archived",
    "images",
    "instructions",
    "measured",
    "report_in",
    "report_on",
    "report_text",
    "timeline",
    "weights_table",
]

_PLACES = {
    "archived": "archives",
    "images": "programs",
    "instructions": "programs",
    "measured": "times",
    "report_in": "report",
    "report_on": "report",
    "report_text": "manifest_text",
    "timeline": "times",
    "weights_table": "weights",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
