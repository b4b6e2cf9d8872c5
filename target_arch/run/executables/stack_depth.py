"""How deep the stack of a program can get: from the compiler's call graph, with the frame of every function.

A call through a pointer goes where the tables point: one in the runtime's core to a function of the port's
table, one in the port to a kernel of the step table. Both are read from the object files. The depth may be
over-estimated: a path through a pointer counts although this bundle may never take it.
"""

import re
from collections.abc import Iterable, Mapping

from attrs import frozen

INDIRECT = "__indirect_call"

_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(?:\\n(\d+) bytes \((\w+(?:,\w+)?)\))[^"]*"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


@frozen(kw_only=True)
class Calls:
    """The call graph of one source file: bytes of the frame of each function, and its callees.

    Functions that only their file sees are named `path:name`. `points_at` are the functions whose addresses
    stand in its data.
    """

    source: str
    frames: Mapping[str, int]
    edges: tuple[tuple[str, str], ...]
    points_at: tuple[str, ...]


@frozen(kw_only=True)
class Depth:
    """The deepest stack from one function on: its bytes, the path that gives them, and the functions of
    unknown depth on some path (those of libraries), counted as 0.
    """

    bytes: int
    path: tuple[str, ...]
    unknown: tuple[str, ...]


def read_calls(source: str, text: str, points_at: tuple[str, ...]) -> Calls:
    """The call graph that `gcc -fcallgraph-info=su` wrote for a source file."""
    return Calls(
        source=source,
        frames={name: int(size) for name, size, _ in _NODE.findall(text)},
        edges=tuple(dict.fromkeys(_EDGE.findall(text))),
        points_at=points_at,
    )


def depth(files: Iterable[Calls], root: str) -> Depth:
    """The deepest stack below `root`. ValueError where functions call each other in a circle."""
    known = tuple(files)
    frames = {name: size for each in known for name, size in each.frames.items()}
    port = _targets(known, "runtime/ports/", frames)
    kernels = _targets(known, "src/", frames)
    callees: dict[str, list[str]] = {}
    for each in known:
        through = port if each.source.startswith("runtime/core/") else kernels
        for caller, callee in each.edges:
            callees.setdefault(caller, []).extend(through if callee == INDIRECT else (callee,))
    walk = _Walk(frames, callees)
    size, path = walk.below(root, ())
    return Depth(bytes=size, path=path, unknown=tuple(sorted(walk.unknown)))


def _targets(files: Iterable[Calls], folder: str, frames: Mapping[str, int]) -> tuple[str, ...]:
    """The functions that the tables of a folder point at, by their names in the call graph."""
    named = (
        (each.source, name) for each in files if each.source.startswith(folder) for name in each.points_at
    )
    return tuple(
        dict.fromkeys(
            found for source, name in named for found in (f"{source}:{name}", name) if found in frames
        )
    )


class _Walk:
    """Depth first, each function once."""

    def __init__(self, frames: Mapping[str, int], callees: Mapping[str, list[str]]) -> None:
        self.unknown: set[str] = set()
        self._frames = frames
        self._callees = callees
        self._found: dict[str, tuple[int, tuple[str, ...]]] = {}

    def below(self, name: str, above: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        if name in above:
            raise ValueError(f"recursion: {' -> '.join((*above[above.index(name) :], name))}")
        if name not in self._found:
            if name not in self._frames:
                self.unknown.add(name)
            callees = dict.fromkeys(self._callees.get(name, ()))
            deepest = max((self.below(each, (*above, name)) for each in callees), default=(0, ()))
            self._found[name] = (self._frames.get(name, 0) + deepest[0], (name, *deepest[1]))
        return self._found[name]
