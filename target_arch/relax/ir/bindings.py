"""The bindings of a function without control flow."""

from collections.abc import Iterator
from typing import Any


def bindings_of(function: Any) -> Iterator[Any]:
    """The bindings of all blocks of a function, in order. A whole array of TVM's is read at once, which takes
    less than its elements one by one.
    """
    for block in function.body.blocks:
        yield from block.bindings[:]
