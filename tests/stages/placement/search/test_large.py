"""Large graphs end: with the starting points alone, in time that grows with their edges."""

import pytest

from target_arch.stages.placement.place import place
from tests.stages import chips


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operators", "reads"), [(2_100, 8), pytest.param(10_000, 100, marks=pytest.mark.long)]
)
def test_many_operators_and_up_to_a_million_edges(operators: int, reads: int) -> None:
    graph = place(chips.dense(operators, reads), chips.setting(chips.EDGE), chips.BACKENDS)
    assert len(graph.choices) == operators
    assert graph.facts is not None
    assert "local search" not in graph.facts.method
    assert graph.facts.search_bound <= graph.facts.search_makespan
