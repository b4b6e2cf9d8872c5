"""The instructions of the engine as tensor intrinsics: a definition of each, and the call that stands for it.

A description says in S-TIR what an instruction does to one vector of 16 accumulators, or to a vector of
inputs and a block of weights; `Schedule.tensorize` puts the call in its place. The operands of a call are
access pointers, which `calls.py` reads.

Tests: `tests/backends/gemm_vta/test_stages.py`.
"""

# TVMScript declares buffers in annotations, which are no types.
# mypy: disable-error-code="valid-type,untyped-decorator"

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tvm import s_tir, tirx
from tvm.script import tirx as T

from target_arch.plan.arithmetic import Rounding
from target_arch.relax.te.scaling import clamped, rounded_shift, scaled_product

GEMM, RESET, ALU = "gemm_vta.gemm", "gemm_vta.reset", "gemm_vta.alu"

ACC = {"dtype": "int32", "scope": "local.acc_buffer", "offset_factor": 1}
INP = {"dtype": "int8", "scope": "local.inp_buffer", "offset_factor": 1}
WGT = {"dtype": "int8", "scope": "local.wgt_buffer", "offset_factor": 1}

Lane = Callable[..., Any]
"""The function of one lane; its arguments are the accumulator, then the operands."""


def scaled(rounding: Rounding, value: Any, multiplier: Any, shift: Any) -> Any:
    """The requantizers of `target_arch.plan.arithmetic`, narrowed to 16 bits: beyond these, every int8 result
    is saturated anyway.
    """
    wide, factor, count = (each.astype("int64") for each in (value, multiplier, shift))
    right = {
        Rounding.TFLITE: -count,
        Rounding.TFLITE_SINGLE: tirx.const(31, "int64") - count,
        Rounding.ONNX: count,
    }[rounding]
    product = scaled_product(rounding, wide, factor, right, -31)
    return clamped(rounded_shift(rounding, product, right, -31), -(2**15), 2**15 - 1).astype("int32")


@lru_cache
def gemm() -> str:
    """acc[o] += sum over k of inp[k] * wgt[o, k]. Returns the name under which it is registered in TVM."""

    @T.prim_func(s_tir=True)
    def desc(
        acc: T.Buffer((16,), **ACC), inp: T.Buffer((16,), **INP), wgt: T.Buffer((16, 16), **WGT)
    ) -> None:
        with T.sblock("root"):
            T.reads(acc[0:16], inp[0:16], wgt[0:16, 0:16])
            T.writes(acc[0:16])
            for o, k in T.grid(16, 16):
                with T.sblock("update"):
                    v_o, v_k = T.axis.remap("SR", [o, k])
                    acc[v_o] = acc[v_o] + T.cast(inp[v_k], "int32") * T.cast(wgt[v_o, v_k], "int32")

    @T.prim_func(s_tir=True)
    def impl(
        acc: T.Buffer((16,), **ACC), inp: T.Buffer((16,), **INP), wgt: T.Buffer((16, 16), **WGT)
    ) -> None:
        with T.sblock("root"):
            T.reads(acc[0:16], inp[0:16], wgt[0:16, 0:16])
            T.writes(acc[0:16])
            T.evaluate(
                T.call_extern("int32", GEMM, acc.access_ptr("rw"), inp.access_ptr("r"), wgt.access_ptr("r"))
            )

    return _registered(GEMM, desc, impl)


@lru_cache
def reset() -> str:
    """acc[o] = 0. Returns the name under which it is registered in TVM."""

    @T.prim_func(s_tir=True)
    def desc(acc: T.Buffer((16,), **ACC)) -> None:
        with T.sblock("root"):
            T.reads()
            T.writes(acc[0:16])
            for o in range(16):
                with T.sblock("init"):
                    v_o = T.axis.spatial(16, o)
                    acc[v_o] = 0

    @T.prim_func(s_tir=True)
    def impl(acc: T.Buffer((16,), **ACC)) -> None:
        with T.sblock("root"):
            T.reads()
            T.writes(acc[0:16])
            T.evaluate(T.call_extern("int32", RESET, acc.access_ptr("w")))

    return _registered(RESET, desc, impl)


def lane(operation: str, immediate: int | None) -> Lane:
    """The function of an ALU operation in a lane, of the accumulator and of the operands or the immediate."""
    name, _, rounding = operation.partition("_")
    if rounding:
        return lambda a, m, s: scaled(Rounding(rounding.lower()), a, m, s)
    compute = {"ADD": lambda a, b: a + b, "MAX": tirx.max, "MIN": tirx.min}[name]
    return compute if immediate is None else lambda a: compute(a, tirx.const(immediate, "int32"))


