"""A frozen mapping with cheap changed copies.

Changes are collected in a small layer over a large one that copies share. When the layer has grown to the
square root of the whole, both become one. So a copy with a few changes of a mapping of n entries takes time
in the order of the root of n, where a plain copy takes time in the order of n.

Tests: `tests/stages/test_overlay.py`.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

_LEAST = 16
"""The fewest changes at which a layer may become part of the base."""


class Overlay(Mapping[K, V]):
    """A mapping with changes over a shared base. Entries are replaced and never removed."""

    __slots__ = ("_base", "_changes")

    def __init__(self, base: Mapping[K, V] | None = None, changes: Mapping[K, V] | None = None) -> None:
        self._base: Mapping[K, V] = {} if base is None else base
        self._changes: Mapping[K, V] = {} if changes is None else changes

    def changed(self, changes: Mapping[K, V]) -> "Overlay[K, V]":
        """The mapping with these entries new or replaced; this one stays as it is."""
        if not changes:
            return self
        layer = {**self._changes, **changes}
        if len(layer) > _LEAST and len(layer) ** 2 > len(self._base):
            return Overlay({**self._base, **layer})
        return Overlay(self._base, layer)

    def __getitem__(self, key: K) -> V:
        return self._changes[key] if key in self._changes else self._base[key]

    def __contains__(self, key: object) -> bool:
        return key in self._changes or key in self._base

    def __iter__(self) -> Iterator[K]:
        yield from self._base
        yield from (key for key in self._changes if key not in self._base)

    def __len__(self) -> int:
        return len(self._base) + sum(key not in self._base for key in self._changes)
