"""The page of compared chips: one file of HTML."""

from target_arch.report.facts.space import ShownProgress, ShownSpace
from target_arch.report.page.page import page
from target_arch.report.pictures.space import axes_picture, front_picture


def space_page(shown: ShownSpace, progress: ShownProgress | None = None) -> str:
    """The page: everything inside, readable without JavaScript. Same values, same bytes. With the progress
    of a search that runs it reloads itself.
    """
    return page(
        "space.html.j2",
        shown=shown,
        progress=progress,
        front=front_picture(shown),
        axes=axes_picture(shown),
    )
