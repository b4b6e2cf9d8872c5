"""What is stored and never read is not computed."""

from typing import Any

from tvm.script import tirx as T

from target_arch.relax.tir.passes import simplified


@T.prim_func(s_tir=True, private=True)
def leftovers(x: T.Buffer((9,), "int8"), out: T.Buffer((9,), "int8")) -> None:
    """`first` is read for `second`, which nothing reads; `third` is read for `out`."""
    first = T.alloc_buffer((1,), "int32")
    second = T.alloc_buffer((1,), "int32")
    third = T.alloc_buffer((1,), "int8")
    for i in range(9):
        first[0] = T.Cast("int32", x[i]) * 3
        second[0] = first[0] + 1
        third[0] = x[i]
        out[i] = third[0]


def test_stages_that_lead_to_no_output_go() -> None:
    body: Any = simplified(leftovers).script()
    assert "first" not in body
    assert "second" not in body
    assert "third[0] = x" in body
    assert "out[i] = third[0]" in body
