"""`--target` taken apart: words, quotes, JSON; a mistake is told under the character where it is."""

import pytest

from target_arch.cli.arguments.target_text import parsed
from target_arch.diagnostics import DiagnosticError

Short = dict[str, dict[str, str]]


def short(*given: str) -> Short:
    return {
        target.name.text: {key.text: value.text for key, value in target.settings} for target in parsed(given)
    }


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("c",), {"c": {}}),
        (("c", "npu"), {"c": {}, "npu": {}}),
        (("npu,sram=64KiB,host=c",), {"npu": {"sram": "64KiB", "host": "c"}}),
        (("a,x=1,b,y = 2 , c",), {"a": {"x": "1"}, "b": {"y": "2"}, "c": {}}),
        (("a,x=1", "b", "a,y=2"), {"a": {"x": "1", "y": "2"}, "b": {}}),
        (('a,label="p, q = \\"r\\"",b',), {"a": {"label": 'p, q = "r"'}, "b": {}}),
        (("a,path='C:\\x, y',empty=''",), {"a": {"path": "C:\\x, y", "empty": ""}}),
        (('"a","x"="1"',), {"a": {"x": "1"}}),
        (("a,formula=b=c",), {"a": {"formula": "b=c"}}),
        (
            ('{"name": "npu", "sram": "64 KiB", "lanes": 8, "rate": 2.50, "fast": true}',),
            {"npu": {"sram": "64 KiB", "lanes": "8", "rate": "2.50", "fast": "true"}},
        ),
        ((' [{"name": "a"} , {"x":1,"name":"b"}] ', "c"), {"a": {}, "b": {"x": "1"}, "c": {}}),
    ],
)
def test_what_is_meant(given: tuple[str, ...], meant: Short) -> None:
    assert short(*given) == meant


def test_the_order_is_that_of_the_command_line() -> None:
    assert list(short("b,a", "c", "b")) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("source", "column", "carets", "said"),
    [
        ("", 1, 1, "a name is missing here"),
        ("a,,b", 3, 1, "a name is missing here"),
        ("a,", 3, 1, "a name is missing here"),
        ("a,=1", 3, 1, "a name is missing here"),
        ("x=1,a", 1, 1, "`x` is set for no target_arch"),
        ("a,speed=", 9, 1, "`speed` is set to nothing"),
        ('a,b="c', 5, 1, "this quote is never closed"),
        ("a,b='c", 5, 1, "this quote is never closed"),
        ('a,b="c"d', 8, 1, "`,` is missing here"),
        ('a,b="\\q"', 6, 1, "not JSON: invalid \\escape"),
        ("{", 2, 1, "not JSON: expecting property name enclosed in double quotes"),
        ('{"name" "c"}', 9, 1, "not JSON: expecting ':' delimiter"),
        ('{"name": "c"', 13, 1, "not JSON: expecting ',' delimiter"),
        ('{"name": NaN}', 10, 3, "not JSON: `NaN` is no number"),
        ('{"name": c}', 10, 1, "not JSON: expecting value"),
        ('{"name": "c", "x": null}', 20, 4, "a value is text, a number, true or false"),
        ('{"name": "c", "x": [1, 2]}', 20, 1, "a value is text, a number, true or false"),
        ('{"x": 1}', 1, 1, '"name" is missing'),
        ('{"name": "a", "name": "b"}', 15, 6, "not JSON: `name` stands twice in one table"),
        ('[{"name": "a"} {"name": "b"}]', 16, 1, "not JSON: expecting ',' delimiter"),
        ('["a"]', 2, 3, "a target is an object, `{` to `}`"),
        ('{"name": "a"} b', 15, 1, "not JSON: extra data"),
    ],
)
def test_a_mistake_has_its_place(source: str, column: int, carets: int, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parsed(["c", source])
    lines = str(caught.value).split("\nhint: ")[0].splitlines()
    assert lines[0] == f"--target:2:{column}: error: {said} [bad-target]"
    assert lines[1:] == (
        [f"    2 | {source}", f"      | {' ' * (column - 1)}{'^' * carets}"] if source else []
    )


def test_every_target_with_a_mistake_is_told() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parsed(["a,x=", "b", "y=1"])
    assert str(caught.value) == (
        "--target:1:5: error: `x` is set to nothing [bad-target]\n"
        "    1 | a,x=\n"
        "      |     ^\n"
        'hint: empty text is x=""\n'
        "\n"
        "--target:3:1: error: `y` is set for no target_arch [bad-target]\n"
        "    3 | y=1\n"
        "      | ^\n"
        "hint: name one before it"
    )
