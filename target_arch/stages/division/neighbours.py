"""Cuts of operators that suit their neighbours, where cores wait for lines of each other's caches.

An operator that is too short to be divided on its own is divided like the maker of its operand, if the run is
shorter then: between slices it would wait for all of them, and they for it. A window reaches over the edge of
a slice into rows of the neighbour's: where the maker of those rows computes them for both, its shares
overlap, and the next operator neither waits for the other core nor fetches lines from it.
"""

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from target_arch.plan.division import Cut, Division
from target_arch.plan.model import Model, Operator
from target_arch.stages.division.axes import axis_along
from target_arch.stages.division.search import Run
from target_arch.stages.division.shares import Divisible

_GAIN = 0.00025
"""The share of the run that another cut of one operator must save."""

_Cuts = Callable[[Operator, Division], Cut | None]
"""Another cut of an operator; None where there is none."""


def suited(
    division: Division, model: Model, able: Mapping[str, Divisible], seconds: float, run: Run
) -> Division:
    """The division with cuts that suit neighbours, as far as that makes the run shorter than `seconds`."""

    def short(operator: Operator, division: Division) -> Cut | None:
        return _like_maker(operator, division, model, able)

    def wide(operator: Operator, division: Division) -> Cut | None:
        return _wide(operator, division, model)

    for cuts in (short, wide):
        division, seconds = _improved(division, model, seconds, run, cuts)
    return division


def _improved(
    division: Division, model: Model, seconds: float, run: Run, cuts: _Cuts
) -> tuple[Division, float]:
    """The last operators come first, as what they read decides what those before them compute."""
    for operator in reversed(model.operators):
        cut = cuts(operator, division)
        if cut is None:
            continue
        other = {**division, operator.id: cut}
        found = run(other)
        if found is not None and found < seconds * (1 - _GAIN):
            seconds, division = found, other
    return division, seconds


def _like_maker(
    operator: Operator, division: Division, model: Model, able: Mapping[str, Divisible]
) -> Cut | None:
    """The shares of the maker of an operand for an operator that is whole; equal ones where it has other
    places. None where no operand is divided.
    """
    each = able.get(operator.id)
    makers = (model.makers.get(name) for name in operator.inputs)
    cuts = [division[maker.id] for maker in makers if maker is not None and maker.id in division]
    if operator.id in division or each is None or not cuts:
        return None
    like = cuts[0]
    if (like.axis, max(share.stop for share in like.shares)) == (each.axis, each.extent):
        return evolve(like, operator=operator.id)
    instances = [*dict.fromkeys(share.instance for share in like.shares)]
    return each.cut(instances, [1.0] * len(instances))


def _wide(operator: Operator, division: Division, model: Model) -> Cut | None:
    """The shares of an operator with all that its instances read of it; None where they have that, where
    somebody reads the whole result, or an instance has several shares.
    """
    cut, output = division.get(operator.id), operator.output
    readers = [each for each in model.operators if output in each.inputs]
    if cut is None or not readers or output in model.kept or not _is_single(cut):
        return None
    needs = {share.instance: share.places for share in cut.shares}
    for reader in readers:
        for instance, places in _needed(output, cut.axis, reader, division.get(reader.id), model):
            own = needs.get(instance)
            if own is None or places is None:
                return None
            needs[instance] = range(min(own.start, places.start), max(own.stop, places.stop))
    shares = tuple(
        evolve(share, start=needs[share.instance].start, stop=needs[share.instance].stop)
        for share in cut.shares
    )
    return None if shares == cut.shares else evolve(cut, shares=shares)


def _is_single(cut: Cut) -> bool:
    return len({share.instance for share in cut.shares}) == len(cut.shares)


def _needed(
    name: str, axis: int, reader: Operator, cut: Cut | None, model: Model
) -> Iterator[tuple[str, range | None]]:
    """The instances that read a tensor, with the places of it that each share needs; None for all of them."""
    found = None if cut is None else axis_along(reader, model, cut.axis)
    if cut is None or found is None:
        yield "", None
        return
    for share in cut.shares:
        for index, operand in enumerate(reader.inputs):
            if operand == name:
                along = found.axes.get(index) == axis
                yield share.instance, found.windows[index].needed(share.places) if along else None
