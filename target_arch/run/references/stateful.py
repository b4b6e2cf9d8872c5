"""A reference that carries states: outputs of one answer are inputs of the next."""

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve

from target_arch.run.references.reference import Array, Frame, Reference


def stateful(reference: Reference, pairs: Sequence[tuple[int, int]]) -> Reference:
    """The reference whose inputs and outputs with these numbers are states, zeros at first; each of its modes
    carries states of its own.
    """
    if not pairs:
        return reference
    fed, given = dict(pairs), {output for _, output in pairs}
    left = [number for number in range(len(reference.units)) if number not in given]
    held: list[dict[int, Array]] = []
    inside_held: dict[int, Array] = {}

    def reset() -> None:
        reference.reset()
        zeros = {number: np.zeros(at.shape, at.dtype) for number, at in enumerate(reference.inputs)}
        held[:] = [{number: zeros[number] for number in fed} for _ in reference.modes]
        inside_held.update({number: zeros[number] for number in fed})

    def answer(frame: Frame) -> tuple[Frame, ...]:
        return tuple(_step(reference, mode, states, frame, fed, left) for mode, states in enumerate(held))

    def inside(frame: Frame) -> Mapping[str, Array]:
        found = reference.inside(_whole(reference, inside_held, frame, fed))
        _step(reference, 0, inside_held, frame, fed, left)
        return found

    reset()
    return evolve(
        reference,
        inputs=tuple(each for number, each in enumerate(reference.inputs) if number not in fed),
        units=tuple(reference.units[number] for number in left),
        reals=tuple(reference.reals[number] for number in left) if reference.reals else (),
        answer=answer,
        inside=inside,
        reset=reset,
        varied=None,
    )


def _step(
    reference: Reference,
    mode: int,
    states: dict[int, Array],
    frame: Frame,
    fed: dict[int, int],
    left: Sequence[int],
) -> Frame:
    """The answer of one mode, whose states become the next ones."""
    results = reference.answer(_whole(reference, states, frame, fed))[mode]
    states |= {number: results[output] for number, output in fed.items()}
    return tuple(results[number] for number in left)


def _whole(reference: Reference, states: dict[int, Array], frame: Frame, fed: dict[int, int]) -> Frame:
    """The inputs of the reference: those of a frame, and the states."""
    rest = iter(frame)
    return tuple(states[number] if number in fed else next(rest) for number in range(len(reference.inputs)))
