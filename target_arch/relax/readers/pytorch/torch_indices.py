"""Places of slices that count from the end, made to count from the start.

TVM's frontend hands them on as they are, and its `take` then reads before the start of the tensor. So they
are changed in the decomposed program, before the frontend sees it.
"""

from typing import Any

_SELECT = ("aten.select.int", "aten.select_copy.int")


def count_from_start(program: Any) -> None:
    """Change every place of a slice in the program."""
    for node in program.graph.nodes:
        if str(node.target) in _SELECT:
            x, dimension, index = node.args
            extent = x.meta["val"].shape[dimension]
            node.args = (x, dimension, index + extent if index < 0 else index)
