"""Which lines are computed when, and how many of them are held: from operators to a `Pass`.

Lines that are needed again are kept: a row of an image is small beside the image.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import evolve

from target_arch.backends.plain_c.regions.linewise import FusedOperators, Turns
from target_arch.plan.regions.lines import Pass, Producer, TensorLines
from target_arch.soc.rounding import round_up

_UNIT = 4
"""Bytes to which the lines of a tensor are aligned."""
_SUMS = 8
"""Sums of a pixel are rounded up to that, as in `s8_conv2d_channels.h`."""
_HEIGHTS = (1, 2, 3, 4, 8, 16)


def in_turns(units: Sequence[FusedOperators], size: int, *, apart: bool = True) -> Pass | None:
    """The turns of units in the order in which they run, `size` lines at a time of the first one; None where
    some wait for one another. No output takes the place of an input yet.

    Units whose lines are not `apart` keep none from step to step, and each reads the one before alone: lines
    are in two places by turns, behind the sums.
    """
    made = {unit.image.name for unit in units}
    given = {w.tensor.name: w.tensor for unit in units for w in unit.reads if w.tensor.name not in made}
    producers = [
        Producer(
            operators=unit.operators,
            reads=unit.reads,
            image=unit.image,
            each=0,
            held=round_up(unit.image.lines, _SUMS) if unit.accumulates else 0,
            accumulates=unit.accumulates,
        )
        for unit in units
    ]
    first = units[0].image.lines
    producers = [evolve(each, each=max(size * each.steps // first, 1)) for each in producers]
    return _held(Pass(given=tuple(given.values()), producers=tuple(producers)), 0, apart=apart)


def in_place(plain: Pass, over: TensorLines) -> Pass | None:
    """The same with the output in the place of a given tensor; None where that is too small. Lines of the
    output that come too early wait in the scratch.
    """
    last = plain.producers[-1]
    if over.bytes < plain.output.bytes:
        return None
    within = evolve(plain, over=over)
    turns = [turn for turn in within.turns if turn.number == len(within.producers) - 1]
    direct = all(window.tensor != over for window in last.reads) and all(t.placed == t.end for t in turns)
    if direct or last.accumulates:
        return within
    return _held(within, max(turn.end - turn.kept for turn in turns), apart=True)


def placed(plain: Pass, over: str | None) -> Pass:
    """The pass of a region that was found for this place of its output, None for a place of its own."""
    if over is None:
        return plain
    there = in_place(plain, next(image for image in plain.given if image.name == over))
    assert there is not None
    return there


def _held(whole: Pass, waiting: int, *, apart: bool) -> Pass | None:
    """The same with the number of lines that every tensor in between holds, `waiting` ones of the output, and
    where they are; None where the output is never complete.
    """
    most, last, end = [0] * len(whole.producers), whole.producers[-1], 0
    for turn in whole.turns:
        most[turn.number] = max(most[turn.number], turn.end - turn.kept)
        end = turn.end
    if end < last.steps:
        return None
    most[-1] = last.held if last.accumulates else waiting
    producers = [evolve(each, held=held) for each, held in zip(whole.producers, most, strict=True)]
    return _one_after_another(whole, producers) if apart else _in_two_places(whole, producers)


def _one_after_another(
    whole: Pass, producers: Sequence[Producer], given: tuple[TensorLines, ...] | None = None
) -> Pass:
    """The pass with these producers, whose lines are one after the other in the scratch."""
    offset, laid = 0, list[Producer]()
    for producer in producers:
        laid.append(evolve(producer, offset=offset if producer.held else 0))
        offset += round_up(producer.bytes, _UNIT)
    return whole.laid(laid, offset, given)


def _in_two_places(whole: Pass, producers: Sequence[Producer]) -> Pass:
    """The pass with these producers: sums first, and lines in two places by turns behind them."""
    start = sum(producer.bytes for producer in producers if producer.accumulates)
    held = [producer for producer in producers if producer.held and not producer.accumulates]
    first, second = (
        round_up(max((each.bytes for each in held[parity::2]), default=0), _UNIT) for parity in (0, 1)
    )
    offsets = {each.image.name: start + number % 2 * first for number, each in enumerate(held)}
    laid = [evolve(each, offset=offsets.get(each.image.name, 0)) for each in producers]
    return whole.laid(laid, start + first + second)


def narrowed(whole: Pass, units: Sequence[FusedOperators]) -> Pass:
    """The same turns for units of a patch, whose lines have other bytes, on which turns do not depend."""
    images = {w.tensor.name: w.tensor for unit in units for w in unit.reads}
    producers = [
        evolve(producer, reads=unit.reads, image=unit.image)
        for producer, unit in zip(whole.producers, units, strict=True)
    ]
    given = tuple(images[image.name] for image in whole.given)
    return _one_after_another(whole, producers, given)


def turns_of(one: Pass) -> Mapping[str, Turns]:
    """By tensor, how often so many lines of it are made in a turn."""
    made = [Counter[int]() for _ in one.producers]
    for turn in one.turns:
        made[turn.number][turn.end - turn.start] += turn.end > turn.start
    return {each.image.name: +turns for each, turns in zip(one.producers, made, strict=True)}


def moved_bytes(one: Pass) -> int:
    """The bytes of lines that are moved to make room for new ones, and to their place in the output."""
    moved = 0
    for turn in one.turns:
        producer = one.producers[turn.number]
        if producer.held and not producer.accumulates and turn.end > turn.start:
            lines = turn.start - turn.kept
            lines += turn.end - turn.start if producer.image == one.output else 0
            moved += lines * producer.image.line_bytes
    return moved


def heights(lines: int) -> tuple[int, ...]:
    """The heights of stripes to choose from, for an image of that many lines."""
    return tuple(height for height in _HEIGHTS if height == 1 or 2 * height <= lines)
