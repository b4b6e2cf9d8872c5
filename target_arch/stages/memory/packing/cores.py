"""The two cores that run the search of `descend`: interpreted Python, and machine code where numba is there.

Both run the same source on the same integers, so they give the same plan for the same nodes; the compiled one
is some hundred times faster. It costs seconds to load, so it is used for long searches, and for all once many
short ones took as long.
"""

from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from attrs import define

from target_arch.stages.memory.packing import descend


class Descent(NamedTuple):
    """How a search ended, the placements tried, an offset for each number, and how often the stack of each
    section did not fit.
    """

    ended: int
    tried: int
    offsets: list[int]
    overfull: list[int]


Core = Callable[[Sequence[Sequence[int]], int, int], Descent]
"""Columns of the task, capacity and nodes in."""

_FUNCTIONS = (
    "_aligned", "_insert", "_merge", "_push", "_parts", "_split", "_fits", "_find_supports", "_lift",
    "_leave", "_candidate", "_open", "_start", "descend",
)  # fmt: skip
"""The functions of the search, callees first."""

_LONGEST_POOL = 8_000_000
"""Items; a problem that does not fit is too large for an exact search anyway."""


_ONE_SEARCH = 500_000
"""Nodes times buffers of a search for which it pays to load the compiled core: a second or two."""

_ALL_SEARCHES = 6_000_000
"""The same of all that Python searched so far: as long as a computer takes to compile the core."""


@define
class _Interpreted:
    """How much Python searched so far, in nodes times buffers."""

    work: int = 0


_interpreted = _Interpreted()


def fitting(work: int) -> tuple[Core, str]:
    """The core for a search of so many nodes times buffers, and its name."""
    pays = work > _ONE_SEARCH or _interpreted.work > _ALL_SEARCHES
    fast = compiled() if pays else None
    return (fast, "compiled") if fast else (interpreted, "interpreted")


def interpreted(columns: Sequence[Sequence[int]], capacity: int, nodes: int) -> Descent:
    """Run the search on lists, in Python."""
    found = _run(descend.descend, list, columns, capacity, nodes)
    _interpreted.work += found.tried * len(columns[0])
    return found


@cache
def compiled() -> Core | None:
    """The search as machine code on arrays, or None where numba is not installed."""
    try:
        import numba
    except ImportError:
        return None
    scope = dict(vars(descend))
    for name in _FUNCTIONS:
        scope[name] = _translated(numba, FunctionType(scope[name].__code__, scope, name))

    def run(columns: Sequence[Sequence[int]], capacity: int, nodes: int) -> Descent:
        return _run(scope["descend"], _array, columns, capacity, nodes)

    return run


def _translated(numba: Any, function: FunctionType) -> Any:
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # there is no folder to keep the machine code in: it is made again every time
        return numba.njit()(function)


def _array(values: Sequence[int]) -> Any:
    return np.array(values, dtype=np.int64)


def _run(
    search: Callable[..., tuple[int, int]],
    items: Callable[[Sequence[int]], Any],
    columns: Sequence[Sequence[int]],
    capacity: int,
    nodes: int,
) -> Descent:
    count, sections = len(columns[0]), max(columns[3], default=0)

    def zeros(number: int) -> Any:
        return items([0] * number)

    def fields(kind: Any, number: int) -> Any:
        return kind(*(zeros(number) for _ in kind._fields))

    work = descend.SearchMemory(
        pool=fields(descend.Pool, min(count * (count + 4), _LONGEST_POOL)),
        raised=fields(descend.Pool, count),
        agenda=fields(descend.Agenda, 2 * count + 2),
        stack=fields(descend.Stack, count + 1),
        sections=fields(descend.Sections, sections + 1),
        used=zeros(2),
    )
    offsets = zeros(count)
    ended, tried = search(
        descend.Task(*(items(column) for column in columns)), capacity, nodes, work, offsets
    )
    found, overfull = [int(offset) for offset in offsets], [int(times) for times in work.sections.overfull]
    return Descent(int(ended), int(tried), found, overfull)
