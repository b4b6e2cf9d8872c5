"""Large graphs end: with the starting points alone, in time that grows with their edges."""

import pytest

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.stages.place import place
from tests.stages import chips


def dense(operators: int, reads: int) -> Model:
    """Each operator reads the outputs of the `reads` before it."""
    names = [f"n{number}" for number in range(operators)]
    return Model(
        name="dense",
        source="made by hand",
        inputs=("x",),
        outputs=(names[-1],),
        tensors={name: Tensor(name=name, shape=(16,), dtype="int8") for name in ("x", *names)},
        operators=tuple(
            Operator(
                id=name,
                kind="add",
                arithmetic="tflite",
                inputs=tuple(names[max(0, number - reads) : number]) or ("x",),
                constants=(),
                output=name,
            )
            for number, name in enumerate(names)
        ),
    )


@pytest.mark.parametrize(
    ("operators", "reads"), [(2_100, 8), pytest.param(10_000, 100, marks=pytest.mark.long)]
)
def test_many_operators_and_up_to_a_million_edges(operators: int, reads: int) -> None:
    graph = place(dense(operators, reads), chips.EDGE, chips.BACKENDS)
    assert len(graph.choices) == operators
    assert graph.timeline is not None
    assert "local search" not in graph.timeline.method
    assert graph.timeline.bound <= graph.timeline.makespan
