"""The bindings of a function as TVM's patterns take them, part by part."""

from collections.abc import Iterable, Mapping
from typing import Any

import tvm_ffi
from attrs import define, field

_NEIGHBOURS = 256
"""How many variables in program order are matched in one part of the program."""
_DEPTH = 16
"""Depths are rounded up to multiples, so that most patterns share a part."""


@define(kw_only=True, eq=False)
class Matchable:
    """`bound` maps `variables` to their expressions, `positions` to their numbers, `reads` to what they read.

    TVM looks at every binding that it gets, for each match: so it gets those that a pattern can reach from a
    variable and its neighbours in program order, each part made once.
    """

    variables: tuple[Any, ...]
    positions: Mapping[Any, int]
    bound: Mapping[Any, Any]
    reads: Mapping[Any, tuple[Any, ...]]
    _parts: dict[tuple[int, int], Any] = field(factory=dict)

    def around(self, var: Any, depth: int) -> Any:
        """The bindings for a pattern of that depth which ends at `var`."""
        part = self.positions[var] // _NEIGHBOURS, -(-depth // _DEPTH)
        if part not in self._parts:
            self._parts[part] = tvm_ffi.convert(self._reach(part[0] * _NEIGHBOURS, part[1] * _DEPTH))
        return self._parts[part]

    def _reach(self, first: int, depth: int) -> dict[Any, Any]:
        """The variables from a position on that are neighbours, and what they read, level by level."""
        level: Iterable[Any] = self.variables[first : first + _NEIGHBOURS]
        found: dict[Any, Any] = {}
        for _ in range(depth + 1):
            bound = {each: self.bound[each] for each in level if each in self.bound}
            found |= bound
            reads = (read for each in bound for read in self.reads[each])
            level = [read for read in dict.fromkeys(reads) if read not in found]
        return found
