"""A value that shows itself."""

from html import escape
from typing import Generic, TypeVar

from attrs import field, frozen

V = TypeVar("V")


@frozen(kw_only=True, repr=False)
class Shown(Generic[V]):
    """`value` as the stages of the program know it, and `text` for people: `str` is the text, `repr` is
    `title`, and a notebook shows `page`, where there is one, else the text.
    """

    title: str
    value: V = field(repr=False)
    text: str = field(repr=False)
    page: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """For notebooks."""
        if not self.page:
            return f"<pre>{escape(self.text)}</pre>"
        return f'<iframe srcdoc="{escape(self.page)}" style="width:100%;height:40em;border:0"></iframe>'
