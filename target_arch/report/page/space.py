"""The page of compared chips: one file of HTML."""

from target_arch.report.facts.space import ShownSpace
from target_arch.report.page.page import page
from target_arch.report.pictures.space import axes_picture, front_picture


def space_page(shown: ShownSpace) -> str:
    """The page: everything inside, readable without JavaScript. Same values, same bytes."""
    return page("space.html.j2", shown=shown, front=front_picture(shown), axes=axes_picture(shown))
