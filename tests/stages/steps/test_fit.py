"""Steps and memory that do not fit: the operator that would have to go."""

import pytest
from attrs import evolve

from target_arch.backend.planner import Algorithm
from target_arch.plan.memory import Arena
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.memory.planner import Planner
from target_arch.stages.steps.fit import fit_memory
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered
from tests.stages.steps.test_overlap import work_of

LAYER = chips.model(("a", "conv", ("x",), 1024), inputs={"x": 1024}, weights=4096)


@pytest.mark.parametrize(
    ("arena", "operators"), [(Arena("bram"), ("a",)), (Arena("bram", constant=True), ())]
)
def test_the_memory_of_an_engine_is_its_operators_and_constants_are_not(
    arena: Arena, operators: tuple[str, ...]
) -> None:
    def full(buffers: object) -> dict[str, int]:
        raise DoesNotFitError(pool=arena, step=0, needed=2, available=1, bound=2, alive=())

    work = work_of(lowered(LAYER, chips.EDGE), chips.EDGE)
    placed = Algorithm(name="full", description="a test", pack=full)
    planner = Planner(algorithm="full", algorithms={"full": placed})
    with pytest.raises(DoesNotFitError) as refused:
        fit_memory(evolve(work, setting=evolve(work.setting, planner=planner)))
    assert (refused.value.pool, refused.value.operators) == (arena, operators)
