"""Cases that Eva is told to look at one by one, where it keeps what belongs together apart.

Each is a case of all, or the annotation that says so is proved with the rest, or it is C that computes the
same: nothing is taken for granted.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

GREATEST = """static void greatest_at_{kind}({kind} *x, int rows, int count, int greatest, int at)
{{
    for (int row = 0; row < rows; ++row, x += count) {{
        for (int k = 0; k < count; ++k) {{ x[k] = ({kind})Frama_C_interval({least}, greatest); }}
        x[at] = ({kind})greatest;
    }}
}}
"""
"""Rows of any values, of which the one in that place is the greatest."""
BYTES = {"int8": range(-128, 128), "uint8": range(256)}
"""The values of types of which each is tried as the greatest."""
_SQUARES = re.compile(
    r"^ *total = total \+ \(\(int32_t\)(?P<of>x0\[[^]]*\]) (?P<sign>[+-]) (?P<zero>\d+)\) \*.*;$", re.M
)
_LESS = re.compile(r"^ *const int32_t \w+ = (?P<of>\w+) \* -1;$")
_THRICE = re.compile(r"^ *steps\[0\] = \(int32_t\)\(\(uint32_t\)\(int32_t\)(?P<of>\S+) \* \(uint32_t\)3\);$")
_NEGATIVE = re.compile(r"\(uint32_t\)(?P<of>[\w[\]]+) \* \(uint32_t\)-1\b")
_LAST = re.compile(r"\(255 <= \((?:\(int64_t\))?(?P<size>[\w[\]]+) >> (?P<by>\d+)\)\) \?")
_END = re.compile(r"^ *(?:out|gates)\[[^]]*\] = ")
_CLAMP = re.compile(
    r"(?P<before>[=?:,] |\(|return )(?P<test>(?P<of>\w+) [<>] (?P<end>low|high|-?\d+\.[\w.+-]*))"
    r" \? (?P=of) : (?P=end)"
)
_INSIDE = re.compile(r"(?P<of>\w+) >= -[\w.+-]+ && (?P=of) < [\w.+-]+ \?")
_PLACE = re.compile(r"\(\((?P<of>\w+\[\d+\]) < (?P<most>\d+) \? (?P=of) : (?P=most)\) > 0 \?")
_PAIRS = re.compile(r"^ *const int64_t pairs = .*;$", re.M)


def greatest_at_places() -> str:
    """The function of each type of `BYTES` that `greatest_in_each_place` calls."""
    return "".join(GREATEST.format(kind=f"{dtype}_t", least=values[0]) for dtype, values in BYTES.items())


def greatest_in_each_place(dtype: str, count: int, rows: int, called: str) -> Iterator[str]:
    """Calls of a softmax, which looks its table up at the greatest value of a row less each of them. Eva does
    not see that this is not below 0, unless it knows which one is the greatest: each place and value, of all
    rows at once, as a row's results depend on that row alone. One after the other and not in loops, of which
    Eva would keep all turns until the last.
    """
    for greatest in BYTES[dtype]:
        for at in range(count):
            yield f"    greatest_at_{dtype}_t(p0, {rows}, {count}, {greatest}, {at}); {called}"


def shown(text: str) -> str:
    """Kernels, or a header of them, with everything that is said here."""
    return with_places(with_sizes(with_bands(with_numbers(text))))


def with_numbers(text: str) -> str:
    """Kernels that compare a float with the ends of a range: first with itself, as what is no number is not
    equal to itself. That changes no result, as such a float passes no other comparison either; Eva 25
    believes that it may.
    """
    text = _CLAMP.sub(r"\g<before>\g<of> == \g<of> && \g<test> ? \g<of> : \g<end>", text)
    return _INSIDE.sub(r"\g<of> == \g<of> && \g<0>", text)


def with_places(text: str) -> str:
    """Kernels that clamp a place from 0 to a number in each expression that has it: Eva sees each of them."""
    return "\n".join(_with_places(line) for line in text.split("\n"))


def _with_places(line: str) -> str:
    found = {each["of"]: int(each["most"]) for each in _PLACE.finditer(line)}
    if not found:
        return line
    splits = (
        " || ".join((f"{of} <= 0", *(f"{of} == {place}" for place in range(1, most)), f"{of} >= {most}"))
        for of, most in found.items()
    )
    asserted = (f"/*@ assert {split}; */" for split in splits)
    return "\n".join(("/*@ slevel 1000; */", *asserted, line, "/*@ slevel merge; */\n;"))


def with_bands(text: str) -> str:
    """Kernels in which a sum of squares has bands, each of which is shifted by another number: Eva sees the
    square of a number that is negative or not, and the sums of each band, and so that a product with what is
    left fits 64 bits.
    """
    text = _SQUARES.sub(_with_signs, text)
    return _PAIRS.sub(_with_ends, text)


def with_sizes(text: str) -> str:
    """Kernels that look up a table of the size of a number, which is the greater of it and its negative: Eva
    sees a number below 0 and one that is not, and a size that the table has and one behind it. A negative
    modulo 2**32 is a difference, of which Eva has an interval.
    """
    return "\n".join(_with_sizes(_NEGATIVE.sub(r"0u - (uint32_t)\g<of>", text).split("\n")))


def _with_sizes(lines: Iterable[str]) -> Iterator[str]:
    apart = False
    for line in lines:
        less, last = _LESS.match(line) or _THRICE.match(line), _LAST.search(line)
        if less is not None:
            yield f"/*@ slevel 1000; */\n/*@ assert {less['of']} < 0 || {less['of']} >= 0; */"
            apart = True
        elif apart and last is not None:
            most = 255 << int(last["by"])
            yield f"/*@ assert {last['size']} < {most} || {last['size']} >= {most}; */"
        yield line
        if apart and _END.match(line):
            yield "/*@ slevel merge; */\n;"
            apart = False


def _with_signs(found: re.Match[str]) -> str:
    zero = f"{'-' if found['sign'] == '+' else ''}{found['zero']}"
    split = f"{found['of']} < {zero} || {found['of']} >= {zero}"
    return f"/*@ slevel 1000; */\n/*@ assert {split}; */\n{found[0]}\n/*@ slevel merge; */\n;"


def _with_ends(found: re.Match[str]) -> str:
    ends = re.findall(r"\((\d+) <= total\)", found[0])
    bands = [f"{low} <= total < {high}" for low, high in pairwise(ends)]
    split = " || ".join((f"total < {ends[0]}", *bands, f"{ends[-1]} <= total"))
    return f"/*@ slevel 1000; */\n/*@ assert {split}; */\n{found[0]}"
