"""The order of operators keeps the peak of live bytes low."""

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.model import Model, Operator
from target_arch.stages.placement.operator_order import execution_order
from tests.stages import chips


def peak(model: Model, order: tuple[Operator, ...]) -> int:
    live, highest = set(model.inputs), 0
    for number, operator in enumerate(order):
        live.add(operator.output)
        highest = max(highest, sum(model.tensors[name].bytes for name in live))
        needed = {name for later in order[number + 1 :] for name in later.inputs} | set(model.outputs)
        live &= needed
    return max(highest, sum(model.tensors[name].bytes for name in model.inputs))


def is_topological(model: Model, order: tuple[Operator, ...]) -> bool:
    known = set(model.inputs)
    for operator in order:
        if not set(operator.inputs) <= known:
            return False
        known.add(operator.output)
    return True


WIDE = chips.model(
    ("big1", "other", ("x",), 1000),
    ("big2", "other", ("x",), 1000),
    ("small1", "other", ("big1",), 10),
    ("small2", "other", ("big2",), 10),
    ("end", "add", ("small1", "small2"), 10),
    inputs={"x": 100},
)


def test_branches_run_one_after_the_other() -> None:
    order = execution_order(WIDE)
    assert [op.id for op in order] == ["big1", "small1", "big2", "small2", "end"]
    assert peak(WIDE, order) == 1110


def test_greedy_takes_over_where_the_search_is_too_large() -> None:
    assert peak(WIDE, execution_order(WIDE, states=1)) == 1110


def test_an_order_that_is_as_good_is_left_alone() -> None:
    assert execution_order(chips.RESIDUAL) == chips.RESIDUAL.operators


@st.composite
def models(draw: st.DrawFn) -> Model:
    rows: list[tuple[str, str, tuple[str, ...], int]] = []
    names = ["x"]
    for number in range(draw(st.integers(1, 6))):
        inputs = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
        rows.append((f"n{number}", "other", inputs, draw(st.integers(1, 50))))
        names.append(f"n{number}")
    return chips.model(*rows, inputs={"x": 20})


@settings(max_examples=50, deadline=None)
@given(models())
def test_the_order_is_optimal_for_small_graphs(model: Model) -> None:
    order = execution_order(model)
    assert is_topological(model, order)
    every = (p for p in permutations(model.operators) if is_topological(model, p))
    assert peak(model, order) == min(peak(model, p) for p in every)
    few = execution_order(model, states=1)
    assert is_topological(model, few)
    assert peak(model, few) <= peak(model, model.operators)
