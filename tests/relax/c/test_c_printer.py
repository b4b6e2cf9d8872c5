"""Flat TIR printed as C, compiled by two compilers with warnings as errors, run with UBSan and compared."""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, tirx

from target_arch.relax.c import printer as c_printer
from target_arch.relax.c.expressions import UnprintableError, literal
from target_arch.relax.c.printer import print_function
from target_arch.relax.lower.lowering import flat, loop_names, print_scheduled
from target_arch.relax.te.half import from_half, to_half
from tests.backends.c.one import Array, Compile, call, compiler

I32 = np.array([-(2**31), -(2**31) + 1, -7, -1, 0, 1, 6, 2**31 - 1], np.int32)
F32 = np.array([-1e30, -2.5, -0.5, -0.0, 0.5, 1.5, 2.5, 3e7], np.float32)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Compile:
    return compiler(tmp_path_factory.mktemp("printed"), needs_tool("gcc"), needs_tool("clang"))


def elementwise(expression: Callable[[Any], Any], dtype: str, length: int = 8) -> Any:
    """A function `out[i] = expression(x[i])` as S-TIR."""
    x = te.placeholder((length,), dtype, name="x")
    return te.create_prim_func([x, te.compute((length,), lambda i: expression(x[i]), name="out")])


def printed(function: Any, **options: Any) -> c_printer.PrintedFunction:
    return print_scheduled(function, "f", **options)


def apply(function: Any, build: Compile, x: Array, dtype: str, **options: Any) -> Array:
    """What the C of an element-wise function makes of values."""
    result = printed(function, **options)
    library: ctypes.CDLL = build((result.function,))
    out = np.zeros(x.shape, dtype)
    call(library, result.function.name, x, out)
    return out


def wide(value: Any) -> Any:
    return value.astype("int64")


def const(value: float, dtype: str) -> Any:
    return tirx.const(value, dtype)


INTEGERS: list[tuple[str, Callable[[Any], Any], Callable[[int], int], str]] = [
    ("shift left", lambda v: wide(v) << 3, lambda v: v << 3, "int64"),
    ("shift right", lambda v: wide(v) >> 5, lambda v: v >> 5, "int64"),
    ("least", lambda v: tirx.min(wide(v), const(-(2**63), "int64")), lambda v: -(2**63), "int64"),
    ("int32 min", lambda v: tirx.max(v, const(-(2**31), "int32")), lambda v: v, "int32"),
    (
        "clamp",
        lambda v: tirx.max(tirx.min(wide(v) + 5, 100), -100),
        lambda v: max(min(v + 5, 100), -100),
        "int64",
    ),
    ("floor division", lambda v: tirx.floordiv(wide(v), 3), lambda v: v // 3, "int64"),
    ("floor modulo", lambda v: tirx.floormod(wide(v), 3), lambda v: v % 3, "int64"),
    ("truncation", lambda v: tirx.truncdiv(wide(v), 4), lambda v: math.trunc(v / 4), "int64"),
    ("bits", lambda v: (v & 12) | (v ^ 5), lambda v: (v & 12) | (v ^ 5), "int32"),
    ("not", lambda v: ~v, lambda v: ~v, "int32"),
    (
        "not of bytes",
        lambda v: (~v.astype("uint8")).astype("int32") + (~v.astype("uint16")).astype("int32"),
        lambda v: 255 - v % 256 + 65535 - v % 65536,
        "int32",
    ),
    ("not of truth", lambda v: (~(v < 5)).astype("int32"), lambda v: int(v >= 5), "int32"),
    (
        "select",
        lambda v: tirx.Select(tirx.any(v > 5, tirx.all(v < 0, v != -1)), v, const(9, "int32")),
        lambda v: v if v > 5 or (v < 0 and v != -1) else 9,
        "int32",
    ),
    ("precedence", lambda v: (wide(v) - (wide(v) - 3)) * (2 - (4 - wide(v))), lambda v: 3 * (v - 2), "int64"),
    (
        "truth",
        lambda v: tirx.Not(v < 0).astype("int32") - (v == 6).astype("int32"),
        lambda v: int(v >= 0) - int(v == 6),
        "int32",
    ),
    (
        "narrow",
        lambda v: (v.astype("int8") + const(100, "int8")).astype("int32"),
        lambda v: (v + 100 + 128) % 256 - 128,
        "int32",
    ),
]


@pytest.mark.parametrize(
    ("name", "expression", "meaning", "dtype"), INTEGERS, ids=[row[0] for row in INTEGERS]
)
def test_integer_expressions(
    name: str, expression: Callable[[Any], Any], meaning: Callable[[int], int], dtype: str, build: Compile
) -> None:
    result = apply(elementwise(expression, "int32"), build, I32, dtype)
    assert result.tolist() == [meaning(int(value)) for value in I32]


@pytest.mark.parametrize("operator", ["+", "-", "*"])
def test_wrapping_arithmetic_is_defined(operator: str, build: Compile) -> None:
    """Where a user's model overflows, TIR's numbers come out, and the C has no undefined behaviour."""
    operations: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
    }
    other = 2**31 - 1
    function = elementwise(lambda v: operations[operator](v, const(other, "int32")), "int32")
    expected = operations[operator](I32.astype(np.int64), other).astype(np.int32)
    np.testing.assert_array_equal(apply(function, build, I32, "int32", wraps=True), expected)


