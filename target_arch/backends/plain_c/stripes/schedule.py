"""Which rows are computed when, and how many of them are held: from operators to `Stripes`.

Rows that are needed again are kept: a line of an image is small beside the image.
"""

from collections.abc import Sequence

from attrs import evolve, frozen

from target_arch.plan.regions.stripes import Producer, RowWindow, Stripes, TensorRows
from target_arch.soc.rounding import round_up

_UNIT = 4
"""Bytes to which the lines of a tensor are aligned."""
_HEIGHTS = (1, 2, 3, 4, 8, 16)


@frozen(kw_only=True)
class FusedOperators:
    """Operators that become one call for a range of rows: one, or two where the second adds a tensor."""

    operators: tuple[str, ...]
    reads: tuple[RowWindow, ...]
    image: TensorRows


def stripes(units: Sequence[FusedOperators], size: int) -> Stripes | None:
    """The stripes of units in the order in which they run, `size` rows at a time of the first one; None where
    some wait for one another. No output takes the place of an input yet.
    """
    made = {unit.image.name for unit in units}
    given = {w.tensor.name: w.tensor for unit in units for w in unit.reads if w.tensor.name not in made}
    producers = tuple(
        Producer(
            operators=unit.operators,
            reads=unit.reads,
            image=unit.image,
            each=max(size * unit.image.rows // units[0].image.rows, 1),
        )
        for unit in units
    )
    return _held(Stripes(given=tuple(given.values()), producers=producers), 0)


def in_place(plain: Stripes, over: TensorRows) -> Stripes | None:
    """The stripes with the output in the place of a given tensor; None where that is too small. Rows of the
    output that come too early wait in the scratch.
    """
    last = plain.producers[-1]
    if over.bytes < plain.output.bytes:
        return None
    placed = evolve(plain, over=over)
    turns = [turn for turn in placed.turns if turn.producer == last]
    if all(window.tensor != over for window in last.reads) and all(t.placed == t.end for t in turns):
        return placed
    return _held(placed, max(turn.end - turn.kept for turn in turns))


def _held(whole: Stripes, waiting: int) -> Stripes | None:
    """The same with the number of rows that every tensor in between holds, `waiting` ones of the output, and
    where they are; None where the output is never complete.
    """
    most = dict.fromkeys((producer.image.name for producer in whole.producers), 0)
    end = 0
    for turn in whole.turns:
        name = turn.producer.image.name
        most[name] = max(most[name], turn.end - turn.kept)
        end = turn.end
    if end < whole.output.rows:
        return None
    most[whole.output.name] = waiting
    return _laid_out(whole, [evolve(each, held=most[each.image.name]) for each in whole.producers])


def _laid_out(whole: Stripes, producers: Sequence[Producer]) -> Stripes:
    """The stripes with these producers, whose rows are one after the other in the scratch."""
    offset, placed = 0, list[Producer]()
    for producer in producers:
        placed.append(evolve(producer, offset=offset if producer.held else 0))
        offset += round_up(producer.held * producer.image.row_bytes, _UNIT)
    return evolve(whole, producers=tuple(placed), scratch=offset)


def narrowed(whole: Stripes, units: Sequence[FusedOperators]) -> Stripes:
    """The same turns for units whose rows have other bytes, on which they do not depend."""
    producers = (
        evolve(producer, reads=unit.reads, image=unit.image)
        for producer, unit in zip(whole.producers, units, strict=True)
    )
    return _laid_out(whole, [*producers])


def moved_rows(whole: Stripes) -> dict[str, int]:
    """The rows that are moved to make room for new ones, and to their place in the output, by tensor."""
    found = {producer.image.name: 0 for producer in whole.producers}
    for turn in whole.turns:
        image = turn.producer.image
        if turn.producer.held and turn.end > turn.start:
            found[image.name] += turn.start - turn.kept
            found[image.name] += turn.end - turn.start if image == whole.output else 0
    return found


def heights(rows: int) -> tuple[int, ...]:
    """The heights of stripes to choose from, for an image of that many rows."""
    return tuple(height for height in _HEIGHTS if height == 1 or 2 * height <= rows)
