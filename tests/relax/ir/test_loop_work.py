"""The work of functions of TIR, by hand."""

from typing import Any

import pytest
from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.ir.loop_work import LoopWork, loop_work, turning
from target_arch.relax.onnx_operators.forests import _averages
from target_arch.relax.site import local
from target_arch.relax.te.loops import written


def function(shape: tuple[int, ...], dtype: str, body: Any, *operands: tuple[tuple[int, ...], str]) -> Any:
    builder = relax.BlockBuilder()
    values = [relax.Var(f"x{n}", relax.TensorType(*each)) for n, each in enumerate(operands)]
    with builder.function("main", values):
        builder.emit_func_output(
            builder.emit_te(written(shape, dtype, body), *values, primfunc_name_hint="f")
        )
    return builder.get()["f"]


def sums(out: Any, x: Any, w: Any) -> None:
    with ib.grid(3, 4) as (i, j):
        ib.buffer_store(out, tirx.const(0, "int32"), [i, j])
        with ib.serial(0, 5) as k:
            ib.buffer_store(out, out[i, j] + x[i, k] * w[j, k], [i, j])


def test_products_that_are_added_are_counted_apart() -> None:
    made = function((3, 4), "int32", sums, ((3, 5), "int32"), ((4, 5), "int32"))
    assert loop_work(made) == LoopWork(products=60, operations=12)


def halved(out: Any, x: Any) -> None:
    with ib.serial(0, 10) as i:
        ib.buffer_store(out, x[i] * tirx.const(0.5, "float32"), [i])


def test_an_operation_of_floats_is_two() -> None:
    """A store, a load and a product of floats for each of ten elements."""
    made = function((10,), "float32", halved, ((10,), "float32"))
    assert loop_work(made) == LoopWork(products=0, operations=10 * (1 + 2 + 2))


def grown(out: Any, x: Any) -> None:
    with ib.serial(0, 10) as i:
        ib.buffer_store(out, tirx.exp(x[i]), [i])


def test_a_function_of_floats_is_sixty() -> None:
    made = function((10,), "float32", grown, ((10,), "float32"))
    assert loop_work(made) == LoopWork(products=0, operations=10 * (1 + 60 + 2))


def corner(out: Any, x: Any) -> None:
    with ib.serial(0, 4) as i, ib.serial(0, i + 1) as j:
        ib.buffer_store(out, x[j], [i])


def test_a_loop_with_a_moving_end_counts_as_its_longest() -> None:
    made = function((4,), "int32", corner, ((4,), "int32"))
    assert loop_work(made) == LoopWork(products=0, operations=16 * 2)


def stored(out: Any, x: Any) -> None:
    with ib.serial(0, 4) as i, ib.serial(0, x[i]) as j:
        ib.buffer_store(out, x[j], [i])


def test_a_loop_whose_end_is_in_memory_counts_once() -> None:
    """RoiAlign without a sampling ratio was said to take 13 million years."""
    made = function((4,), "int32", stored, ((4,), "int32"))
    assert loop_work(made) == LoopWork(products=0, operations=4 * 2)


def test_a_definition_in_te_is_counted_as_loops_are() -> None:
    builder = relax.BlockBuilder()
    x, w = (relax.Var(name, relax.TensorType((3, 5), "int32")) for name in "xw")

    def define(a: Any, b: Any) -> Any:
        k = te.reduce_axis((0, 5))
        return te.compute((3, 3), lambda i, j: te.sum(a[i, k] * b[j, k], k))

    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit_te(define, x, w, primfunc_name_hint="f"))
    assert loop_work(builder.get()["f"]).products == pytest.approx(45)


def walked(out: Any, x: Any) -> None:
    with ib.serial(0, 4) as i:
        at = local("at", (1,), "int32")
        ib.buffer_store(at, tirx.const(0, "int32"), [0])
        with turning(2.5), ib.While(at[0] < 9):
            ib.buffer_store(at, at[0] + 1, [0])
        ib.buffer_store(out, at[0], [i])


def test_a_loop_turns_as_often_as_what_is_around_it_says() -> None:
    """A store, a load and a sum in each of 2.5 turns; beside it a store, and a store and a load."""
    made = function((4,), "int32", walked, ((4,), "int32"))
    assert loop_work(made) == LoopWork(products=0, operations=4 * (1 + 2) + round(4 * 2.5 * 3))


def test_nodes_that_a_row_visits_on_average() -> None:
    """A tree of one node, and one whose root has a leaf beside a node; leaves have 1 to 5 scores."""
    depth, scores = _averages([3, 5, 6], [4, 2, 7], [0, 1], [0, 1, 3, 6, 10, 15])
    assert depth == (1 + 1 + 0.5) / 2
    assert scores == (1 / 2 + 2 / 2 + 3 / 2 + 4 / 4 + 5 / 4) / 2
