"""The search for a division: what it asks for, and what it goes on from."""

from collections.abc import Mapping

from target_arch.plan.division import Cut, Division
from target_arch.stages.division.search import DivisionSearch
from target_arch.stages.division.shares import Divisible
from tests.stages import chips

QUAD = chips.quad()
ENGINES = tuple(each.name for each in QUAD.instances if each.arch.name == "conv")
MODEL = chips.model(
    ("c0", "conv", ("x",), 4096),
    ("c1", "conv", ("c0",), 4096),
    ("c2", "conv", ("c1",), 4096),
    inputs={"x": 4096},
    weights=1024,
)


def able(*seconds: float) -> dict[str, Divisible]:
    """Each operator with so many seconds on every engine."""
    return {
        operator.id: Divisible(
            operator=operator,
            axis=0,
            extent=64,
            unit=1,
            instance=ENGINES[0],
            seconds=dict.fromkeys(ENGINES, each),
        )
        for operator, each in zip(MODEL.operators, seconds, strict=True)
    }


def searched(operators: Mapping[str, Divisible], better: Division | None = None) -> list[Division]:
    """The divisions that are asked for, where none is faster than undivided but this one."""
    asked: list[Division] = []

    def run(division: Division) -> float:
        asked.append(division)
        return 2.0 if division == better else 3.0

    found = DivisionSearch(QUAD, operators, run, undivided=3.0, least=0.0, tries=1_000).search()
    assert found == ([] if better is None else [better])
    return asked


def alone(asked: list[Division]) -> list[Cut]:
    """The shares that are tried of a single operator, the others whole."""
    return [cut for division in asked if len(division) == 1 for cut in division.values()]


def test_what_was_in_vain_is_not_tried_at_operators_alike() -> None:
    unlike, alike = alone(searched(able(3.0, 2.0, 1.0))), alone(searched(able(2.0, 2.0, 2.0)))
    assert {cut.operator for cut in unlike} == {"c0", "c1", "c2"}
    assert [cut for cut in unlike if cut.operator == "c0"] == alike


def test_what_was_not_in_vain_is_tried_at_the_others_too() -> None:
    operators = able(2.0, 2.0, 2.0)
    cut = operators["c0"].spread(ENGINES)
    assert cut is not None
    asked = searched(operators, {"c0": cut})
    second = operators["c1"].spread(ENGINES)
    assert {"c0": cut, "c1": second} in asked
