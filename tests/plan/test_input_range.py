"""Ranges of inputs: what a type has, and what is refused."""

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.input_range import Ends, InputRange, named


@pytest.mark.parametrize(
    ("dtype", "ends", "found"),
    [
        ("int8", (-10, 90.0), "-10 to 90"),
        ("int64", (-(2**63), 2**63 - 1), "-9223372036854775808 to 9223372036854775807"),
        ("float32", (0.1, 3), "0.100000001 to 3"),
    ],
)
def test_a_range_is_of_its_type(dtype: str, ends: Ends, found: str) -> None:
    assert str(InputRange.of("x", dtype, ends, "m")) == found


@pytest.mark.parametrize(
    ("dtype", "ends", "hint"),
    [
        ("int8", (5, 4), "name the lowest value first"),
        ("int8", (float("nan"), 4), "both ends are finite numbers, and the input has numbers, too"),
        ("float32", (0, float("inf")), "both ends are finite numbers, and the input has numbers, too"),
        ("float32", (0, 10**400), "both ends are finite numbers, and the input has numbers, too"),
        ("bool", (0, 1), "both ends are finite numbers, and the input has numbers, too"),
        ("float32", (0, 1e39), "its type has no such values"),
        ("int8", (0, 128), "a range is of stored values: integers from -128 to 127"),
        ("uint8", (0, 0.5), "a range is of stored values: integers from 0 to 255"),
    ],
)
def test_what_is_no_range(dtype: str, ends: Ends, hint: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        InputRange.of("x", dtype, ends, "m.tflite")
    assert str(refused.value) == (
        f"m.tflite: error: input `x`, which is {dtype}, cannot be from {ends[0]} to {ends[1]} [wrong-range]\n"
        f"hint: {hint}"
    )


def test_a_range_is_all_of_a_type_or_not() -> None:
    assert InputRange(low=-128, high=127).all_of("int8")
    assert not InputRange(low=-128, high=126).all_of("int8")
    assert not InputRange(low=-128.0, high=127.0).all_of("float32")


def test_nan_is_in_no_range() -> None:
    promise = InputRange(low=0.0, high=1.0)
    assert promise.has(np.array([0, 1], np.float32))
    assert not promise.has(np.array([0, np.nan], np.float32))


def test_a_range_without_a_name_is_of_the_only_input() -> None:
    assert named({"": (1, 2)}, ["x"], "m") == {"x": (1, 2)}
    for ranges, names, said in (
        ({"": (1, 2)}, ["x", "y"], "there are 2 inputs, and a range names none"),
        ({"": (1, 2), "x": (1, 2)}, ["x"], "input `x` is to have two ranges"),
        ({"z": (1, 2)}, ["x"], "there is no input `z`"),
    ):
        with pytest.raises(DiagnosticError, match=said):
            named(ranges, names, "m")
