"""The solver's choices are those of an enumeration."""

import itertools

import numpy as np
import pytest

from target_arch.quantize.precision import Precision, Precisions
from target_arch.quantize.solver import LayerPrices, Problem, best, nearest

pytest.importorskip("ortools", reason="needs OR-tools: pip install 'target-arch[quantize]'")

CHOICES = (Precision.FLOAT, Precision.INT8, Precision.INT8_TENSOR)


def problem(seed: int, layers: int = 4) -> Problem:
    """Random errors and prices: a float layer is exact and large."""
    drawn = np.random.default_rng(seed)
    prices = []
    for _ in range(layers):
        errors = (0.0, *drawn.uniform(1e-6, 1e-3, 2))
        sizes = (float(drawn.integers(100, 2000)), 0.0, -float(drawn.integers(0, 60)))
        prices.append(
            LayerPrices(
                errors=errors,
                added={"bytes.flash": sizes, "latency": (drawn.uniform(0, 1e-3), 0.0, 0.0)},
                tensors={"bytes.flash": (0.0, 0.0, 0.0), "latency": (0.0, 0.0, 0.0)},
            )
        )
    limits = {"bytes.flash": float(drawn.integers(3900, 6000)), "latency": drawn.uniform(1e-3, 3e-3)}
    base = {"bytes.flash": 4000.0, "latency": 1e-3}
    return Problem(choices=(CHOICES,) * layers, layers=tuple(prices), base=base, most=limits)


def keeps(problem: Problem, precisions: Precisions) -> bool:
    return all(problem.predicted(precisions, name) <= most + 1e-12 for name, most in problem.most.items())


def error(problem: Problem, precisions: Precisions) -> float:
    rows = zip(problem.layers, precisions, strict=True)
    return sum(layer.errors[CHOICES.index(one)] for layer, one in rows)


def excess(problem: Problem, precisions: Precisions) -> float:
    return max(problem.predicted(precisions, name) / most for name, most in problem.most.items())


@pytest.mark.parametrize("seed", range(12))
def test_the_least_error_within_the_limits(seed: int) -> None:
    asked = problem(seed)
    every = itertools.product(CHOICES, repeat=len(asked.layers))
    good = sorted((one for one in every if keeps(asked, one)), key=lambda one: error(asked, one))
    chosen = best(asked, ())
    if not good:
        assert chosen is None
        return
    assert chosen is not None
    assert keeps(asked, chosen)
    assert error(asked, chosen) == pytest.approx(error(asked, good[0]), abs=1e-11)
    second = best(asked, [chosen])
    assert (second is None) == (len(good) == 1)
    assert second is None or error(asked, second) == pytest.approx(error(asked, good[1]), abs=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_where_nothing_keeps_the_limits(seed: int) -> None:
    asked = problem(seed, layers=3)
    tight = Problem(
        choices=asked.choices,
        layers=asked.layers,
        base=asked.base,
        most={"bytes.flash": 100.0, "latency": 1e-4},
    )
    assert best(tight, ()) is None
    every = list(itertools.product(CHOICES, repeat=len(tight.layers)))
    chosen = nearest(tight, ())
    assert chosen is not None
    assert excess(tight, chosen) == pytest.approx(min(excess(tight, one) for one in every), rel=1e-4)
    assert nearest(tight, every) is None
    assert tight.combinations == len(every)


def test_of_tensors_the_largest_change_counts() -> None:
    layer = LayerPrices(
        errors=(0.0, 1.0), added={"bytes.sram": (0.0, 0.0)}, tensors={"bytes.sram": (64.0, 0.0)}
    )
    asked = Problem(
        choices=((Precision.FLOAT, Precision.INT8),) * 3,
        layers=(layer,) * 3,
        base={"bytes.sram": 100.0},
        most={"bytes.sram": 164.0},
    )
    assert best(asked, ()) == (Precision.FLOAT,) * 3
    assert asked.predicted((Precision.FLOAT,) * 3, "bytes.sram") == 164.0
