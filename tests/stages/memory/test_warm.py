"""Places near the core that touched their lines last: valid plans with fewer foreign lines."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.stages.memory.allocate import allocate
from target_arch.stages.memory.warm import LINE, CoreAccess, warm
from tests.stages.memory.test_allocate import buffer, is_valid

ARENA = Arena("m")
ROOM = 2**20


def touched(name: str, core: int, stop: int, start: int = 0) -> CoreAccess:
    return CoreAccess(buffer=name, core=core, start=start, stop=stop)


def foreign_lines(plan: MemoryPlan, touches: Sequence[CoreAccess]) -> int:
    """How often a core touches a line that another one touched last."""
    owners: dict[int, int] = {}
    count = 0
    for touch in touches:
        begin = plan.offsets[touch.buffer]
        for line in range((begin + touch.start) // LINE, -(-(begin + touch.stop) // LINE)):
            count += owners.get(line, touch.core) != touch.core
            owners[line] = touch.core
    return count


def by_turns(size: int, count: int) -> tuple[list[Buffer], list[CoreAccess]]:
    """Two chains, each of a core, whose buffers are made by turns."""
    buffers = [buffer(f"b{number}", size, number, number + 2, alignment=16) for number in range(count)]
    return buffers, [touched(each.name, number % 2, size) for number, each in enumerate(buffers)]


def test_a_core_keeps_its_lines() -> None:
    buffers, touches = by_turns(1024, 12)
    low = allocate(buffers, {"m": ROOM})
    plan = warm(low, ARENA, touches, ROOM)
    assert is_valid(plan)
    assert plan.found_by[ARENA] == "lines of cores"
    assert foreign_lines(plan, touches) == 0 < foreign_lines(low, touches)


def test_halves_of_a_buffer_meet_where_those_of_the_one_before_met() -> None:
    sizes = {"a": 8 * LINE, "b": 4 * LINE, "c": 6 * LINE}
    buffers = [buffer(name, size, 2 * turn, 2 * turn + 1) for turn, (name, size) in enumerate(sizes.items())]
    touches = [
        touched(name, core, size // 2 * (core + 1), size // 2 * core)
        for name, size in sizes.items()
        for core in (0, 1)
    ]
    plan = warm(allocate(buffers, {"m": ROOM}), ARENA, touches, ROOM)
    assert foreign_lines(plan, touches) == 0
    assert plan.peaks[ARENA] == sizes["a"]


def test_without_room_the_low_plan_stays() -> None:
    buffers, touches = by_turns(1024, 12)
    low = allocate(buffers, {"m": ROOM})
    assert warm(low, ARENA, touches, low.peaks[ARENA]) is low


def test_a_buffer_that_may_not_begin_at_every_line_keeps_the_plan() -> None:
    wide = [buffer("a", 100, 0, 1, alignment=4 * LINE), buffer("b", 100, 1, 2)]
    low = allocate(wide, {"m": ROOM})
    assert warm(low, ARENA, [touched("a", 0, 100), touched("b", 1, 100)], ROOM) is low


def test_a_buffer_in_the_place_of_another_stays_there() -> None:
    first = buffer("a", 256, 0, 1)
    second = Buffer(
        name="b", kind="activation", memory="m", bytes=256, alignment=1, first=1, last=2, over=("a",)
    )
    low = allocate([first, second, buffer("c", 64, 0, 2)], {"m": ROOM})
    assert low.in_place == (("b", "a"),)
    plan = warm(low, ARENA, [touched("a", 0, 256), touched("c", 1, 64), touched("b", 1, 256)], ROOM)
    assert plan.offsets["a"] == plan.offsets["b"]
    assert is_valid(MemoryPlan(buffers=(first, low.buffers[2]), offsets=plan.offsets))


LIVES = st.lists(
    st.tuples(st.integers(1, 2000), st.integers(0, 20), st.integers(0, 6), st.integers(0, 2)),
    min_size=1,
    max_size=25,
)


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(LIVES)
def test_random_plans_are_valid_and_the_same_again(lives: list[tuple[int, int, int, int]]) -> None:
    buffers = [
        buffer(f"b{number}", size, first, first + length, alignment=16)
        for number, (size, first, length, _) in enumerate(lives)
    ]
    touches = [touched(f"b{number}", core, size) for number, (size, _, _, core) in enumerate(lives)]
    plan = warm(allocate(buffers, {"m": ROOM}), ARENA, touches, ROOM)
    assert is_valid(plan)
    assert plan == warm(allocate(buffers, {"m": ROOM}), ARENA, touches, ROOM)
    highest = max(plan.offsets[each.name] + each.bytes for each in buffers)
    assert plan.peaks[ARENA] == highest


@pytest.mark.parametrize("core", [0, 1])
def test_one_core_alone_packs_low(core: int) -> None:
    buffers, _ = by_turns(1024, 12)
    low = allocate(buffers, {"m": ROOM})
    touches = [touched(each.name, core, 1024) for each in buffers]
    assert warm(low, ARENA, touches, ROOM).peaks[ARENA] == low.peaks[ARENA]
