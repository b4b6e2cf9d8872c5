"""Divided models with something changed at random: what the checker accepts computes the same."""

from collections import Counter

import numpy as np
import pytest
from attrs import evolve
from numpy.random import Generator

from conformance.channel_networks import random_network
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.run.exact.oracle import exact_outputs
from target_arch.stages.check.meaning.division import division_faults
from tests.stages.division.random_divisions import divided_at, random_division


def _mutant(draw: Generator, model: Model) -> Model:
    """The model with one operator changed: its padding, its places, its operands, their order, its claim."""
    number = int(draw.integers(len(model.operators)))
    operators = list(model.operators)
    each = operators[number]
    if each.id in model.slices and draw.random() < 0.2:
        claim = model.slices[each.id]
        moved = evolve(claim, start=claim.start + 1, stop=claim.stop + 1)
        return evolve(model, slices={**model.slices, each.id: moved})
    operators[number] = _changed(draw, model, each)
    return evolve(model, operators=tuple(operators))


def _changed(draw: Generator, model: Model, each: Operator) -> Operator:
    attributes = dict(each.attributes)
    if each.kind is OperatorKind.CONCAT:
        return evolve(each, inputs=tuple(map(str, draw.permutation(each.inputs))))
    if each.kind is OperatorKind.SLICE:
        begin = list(attributes["begin"])  # type: ignore[arg-type]
        begin[int(draw.integers(len(begin)))] += int(draw.choice((-1, 1)))
        return evolve(each, attributes={**attributes, "begin": tuple(begin)})
    if "padding" in attributes and draw.random() < 0.5:
        padding = list(attributes["padding"])  # type: ignore[arg-type]
        padding[int(draw.integers(2))] += int(draw.choice((-1, 1)))
        return evolve(each, attributes={**attributes, "padding": tuple(padding)})
    names = [*each.inputs, *each.constants]
    which = int(draw.integers(len(names)))
    own = model.tensors[names[which]]
    alike = [
        name
        for name, other in model.tensors.items()
        if (other.shape, other.dtype, other.data is None) == (own.shape, own.dtype, own.data is None)
    ]
    names[which] = str(draw.choice(alike))
    count = len(each.inputs)
    return evolve(each, inputs=tuple(names[:count]), constants=tuple(names[count:]))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_accepted_computes_the_same(seed: int) -> None:
    draw, kinds = np.random.default_rng(seed), Counter[bool]()
    model, _ = random_network(seed)
    frame = [draw.integers(-128, 128, model.tensors[name].shape, dtype=np.int8) for name in model.inputs]
    expected = exact_outputs(model, frame)
    assert expected is not None
    for _ in range(40):
        mutant = _mutant(draw, divided_at(model, random_division(draw, model)).model)
        accepted = not tuple(division_faults(model, mutant))
        kinds[accepted] += 1
        if accepted:
            found = exact_outputs(mutant, frame)
            assert found is not None
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours, theirs)
    assert kinds[False] > 10
