"""Operators as the model's file has them: one that is divided is one operator with shares.

Its slices, what names bytes for them and what gathers them are left out.
"""

from collections.abc import Iterator, Mapping

from target_arch.plan.division import Cut, Share
from target_arch.plan.manifest.model import ModelEntry
from target_arch.plan.manifest.operators import DividedEntry, OperatorEntry


def whole_operators(model: ModelEntry) -> Iterator[tuple[OperatorEntry, DividedEntry | None]]:
    """The operators in the order of their run, those that are divided at the place of their first slice."""
    divided = {entry.whole.id: entry for entry in model.divided or ()}
    seen: set[str] = set()
    for operator in model.operators:
        id = whole_of(operator)
        if id not in divided:
            yield operator, None
        elif operator.slice_of is not None and id not in seen:
            seen.add(id)
            yield divided[id].whole, divided[id]


def whole_of(operator: OperatorEntry) -> str:
    """The operator of the file that an operator is, or is a part of."""
    return operator.link_of or (operator.id if operator.slice_of is None else operator.slice_of.operator)


def makers(model: ModelEntry) -> Mapping[str, str]:
    """The operators of the file by the tensors that they, or parts of them, write."""
    whole = {entry.whole.output: entry.whole.id for entry in model.divided or ()}
    return {**{operator.output: whole_of(operator) for operator in model.operators}, **whole}


def cut_of(entry: DividedEntry) -> Cut:
    """The shares of a divided operator."""
    shares = tuple(Share(instance=each.instance, start=each.start, stop=each.stop) for each in entry.shares)
    return Cut(operator=entry.whole.id, axis=entry.axis, shares=shares)
