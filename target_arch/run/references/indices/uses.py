"""Inputs that are indices: random values for them are in the range of what they index."""

from collections.abc import Iterable, Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Use:
    """The use of an operator's inputs: some of them index dimensions, which have these `extents`. `passes`:
    its outputs have the values of its inputs, or these and `offset`.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    extents: Mapping[str, int] = field(factory=dict)
    passes: bool = False
    offset: int = 0


def highest_indices(uses: Iterable[Use]) -> dict[str, int]:
    """The highest index that each tensor may hold; `uses` are in the order in which operators run."""
    found: dict[str, int] = {}
    for use in reversed(tuple(uses)):
        for name, extent in use.extents.items():
            found[name] = min(found.get(name, extent - 1), extent - 1)
        known = [_before(use.offset, found[name]) for name in use.writes if name in found]
        for name in use.reads if use.passes and known else ():
            found[name] = min(found.get(name, known[0]), *known)
    return found


def _before(offset: int, highest: int) -> int:
    """The highest index that becomes `highest` at most by this offset. One as large as the whole dimension is
    for indices that count from its end, which others do not get.
    """
    return highest - offset if 0 <= offset <= highest else highest


def index_limits(highest: int | None, otherwise: tuple[float, float]) -> tuple[float, float]:
    """The range of an input whose highest index is known; else as given."""
    return otherwise if highest is None else (0.0, float(max(highest, 0)))
