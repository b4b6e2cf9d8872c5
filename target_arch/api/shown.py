"""A value that shows itself."""

from collections.abc import Callable
from html import escape
from typing import Any, Generic, TypeVar

from attrs import field, frozen

V = TypeVar("V")


@frozen(kw_only=True, repr=False)
class Shown(Generic[V]):
    """`value` as the stages of the program know it, `text` for people and `json` for programs, where it has
    such a form: `str` is the text, `repr` is `title`, and a notebook shows `page`, where there is one, else
    the text.
    """

    title: str
    value: V = field(repr=False)
    text: str = field(repr=False)
    _json: Callable[[], object] = field(default=lambda: None, repr=False, eq=False)
    _page: Callable[[], str] = field(default=str, repr=False, eq=False)

    @property
    def json(self) -> Any:
        """The value as JSON values; None where it has no such form."""
        return self._json()

    @property
    def page(self) -> str:
        """A page of HTML that stands alone; empty where there is none."""
        return self._page()

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """For notebooks."""
        page = self.page
        if not page:
            return f"<pre>{escape(self.text)}</pre>"
        return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:40em;border:0"></iframe>'