@lru_cache(maxsize=1024)
def alu(operation: str, immediate: int | None, order: tuple[int, ...]) -> str:
    """out[o] = lane(acc[o], operand[o], …). Returns the name under which it is registered in TVM.

    `order` says in which order the block to be replaced reads accumulator (0) and operands (1, 2): TVM
    compares the reads of two blocks one by one.
    """
    describe, implement = {1: (_one, _one_call), 2: (_two, _two_call), 3: (_three, _three_call)}[len(order)]

    def canonical(index: int, *read: Any) -> Any:
        return read[order.index(index)]

    def in_order(*read: Any) -> Any:
        return lane(operation, immediate)(*(canonical(index, *read) for index in range(len(order))))

    name = ".".join((ALU, operation, str(immediate), *map(str, order)))
    return _registered(name, describe(in_order), implement(operation, immediate or 0, canonical))


def _registered(name: str, desc: Any, impl: Any) -> str:
    s_tir.TensorIntrin.register(name, desc, impl, override=True)
    return name


def _one(compute: Lane) -> Any:
    @T.prim_func(s_tir=True)
    def desc(out: T.Buffer((16,), **ACC), a: T.Buffer((16,), **ACC)) -> None:
        with T.sblock("root"):
            T.reads(a[0:16])
            T.writes(out[0:16])
            for o in range(16):
                with T.sblock("alu"):
                    v_o = T.axis.spatial(16, o)
                    out[v_o] = compute(a[v_o])

    return desc


def _two(compute: Lane) -> Any:
    @T.prim_func(s_tir=True)
    def desc(out: T.Buffer((16,), **ACC), a: T.Buffer((16,), **ACC), b: T.Buffer((16,), **ACC)) -> None:
        with T.sblock("root"):
            T.reads(a[0:16], b[0:16])
            T.writes(out[0:16])
            for o in range(16):
                with T.sblock("alu"):
                    v_o = T.axis.spatial(16, o)
                    T.reads(a[v_o], b[v_o])
                    T.writes(out[v_o])
                    out[v_o] = compute(a[v_o], b[v_o])

    return desc


def _three(compute: Lane) -> Any:
    @T.prim_func(s_tir=True)
    def desc(
        out: T.Buffer((16,), **ACC),
        a: T.Buffer((16,), **ACC),
        b: T.Buffer((16,), **ACC),
        c: T.Buffer((16,), **ACC),
    ) -> None:
        with T.sblock("root"):
            T.reads(a[0:16], b[0:16], c[0:16])
            T.writes(out[0:16])
            for o in range(16):
                with T.sblock("alu"):
                    v_o = T.axis.spatial(16, o)
                    T.reads(a[v_o], b[v_o], c[v_o])
                    T.writes(out[v_o])
                    out[v_o] = compute(a[v_o], b[v_o], c[v_o])

    return desc


def _one_call(operation: str, immediate: int, canonical: Lane) -> Any:
    @T.prim_func(s_tir=True)
    def impl(out: T.Buffer((16,), **ACC), a: T.Buffer((16,), **ACC)) -> None:
        with T.sblock("root"):
            T.reads(a[0:16])
            T.writes(out[0:16])
            T.evaluate(
                T.call_extern("int32", ALU, operation, immediate, out.access_ptr("w"), a.access_ptr("r"))
            )

    return impl


def _two_call(operation: str, immediate: int, canonical: Lane) -> Any:
    @T.prim_func(s_tir=True)
    def impl(out: T.Buffer((16,), **ACC), a: T.Buffer((16,), **ACC), b: T.Buffer((16,), **ACC)) -> None:
        with T.sblock("root"):
            T.reads(a[0:16], b[0:16])
            T.writes(out[0:16])
            T.evaluate(
                T.call_extern(
                    "int32",
                    ALU,
                    operation,
                    immediate,
                    out.access_ptr("w"),
                    canonical(0, a, b).access_ptr("r"),
                    canonical(1, a, b).access_ptr("r"),
                )
            )

    return impl


def _three_call(operation: str, immediate: int, canonical: Lane) -> Any:
    @T.prim_func(s_tir=True)
    def impl(
        out: T.Buffer((16,), **ACC),
        a: T.Buffer((16,), **ACC),
        b: T.Buffer((16,), **ACC),
        c: T.Buffer((16,), **ACC),
    ) -> None:
        with T.sblock("root"):
            T.reads(a[0:16], b[0:16], c[0:16])
            T.writes(out[0:16])
            T.evaluate(
                T.call_extern(
                    "int32",
                    ALU,
                    operation,
                    immediate,
                    out.access_ptr("w"),
                    canonical(0, a, b, c).access_ptr("r"),
                    canonical(1, a, b, c).access_ptr("r"),
                    canonical(2, a, b, c).access_ptr("r"),
                )
            )

    return impl
