"""Which parameters may be one memory is proven from the loops; what is not safe is never among them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import s_tir, te, tirx

from target_arch.relax.lower.lowering import print_scheduled
from tests.backends.c.one import Compile, call, compiler, in_place


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Compile:
    return compiler(tmp_path_factory.mktemp("in_place"), needs_tool("gcc"), needs_tool("clang"))


def table(name: str, *shape: int, dtype: str = "int32") -> Any:
    return te.placeholder(shape, dtype, name=name)


def result(shape: tuple[int, ...], value: Callable[..., Any]) -> Any:
    return te.compute(shape, value, name="out")


X, Y, SQUARE = table("x", 6, 4), table("y", 6, 4), table("s", 4, 4)
ROW, SHORT = table("row", 4), table("short", 6, 4, dtype="int16")

CASES: dict[str, tuple[tuple[Any, ...], tuple[tuple[int, int], ...]]] = {
    "element by element": ((X, Y, result((6, 4), lambda i, j: X[i, j] + Y[i, j])), ((2, 0), (2, 1))),
    "one twice": ((X, result((6, 4), lambda i, j: X[i, j] * X[i, j])), ((1, 0),)),
    "a row for all": ((X, ROW, result((6, 4), lambda i, j: X[i, j] + ROW[j])), ((2, 0),)),
    "another order of loops": ((SQUARE, result((4, 4), lambda i, j: SQUARE[j, i])), ()),
    "the element before": ((X, result((6, 4), lambda i, j: X[tirx.max(i - 1, 0), j])), ()),
    "the element after": ((X, result((6, 4), lambda i, j: X[tirx.min(i + 1, 5), j])), ()),
    "from the end": ((X, result((6, 4), lambda i, j: X[5 - i, j])), ()),
    "a narrower type": ((SHORT, result((6, 4), lambda i, j: SHORT[i, j].astype("int32"))), ()),
    "fewer bytes": ((X, result((6, 2), lambda i, j: X[i, j])), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_what_may_lie_over_what(case: str, build: Compile) -> None:
    arguments, pairs = CASES[case]
    function = print_scheduled(te.create_prim_func(list(arguments)), "f").function
    assert function.in_place == pairs
    head = function.text.split("{")[0].split("*/")[1]
    assert head.count("restrict") == len(arguments) - len({number for pair in pairs for number in pair})
    assert ("#pragma GCC ivdep" in function.text) == bool(pairs)
    library = build((function,))
    random = np.random.default_rng(7)
    arrays = [random.integers(-99, 99, [int(e) for e in a.shape]).astype(str(a.dtype)) for a in arguments]
    call(library, function.name, *arrays)
    for pair in pairs:
        assert np.array_equal(in_place(library, function.name, arrays, *pair), arrays[-1])


def rows(fetched: bool) -> Any:
    """Sums along rows, `out[i, j] = sum over k of x[i, k] * (j + k)`, with each row fetched first or not."""
    k = te.reduce_axis((0, 4), name="k")
    made = te.compute((6, 4), lambda i, j: te.sum(X[i, k] * (j + k), axis=[k]), name="out")
    schedule = s_tir.Schedule(te.create_prim_func([X, made]))
    block = schedule.get_sblock("out")
    if fetched:
        copy = schedule.cache_read(block, 0, "local")
        schedule.compute_at(copy, schedule.get_loops(block)[0])
    acc = schedule.cache_write(block, 0, "local")
    schedule.reverse_compute_at(acc, schedule.get_loops(block)[1])
    schedule.decompose_reduction(block, schedule.get_loops(block)[2])
    return schedule.mod["main"]


@pytest.mark.parametrize(("fetched", "pairs"), [(True, ((1, 0),)), (False, ())])
def test_rows_that_are_fetched_first(
    fetched: bool, pairs: tuple[tuple[int, int], ...], build: Compile
) -> None:
    function = print_scheduled(rows(fetched), "rows").function
    assert function.in_place == pairs
    library = build((function,))
    x = np.arange(24, dtype=np.int32).reshape(6, 4)
    out = np.zeros((6, 4), np.int32)
    call(library, function.name, x, out)
    weights = np.add.outer(np.arange(4), np.arange(4))
    assert np.array_equal(out, x @ weights)
    for pair in pairs:
        assert np.array_equal(in_place(library, function.name, [x, out], *pair), out)
