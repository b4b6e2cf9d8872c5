"""A reference whose outputs have their largest size where that depends on values, as those of a bundle."""

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve, frozen

from target_arch.plan.manifest.model import TensorEntry
from target_arch.plan.model import Model
from target_arch.run.references.reference import Array, Frame, Reference


@frozen(kw_only=True)
class BoundedAnswer:
    """An output, by its number, of this largest shape; `count` is the number of the output that says how much
    of it there is along `axis`. Counts that the reference does not give are appended; behind
    those that it gives its values are no results.
    """

    output: int
    shape: tuple[int, ...]
    axis: int
    count: int


def bounds_of_model(model: Model) -> tuple[BoundedAnswer, ...]:
    """The outputs of a model whose size depends on values."""
    numbers = {name: number for number, name in enumerate(model.outputs)}
    found = []
    for name, number in numbers.items():
        tensor = model.tensors[name]
        if tensor.bounded is not None:
            count = numbers[tensor.bounded.count]
            found.append(_bound(number, tensor.shape, tensor.bounded.axis, count))
    return tuple(found)


def bounds_of_entries(outputs: Sequence[TensorEntry]) -> tuple[BoundedAnswer, ...]:
    """As `bounds_of_model`, of the outputs that a manifest describes."""
    numbers = {entry.name: number for number, entry in enumerate(outputs)}
    return tuple(
        _bound(number, entry.shape, entry.bounded.axis, numbers[entry.bounded.count])
        for number, entry in enumerate(outputs)
        if entry.bounded is not None
    )


def _bound(output: int, shape: tuple[int, ...], axis: int, count: int) -> BoundedAnswer:
    return BoundedAnswer(output=output, shape=shape, axis=axis, count=count)


def padded(reference: Reference, bounds: Sequence[BoundedAnswer]) -> Reference:
    """The reference whose answers have zeros behind what is there, and a count for each size."""
    if not bounds:
        return reference
    outputs = len(reference.units)
    more = len({bound.count for bound in bounds if bound.count >= outputs})

    def answer(frame: Frame) -> tuple[Frame, ...]:
        return tuple(_padded(each, bounds) for each in reference.answer(frame))

    def varied(frame: Frame, seed: int) -> Frame:
        assert reference.varied is not None
        return _padded(reference.varied(frame, seed), bounds)

    return evolve(
        reference,
        units=(*reference.units, *[1.0] * more),
        reals=(*reference.reals, *[False] * more) if reference.reals else (),
        answer=answer,
        varied=None if reference.varied is None else varied,
    )


def _padded(answer: Frame, bounds: Sequence[BoundedAnswer]) -> Frame:
    found, counts = list(answer), dict[int, int]()
    for bound in bounds:
        value = answer[bound.output]
        if bound.count < len(answer):
            value = value.take(range(int(answer[bound.count].reshape(-1)[0])), axis=bound.axis)
        counts.setdefault(bound.count, value.shape[bound.axis])
        found[bound.output] = _whole(value, bound.shape)
    missing: Mapping[int, int] = {
        number: counts[number] for number in sorted(counts) if number >= len(answer)
    }
    return (*found, *(np.array([count], np.int64) for count in missing.values()))


def _whole(value: Array, shape: tuple[int, ...]) -> Array:
    """The value with zeros behind it; of a value that is larger, what has room."""
    whole = np.zeros(shape, value.dtype)
    there = tuple(slice(min(one, most)) for one, most in zip(value.shape, shape, strict=True))
    whole[there] = value[there]
    return whole