FLOATS: list[tuple[str, Callable[[Any], Any], Callable[[Array], Array]]] = [
    ("round", tirx.round, np.rint),
    ("floor", tirx.floor, np.floor),
    ("sigmoid", tirx.sigmoid, lambda x: 1 / (1 + np.exp(-x.astype(np.float64)))),
    ("tanh", tirx.tanh, np.tanh),
    (
        "rsqrt",
        lambda v: tirx.rsqrt(tirx.abs(v) + const(1.0, "float32")),
        lambda x: 1 / np.sqrt(np.abs(x) + 1),
    ),
    (
        "relu6",
        lambda v: tirx.min(tirx.max(v, const(0.0, "float32")), const(6.0, "float32")),
        lambda x: np.clip(x, 0, 6),
    ),
    ("infinity", lambda v: tirx.max(v, const(-math.inf, "float32")), lambda x: x),
    (
        "guard",
        lambda v: tirx.if_then_else(v > 0, tirx.sqrt(v), const(0.0, "float32")),
        lambda x: np.sqrt(np.maximum(x, 0)),
    ),
]


@pytest.mark.parametrize(("name", "expression", "meaning"), FLOATS, ids=[row[0] for row in FLOATS])
def test_float_expressions(
    name: str, expression: Callable[[Any], Any], meaning: Callable[[Array], Array], build: Compile
) -> None:
    with np.errstate(over="ignore"):
        expected = meaning(F32)
    np.testing.assert_allclose(
        apply(elementwise(expression, "float32"), build, F32, "float32"), expected, rtol=1e-6
    )


