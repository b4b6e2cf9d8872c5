"""A divided model computes what the model computes, whatever the division."""

import numpy as np
import pytest

from target_arch.run.exact.oracle import exact_outputs
from target_arch.stages.check.meaning.division import division_faults
from tests.stages.division.random_divisions import divided_at, random_division
from tests.stages.simplification.random_networks import random_network


@pytest.mark.parametrize("seed", range(40))
def test_random_divisions_keep_every_bit(seed: int) -> None:
    draw = np.random.default_rng(seed)
    model, _ = random_network(seed)
    made = divided_at(model, random_division(draw, model)).model
    assert made.slices
    assert not tuple(division_faults(model, made))
    frame = [draw.integers(-128, 128, model.tensors[name].shape, dtype=np.int8) for name in model.inputs]
    one, other = exact_outputs(model, frame), exact_outputs(made, frame)
    assert one is not None
    assert other is not None
    for ours, theirs in zip(other, one, strict=True):
        np.testing.assert_array_equal(ours, theirs)
