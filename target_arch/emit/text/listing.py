"""Many short texts as one, such as the elements of a constant: made, measured and cut into lines without a
Python object for each.

Tests: `tests/emit/text/test_listing.py`.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

Column = tuple[NDArray[np.uint8] | int, NDArray[np.bool_] | bool]
"""The character of every item at one place, and whether the item has it."""

SEPARATOR = ", "


@frozen(kw_only=True, eq=False)
class Listing:
    """Items, each followed by a comma and a blank. Item `i` ends, with these, at the offset `ends[i]`."""

    text: str = field(repr=False)
    ends: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, items: Iterable[str]) -> "Listing":
        """The items as they are."""
        texts = [f"{item}{SEPARATOR}" for item in items]
        return cls(text="".join(texts), ends=np.cumsum([len(text) for text in texts], dtype=np.int64))

    @classmethod
    def of_columns(cls, columns: Sequence[Column], count: int) -> "Listing":
        """`count` items in ASCII from the characters that they have, column by column."""
        characters = np.empty((count, len(columns) + len(SEPARATOR)), dtype=np.uint8)
        characters[:, len(columns) :] = tuple(SEPARATOR.encode())
        there = np.ones(characters.shape, dtype=np.bool_)
        for number, (character, kept) in enumerate(columns):
            characters[:, number], there[:, number] = character, kept
        text = characters[there].tobytes().decode("ascii")
        return cls(text=text, ends=np.cumsum(there.sum(axis=1), dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence["Listing"]) -> "Listing":
        """The items of all parts."""
        starts = np.cumsum([0, *(len(part.text) for part in parts)])
        ends = [start + part.ends for start, part in zip(starts, parts, strict=False)]
        empty = np.zeros(0, dtype=np.int64)
        return cls(text="".join(part.text for part in parts), ends=np.concatenate([empty, *ends]))

    def __len__(self) -> int:
        return len(self.ends)

    def lines(self, room: int) -> str:
        """The items in lines of at most `room` characters, unless one item alone is longer. The blank at the
        end of a line counts, but is left out. Each line ends with a comma.
        """
        characters = np.frombuffer(self.text.encode("ascii"), dtype=np.uint8).copy()
        characters[self.ends[self._lasts(room)] - 1] = ord("\n")
        return characters.tobytes().decode("ascii").removesuffix("\n")

    def _lasts(self, room: int) -> list[int]:
        """The last item of every line."""
        starts = np.concatenate([np.zeros(1, dtype=np.int64), self.ends[:-1]])
        fitting = np.searchsorted(self.ends, starts + room, side="right")
        after: list[int] = np.maximum(fitting, np.arange(1, len(self) + 1)).tolist()
        first, lasts = 0, list[int]()
        while first < len(after):
            first = after[first]
            lasts.append(first - 1)
        return lasts