def as_x86_has_it(value: float, dtype: str) -> int:
    """Return the integer of a float that the type need not hold."""
    bits, wide = np.iinfo(dtype).bits, 64 if dtype in ("uint32", "int64", "uint64") else 32
    least, beyond = -(2 ** (wide - 1)), 2 ** (64 if dtype == "uint64" else wide - 1)
    whole = math.trunc(value) if least <= value < beyond else least
    return int(np.array(whole % 2**64, np.uint64).astype(f"uint{bits}").astype(dtype))


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_floats_that_an_integer_does_not_hold_have_a_result(dtype: str, build: Compile) -> None:
    ends = [float(2**bits) for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
    values = [0.0, 0.9, -0.9, 3.5, 1e30, math.inf, math.nan, *ends, *(end * 0.999999 for end in ends)]
    x = np.array([*values, *(-value for value in values)], np.float32)
    found = apply(elementwise(lambda v: v.astype(dtype), "float32", len(x)), build, x, dtype)
    assert found.tolist() == [as_x86_has_it(float(value), dtype) for value in x]


CLAMPED: list[tuple[str, Callable[[Any], Any], bool]] = [
    ("first below", lambda v: tirx.max(tirx.min(v, const(127, "float32")), const(-128, "float32")), True),
    ("first above", lambda v: tirx.min(tirx.max(v, const(-128, "float32")), const(127, "float32")), True),
    ("rounded", lambda v: tirx.round(tirx.max(tirx.min(v, const(9, "float32")), const(0, "float32"))), True),
    ("the number that is none first", lambda v: tirx.min(const(127, "float32"), tirx.abs(v)), False),
    ("from below alone", lambda v: tirx.max(v, const(-128, "float32")), False),
    ("too far", lambda v: tirx.max(tirx.min(v, const(128, "float32")), const(0, "float32")), False),
    ("one side", lambda v: tirx.if_then_else(v > 0, const(1, "float32"), v), False),
    (
        "product of integers",
        lambda v: tirx.round((v > 0).astype("int16").astype("float32") * const(0.003, "float32")),
        True,
    ),
    (
        "too large a product",
        lambda v: (v > 0).astype("int16").astype("float32") * const(0.004, "float32"),
        False,
    ),
    ("both sides", lambda v: tirx.if_then_else(v > 0, const(1, "float32"), const(0, "float32")), True),
]


@pytest.mark.parametrize(("name", "expression", "plain"), CLAMPED, ids=[row[0] for row in CLAMPED])
def test_what_was_clamped_is_converted_without_a_test(
    name: str, expression: Callable[[Any], Any], plain: bool, build: Compile
) -> None:
    function = elementwise(lambda v: expression(v).astype("int8"), "float32", 4)
    text = printed(function).function.text
    assert ("2147483648.0f" not in text) == plain
    x = np.array([math.nan, math.inf, -math.inf, 300], np.float32)
    assert apply(function, build, x, "int8").shape == (4,)


def test_float16_is_bits(build: Compile) -> None:
    """Every float16 as float32; of float32 those, ties between them, neighbours, the ends and random bits."""
    every = np.arange(2**16, dtype=np.uint16)
    wide = apply(elementwise(from_half, "float16", 2**16), build, every, "float32")
    assert wide.tobytes() == every.view(np.float16).astype(np.float32).tobytes()
    random = np.random.default_rng(0).integers(0, 2**32, 2**16, np.uint32).view(np.float32)
    finite = wide[np.isfinite(wide)]
    steps = np.sort(finite)
    near = [
        random,
        wide,
        (steps[1:] + steps[:-1]) / 2,
        finite * np.float32(1 + 2**-23),
        np.float32([65519.9, 65520, -65520]),
    ]
    values = np.concatenate(near).astype(np.float32)
    bits = apply(elementwise(to_half, "float32", len(values)), build, values, "uint16")
    with np.errstate(over="ignore"):
        right = values.astype(np.float16)
    numbers = ~np.isnan(values)
    assert bits[numbers].tobytes() == right[numbers].tobytes()
    assert np.isnan(bits[~numbers].view(np.float16)).all()


def test_float_literals_are_exact(build: Compile) -> None:
    bits = np.random.default_rng(5).integers(0, 2**32, 300, dtype=np.uint32)
    values = [*bits.view(np.float32).tolist(), 2.0**-149, 3.4028234663852886e38, 0.1, 1.0, -0.0]
    for value in (float(value) for value in values if not math.isnan(value)):
        assert np.float32(
            literal(value, "float32").removesuffix("f").replace("INFINITY", "inf")
        ) == np.float32(value)
    assert literal(math.nan, "float32") == "NAN"
    x = np.ones(1, np.float32)
    for value in (0.1, 2.3529412e-02, 1e-45, float(np.finfo(np.float32).max)):
        function = elementwise(lambda v, value=value: v * const(value, "float32"), "float32", 1)
        assert apply(function, build, x, "float32")[0] == np.float32(value)


def test_predicates_leave_the_inner_loop(golden: Callable[[str, str], None], build: Compile) -> None:
    """A padded sum: the condition on the row stands outside the loop over columns."""
    x = te.placeholder((4, 6), "int32", name="x")
    row, column = te.reduce_axis((0, 3), name="dy"), te.reduce_axis((0, 6), name="dx")
    acc = te.compute(
        (4,),
        lambda y: te.sum(
            tirx.if_then_else(tirx.all(y + row > 0, y + row < 5), x[y + row - 1, column], 0),
            axis=[row, column],
        ),
        name="acc",
    )
    function = te.create_prim_func([x, te.compute((4,), lambda y: acc[y] * 2, name="out")])
    schedule = tvm.s_tir.Schedule(function)
    schedule.compute_at(schedule.get_sblock("acc"), schedule.get_loops(schedule.get_sblock("out"))[0])
    schedule.decompose_reduction(
        schedule.get_sblock("acc"), schedule.get_loops(schedule.get_sblock("acc"))[1]
    )
    result = printed(schedule.mod["main"])
    golden("padded_sum.c", result.function.text)
    values = np.arange(24, dtype=np.int32).reshape(4, 6)
    out = np.zeros(4, np.int32)
    call(build((result.function,)), result.function.name, values, out)
    sums = np.pad(values.sum(axis=1), 1)
    assert out.tolist() == [2 * int(sums[y : y + 3].sum()) for y in range(4)]


def two_stages(length: int) -> Any:
    x = te.placeholder((length,), "float32", name="x")
    half = te.compute((length,), lambda i: x[i] * const(0.5, "float32"), name="half")
    return te.create_prim_func([x, te.compute((length,), lambda i: half[length - 1 - i], name="out")])


def test_large_intermediates_become_parameters(build: Compile) -> None:
    small, large = printed(two_stages(64)), printed(two_stages(65))
    assert (small.scratch, large.scratch) == ((), (260,))
    assert small.function.parameters == ("const float *", "float *")
    assert large.function.parameters == ("const float *", "float *", "float *")
    x, out, scratch = np.arange(65, dtype=np.float32), np.zeros(65, np.float32), np.zeros(65, np.float32)
    call(build((large.function,)), large.function.name, x, out, scratch)
    assert out.tolist() == [value / 2 for value in range(64, -1, -1)]


def test_a_name_follows_from_the_text() -> None:
    first, same = (
        printed(elementwise(lambda v: v + 1, "int32")),
        printed(elementwise(lambda v: v + 1, "int32")),
    )
    other = printed(elementwise(lambda v: v + 2, "int32"))
    assert first.function == same.function
    assert first.function.name != other.function.name
    assert first.function.name.startswith("f_")


@pytest.mark.parametrize(
    ("expression", "dtype", "complaint"),
    [
        (
            lambda v: v.astype("float16").astype("float32"),
            "float32",
            "TIR node `Cast` casts float16 to float32",
        ),
        (lambda v: tirx.max(v, v), "float16", "TIR node `Max` computes with float16"),
        (
            lambda v: tirx.popcount(v.astype("int32")).astype("float32"),
            "float32",
            "TIR node `tirx.popcount` has no form",
        ),
    ],
)
def test_what_has_no_c_is_named(expression: Callable[[Any], Any], dtype: str, complaint: str) -> None:
    with pytest.raises(UnprintableError, match=complaint):
        printed(elementwise(expression, dtype))


def test_statements_without_c_are_named() -> None:
    function = elementwise(lambda v: v + 1, "int32")
    schedule = tvm.s_tir.Schedule(function)
    schedule.parallel(schedule.get_loops(schedule.get_sblock("out"))[0])
    with pytest.raises(UnprintableError, match="TIR node `For` of kind parallel has no form in C"):
        printed(schedule.mod["main"])
    with pytest.raises(UnprintableError, match="TIR node `SBlockRealize` has no form in C"):
        print_function(function, "f")


def test_loops_are_called_after_the_axes_they_stand_for() -> None:
    function = elementwise(lambda v: v + 1, "int32")
    assert list(loop_names(function).values()) == ["i"]
    assert (
        "for (int32_t i = 0;" in print_function(flat(function), "f", loops=loop_names(function)).function.text
    )
