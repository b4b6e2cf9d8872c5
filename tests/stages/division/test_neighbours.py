"""Cuts that suit neighbours: shares that overlap, short operators that are divided like their makers, and the
lines that windows read of another core.
"""

import numpy as np

from conformance.channel_networks import Network
from target_arch.plan.arithmetic import Arithmetic
from target_arch.plan.division import Cut, Division, Share
from target_arch.plan.model import Model
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.division.axes import axis_of
from target_arch.stages.division.foreign import foreign_bytes
from target_arch.stages.division.neighbours import suited
from target_arch.stages.division.rewriting import Divided, divided
from target_arch.stages.division.shares import Divisible
from tests.stages.division.test_rewriting import require_same_bits

CORES = ("host", "worker")
SIDE, CHANNELS = 8, 4
HALF = SIDE // 2


def block(*, kept: bool = False) -> Model:
    """A pointwise convolution, one of 3x3, and an addition to what the first began with; `kept` where the
    caller reads the result of the first, too.
    """
    net = Network(np.random.default_rng(3), Arithmetic.TFLITE)
    start = net.activation((1, SIDE, SIDE, CHANNELS))
    wide = net.conv2d(start, CHANNELS)
    made = net.conv2d(wide, CHANNELS, kernel=3, pad=1)
    total = net.add(OperatorKind.ADD, (start, made), net.activation((1, SIDE, SIDE, CHANNELS)))
    return net.model((start,), (total, wide) if kept else (total,))


def halves(model: Model, *numbers: int) -> dict[str, Cut]:
    """These operators in equal shares of both cores."""
    shares = (
        Share(instance=CORES[0], start=0, stop=HALF),
        Share(instance=CORES[1], start=HALF, stop=SIDE),
    )
    ids = [model.operators[number].id for number in numbers]
    return {id: Cut(operator=id, axis=1, shares=shares) for id in ids}


def placed(model: Model, division: Division) -> Divided:
    homes = {operator.id: CORES[0] for operator in model.operators} | {"": CORES[0]}
    return divided(model, model.operators, division, homes)


def foreign(model: Model, division: Division) -> dict[str, int]:
    made = placed(model, division)
    where = {each.id: CORES[0] for each in made.model.operators} | dict(made.wanted) | dict(made.helpers)
    return foreign_bytes(made.model, where)


def able(model: Model) -> dict[str, Divisible]:
    found = {}
    for operator in model.operators:
        axis = axis_of(operator, model)
        assert axis is not None
        found[operator.id] = Divisible(
            operator=operator,
            axis=axis.axis,
            extent=axis.extent,
            unit=1,
            instance=CORES[0],
            seconds=dict.fromkeys(CORES, 1.0),
        )
    return found


def improved(model: Model, division: Division) -> Division:
    """The division with cuts that suit, where a run takes as long as its operators that are whole, and the
    bytes that are fetched.
    """

    def run(division: Division) -> float:
        whole = len(model.operators) - len(division)
        return 1 + whole + sum(foreign(model, division).values()) / 1000

    return suited(division, model, able(model), run(division), run)


def test_windows_pay_for_the_rows_of_the_neighbour() -> None:
    model = block()
    row = SIDE * CHANNELS
    ids = [f"{model.operators[1].id}_slice{number}" for number in (0, 1)]
    assert foreign(model, halves(model, 0, 1, 2)) == dict.fromkeys(ids, row)


def test_a_whole_window_pays_for_all_of_a_slice() -> None:
    model = block()
    assert foreign(model, halves(model, 0)) == {model.operators[1].id: HALF * SIDE * CHANNELS}


def test_who_gathers_channels_left_all_of_the_result() -> None:
    """They are between those of other slices, so that the host copied them: the worker fetches all."""
    net = Network(np.random.default_rng(3), Arithmetic.TFLITE)
    start = net.activation((1, 2, 2, CHANNELS))
    wide = net.conv2d(start, 16, kernel=3, pad=1)
    model = net.model((start,), (net.conv2d(wide, 16, kernel=3, pad=1),))
    (first, second) = (operator.id for operator in model.operators)
    shares = tuple(
        Share(instance=core, start=at, stop=at + 8) for at, core in zip((0, 8), CORES, strict=True)
    )
    cuts = {id: Cut(operator=id, axis=3, shares=shares) for id in (first, second)}
    assert foreign(model, cuts) == {f"{second}_slice1": 2 * 2 * 16}


def test_shares_overlap_where_windows_reach_over_them() -> None:
    model = block()
    found = improved(model, halves(model, 0, 1, 2))
    first, second, third = (found[operator.id].shares for operator in model.operators)
    assert [(share.start, share.stop) for share in first] == [(0, HALF + 1), (HALF - 1, SIDE)]
    assert [(share.start, share.stop) for share in (*second, *third)] == [(0, HALF), (HALF, SIDE)] * 2
    assert foreign(model, found) == {}
    require_same_bits(np.random.default_rng(1), model, placed(model, found).model)


def test_a_result_that_the_caller_reads_is_not_computed_twice() -> None:
    model = block(kept=True)
    division = halves(model, 0, 1, 2)
    assert improved(model, division) == division


def test_a_result_that_a_whole_operator_reads_is_not_computed_twice() -> None:
    model = block()
    last = model.operators[2]
    division = halves(model, 0, 1)

    def run(division: Division) -> float:
        return 1 + 100 * (last.id in division)

    assert suited(division, model, able(model), 1.0, run) == division


def test_a_short_operator_is_divided_like_its_maker() -> None:
    model = block()
    last = model.operators[2]
    found = improved(model, halves(model, 0, 1))
    assert found[last.id].shares == halves(model, 1)[model.operators[1].id].shares
    require_same_bits(np.random.default_rng(1), model, placed(model, found).model)


def test_nothing_changes_where_the_run_is_no_shorter() -> None:
    model = block()
    division = halves(model, 0, 1)
    assert suited(division, model, able(model), 1.0, lambda _: 1.0) == division
