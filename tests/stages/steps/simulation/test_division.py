"""No division of operators over instances is below the bound, and the best one is at it."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.model import Model
from target_arch.soc.model import SoC
from target_arch.stages.paths.routes import PICO
from target_arch.stages.program.dependences import dependences
from target_arch.stages.program.homes import choose_homes
from target_arch.stages.program.joining.join import join
from target_arch.stages.steps.order import steps_of
from target_arch.stages.steps.overlap import fastest
from target_arch.stages.steps.simulation.division import divided, division_bound
from target_arch.stages.steps.simulation.replay import replay
from target_arch.stages.steps.simulation.times import Times
from tests.stages.lowering.test_ladder import models
from tests.stages.steps.simulation.test_bounds import in_pieces, shuffled, socs, work_of

Costs = list[dict[str, int]]


@st.composite
def costs(draw: st.DrawFn) -> Costs:
    """Operators on up to five instances, of which some are alike."""
    kinds = draw(st.lists(st.integers(0, 2), min_size=1, max_size=5))
    found: Costs = []
    for _ in range(draw(st.integers(1, 12))):
        by_kind = [draw(st.none() | st.integers(0, 10**7)) for _ in range(3)]
        able = {f"i{n}": by_kind[kind] for n, kind in enumerate(kinds)}
        taken = {name: cost for name, cost in able.items() if cost is not None}
        found.append(taken or {"i0": draw(st.integers(0, 10**7))})
    return found


@settings(max_examples=200, deadline=None)
@given(costs(), st.integers(0, 99))
def test_no_division_is_below_the_bound(operators: Costs, seed: int) -> None:
    random, bound = Random(seed), divided(operators)
    for sharp in (1, 4, 16):
        loads: dict[str, float] = {}
        for each in operators:
            shares = {name: random.random() ** sharp for name in each}
            for name, share in shares.items():
                loads[name] = loads.get(name, 0.0) + each[name] * share / sum(shares.values())
        assert max(loads.values()) >= bound - 1e-3


@settings(max_examples=100, deadline=None)
@given(costs())
def test_a_linear_program_finds_a_division_at_the_bound(operators: Costs) -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="pip install scipy")
    names = sorted({name for each in operators for name in each})
    shares = [(number, name) for number, each in enumerate(operators) for name in each]
    whole, loads = np.zeros((len(operators), len(shares) + 1)), np.zeros((len(names), len(shares) + 1))
    loads[:, -1] = -1
    for column, (number, name) in enumerate(shares):
        whole[number, column] = 1
        loads[names.index(name), column] = operators[number][name] / 1e6
    found = optimize.linprog(
        [0.0] * len(shares) + [1.0], loads, np.zeros(len(names)), whole, np.ones(len(operators))
    )
    assert divided(operators) == pytest.approx(found.fun * 1e6, rel=1e-6, abs=2)


def test_equal_instances_share_alike_and_unequal_ones_by_their_speed() -> None:
    assert divided([]) == 0
    assert divided([{"host": 700}]) == 700
    assert divided([{"host": 2**70}]) == 2**70
    assert divided([{"a": 900, "b": 900, "c": 900}]) == 300
    assert divided([{"engine": 100, "host": 1000}, {"host": 500}]) == 500
    micro = 10**6
    assert divided([{"engine": 300 * micro, "dsp": 700 * micro}]) == pytest.approx(210 * micro, abs=1)
    both = [{"engine": 300 * micro, "dsp": 700 * micro}, {"dsp": 210 * micro}]
    assert divided(both) == pytest.approx(273 * micro, abs=1)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), socs(), st.sampled_from((0, 2, 4)), st.integers(0, 99))
def test_no_run_is_below_the_bound(model: Model, soc: SoC, tiles: int, seed: int) -> None:
    work = work_of(model, soc, tiles)
    homes, random, times = choose_homes(work), Random(seed), Times(work)
    program = in_pieces(join(work, homes, timed=not tiles))
    before = dependences(program)
    for _ in range(4):
        steps = steps_of(work, shuffled(program, before, random), homes, times)
        bound = division_bound(work, steps, times)
        assert replay(steps, times, soc.host.name).makespan * PICO >= bound - 1
    run = fastest(work, program, homes, times)
    assert 0 < run.busy <= run.instances == len(soc.instances)
