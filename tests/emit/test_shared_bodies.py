"""Bodies that several functions share where few bytes matter most."""

import pytest
from attrs import evolve

from target_arch.emit.model.shared_bodies import SharedBody, shared_bodies
from target_arch.plan.kernels import CFunction

LOOPS = """/* scale: x int8[{count}] */
void {name}(const int8_t *restrict x, int8_t *restrict out)
{{
    int32_t acc[{width}];
    for (int32_t i = 0; i < {rows}; ++i) {{
        for (int32_t k = 0; k < {width}; ++k) {{
            acc[k] = x[i * {width} + k] * 3 + {offset};
        }}
        for (int32_t k = 0; k < {width}; ++k) {{
            out[i * {width} + k] = (int8_t)(acc[k] >> 1.5f);
        }}
    }}
}}
"""


def scale(name: str, rows: int, width: int, offset: int = 7) -> CFunction:
    text = LOOPS.format(name=name, count=rows * width, rows=rows, width=width, offset=offset)
    return CFunction(name=name, parameters=("const int8_t *", "int8_t *"), text=text)


def changed(function: CFunction, old: str, new: str) -> CFunction:
    assert old in function.text
    return evolve(function, text=function.text.replace(old, new))


def one(*functions: CFunction) -> SharedBody:
    (body,) = shared_bodies(functions)
    return body


def test_numbers_that_differ_are_a_table_of_each_function() -> None:
    sizes = {"scale_1": (96, 8), "scale_2": (24, 16), "scale_3": (24, 4), "scale_4": (2, 2)}
    body = one(*(scale(name, *each) for name, each in sizes.items()))
    assert body.numbers == sizes
    assert body.text == (
        f"void {body.name}(const int8_t *restrict x, int8_t *restrict out, const int32_t *sizes)\n"
        "{\n"
        "    const int32_t size_0 = sizes[0], size_1 = sizes[1];\n"
        "    int32_t acc[16];\n"
        "    for (int32_t i = 0; i < size_0; ++i) {\n"
        "        for (int32_t k = 0; k < size_1; ++k) {\n"
        "            acc[k] = x[i * size_1 + k] * 3 + 7;\n"
        "        }\n"
        "        for (int32_t k = 0; k < size_1; ++k) {\n"
        "            out[i * size_1 + k] = (int8_t)(acc[k] >> 1.5f);\n"
        "        }\n"
        "    }\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int32_t i = 0", "uint32_t i = 0"),
        ("    int32_t acc", "    static const int32_t some[2] = {1, 2};\n    int32_t acc"),
        ("+ 7", "+ INT64_C(7)"),
        ("+ 7", "+ 1e+7"),
    ],
)
def test_functions_whose_numbers_must_be_constants_keep_them(old: str, new: str) -> None:
    functions = [scale(f"scale_{rows}", rows, 8) for rows in (12, 24, 48)]
    assert len(shared_bodies(functions)) == 1
    assert shared_bodies([changed(function, old, new) for function in functions]) == ()


def test_functions_that_differ_in_more_than_numbers_share_nothing() -> None:
    others, last = [scale(f"scale_{width}", 96, width) for width in range(1, 4)], scale("scale_9", 24, 16)
    assert [len(one(*others, other).numbers) for other in (last, changed(last, ">> 1.5f", ">> 2.5f"))] == [
        4,
        3,
    ]
    assert len(one(*others, evolve(last, in_place=((1, 0),))).numbers) == 3
    assert len(one(*others, scale("scale_9", 24, 16, offset=2**31)).numbers) == 3


def test_two_functions_keep_their_constants() -> None:
    assert shared_bodies([scale("scale_1", 96, 8), scale("scale_2", 24, 16)]) == ()


def test_a_table_that_takes_more_than_the_code_is_not_made() -> None:
    text = "void fill_{0}(int8_t *out)\n{{\n    out[{0}] = 1;\n}}\n"
    few = [CFunction(name=f"fill_{at}", parameters=("int8_t *",), text=text.format(at)) for at in (3, 5, 7)]
    assert shared_bodies(few) == ()
