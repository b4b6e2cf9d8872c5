"""The exact search against every order there is, interpreted and compiled."""

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing import cores
from target_arch.stages.memory.packing.descend import FOUND, INFEASIBLE, LIMIT
from target_arch.stages.memory.packing.preference import Preference, sections
from tests.stages.memory.packing.instances import CAPACITY, buffer, buffers, is_valid, optimum, shared


def columns(rows: Sequence[Buffer], order: Sequence[int]) -> list[list[int]]:
    table = ([row.bytes for row in rows], [row.alignment for row in rows], *sections(rows))
    return [[column[number] for number in order] for column in table]


def run(rows: Sequence[Buffer], capacity: int, nodes: int = 100_000) -> tuple[int, dict[str, int]]:
    """How the search ended, and the offsets."""
    order = Preference(rows).order("TWA")
    found = cores.interpreted(columns(rows, order), capacity, nodes)
    return found.ended, {rows[n].name: offset for n, offset in zip(order, found.offsets, strict=True)}


@settings(max_examples=200, deadline=None)
@given(buffers(6, alignments=(1, 1, 4, 16)))
def test_it_finds_the_optimum_and_proves_it(rows: list[Buffer]) -> None:
    lowest = optimum(rows)
    ended, offsets = run(rows, lowest)
    assert ended == FOUND
    assert is_valid(rows, offsets)
    assert max(offsets[row.name] + row.bytes for row in rows) <= lowest
    assert run(rows, lowest - 1)[0] == INFEASIBLE


def test_parts_of_time_are_solved_on_their_own() -> None:
    """The second part has no solution; the first has many plans, which must not all be tried."""
    easy = [buffer(number, 10 + number, number // 3, number // 3 + 2) for number in range(18)]
    tight = [buffer(100 + number, size, 50 + a, 50 + b) for number, (size, a, b) in enumerate(
        ((4, 0, 1), (3, 0, 3), (4, 1, 4), (3, 2, 5), (4, 4, 5), (2, 5, 6), (5, 3, 3), (3, 2, 2))
    )]  # fmt: skip
    lowest = optimum(tight)
    order = list(range(len(easy + tight)))
    found = cores.interpreted(columns(easy + tight, order), lowest - 1, 100_000)
    assert found.ended == INFEASIBLE
    assert found.tried < 2_000


def test_nodes_are_a_limit() -> None:
    rows = [buffer(number, 3 + number % 5, number % 7, number % 7 + 3) for number in range(20)]
    assert run(rows, 10_000, nodes=19)[0] == LIMIT
    assert run(rows, 10_000, nodes=20)[0] == FOUND


def test_it_counts_the_sections_whose_stack_does_not_fit() -> None:
    """The first section has room for its buffers, the second needs 9 bytes in any order."""
    rows = [buffer(0, 5, 0, 0), buffer(1, 4, 2, 3), buffer(2, 5, 3, 4)]
    found = cores.interpreted(columns(rows, [0, 1, 2]), 8, 100)
    assert (found.ended, found.overfull) == (INFEASIBLE, [0, 1, 0])


def test_nothing_is_packed_at_once() -> None:
    assert cores.interpreted([[], [], [], []], 0, 1) == (FOUND, 0, [], [0])


@pytest.mark.long
def test_both_cores_do_the_same() -> None:
    compiled = cores.compiled()
    if compiled is None:
        pytest.skip('needs numba: pip install "target-arch[search]"')
    rows = shared("F")
    for word in ("TWA", "TSA"):
        table = columns(rows, Preference(rows).order(word))
        assert compiled(table, CAPACITY, 1_500) == cores.interpreted(table, CAPACITY, 1_500)


def test_a_core_without_a_place_for_its_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """As numba does where neither the package nor the home folder can be written."""

    def njit(cache: bool = False) -> Callable[[Any], Any]:
        def translate(function: Any) -> Any:
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return function

        return translate

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    compiled = cores.compiled.__wrapped__()
    assert compiled is not None
    assert compiled([[3, 4], [1, 1], [0, 0], [1, 1]], 7, 10) == (FOUND, 2, [0, 3], [0, 0])


def test_no_compiled_core_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert cores.compiled.__wrapped__() is None


def test_python_searches_until_that_took_as_long_as_to_translate(monkeypatch: pytest.MonkeyPatch) -> None:
    def fast(*_: object) -> cores.Descent:
        raise AssertionError

    monkeypatch.setattr(cores, "compiled", lambda: fast)
    monkeypatch.setattr(cores, "_interpreted", cores._Interpreted())
    assert cores.fitting(500_000) == (cores.interpreted, "interpreted")
    assert cores.fitting(500_001) == (fast, "compiled")
    cores.interpreted([[4, 4], [1, 1], [0, 0], [1, 1]], 8, 100)
    assert cores._interpreted.work == 4
    cores._interpreted.work = 6_000_001
    assert cores.fitting(1) == (fast, "compiled")
    monkeypatch.setattr(cores, "compiled", lambda: None)
    assert cores.fitting(1) == (cores.interpreted, "interpreted")
