"""`src/selftest.c`: a program that runs the vector of every model that has one; several take turns, twice."""

from collections.abc import Sequence

from attrs import evolve

from target_arch.emit.model.inputs import EmitInputs, Member, SelfTest, Terminal
from target_arch.emit.programs import bare_metal, host
from target_arch.emit.programs.buffers import lent_buffers
from target_arch.emit.programs.frames import split
from target_arch.emit.programs.turns import in_turn, names, run
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import Literals, literals
from target_arch.emit.text.names import comment, string

_HEAD = """\
/* Self-test of {names}: one input, and what the reference makes of it.
{references}{turns}
 * Returns 0 where every output passes, 1 where one does not, 2 where the model did not run. */
#include <math.h>
{stdio}#include <string.h>

#include <{bundle}.h>"""

_ABSENT = """\
/* Self-test of {names}: there is none. Returns 3. */
#include <stdio.h>

int main(void)
{{
{reasons}
    return 3;
}}
"""

_TURNS = "\n * The models run in turn, twice."

_ELEMENT_AT = """
static double {dtype}_at(const void *values, uint32_t index)
{{
    {c_type} value;
    memcpy(&value, (const uint8_t *)values + index * sizeof value, sizeof value);
    return (double)value;
}}"""

_HALF_AT = """
static double float16_at(const void *values, uint32_t index)
{
    uint16_t bits;
    double size;
    memcpy(&bits, (const uint8_t *)values + index * sizeof bits, sizeof bits);
    size = (double)(bits & 0x3ffu);
    if ((bits & 0x7c00u) == 0x7c00u)
        size = size > 0.0 ? NAN : INFINITY;
    else if ((bits & 0x7c00u) != 0u)
        size = ldexp(size + 1024.0, (int)(bits >> 10 & 0x1fu) - 25);
    else
        size = ldexp(size, -24);
    return (bits & 0x8000u) != 0u ? -size : size;
}"""

_NEAR = """
typedef double (*element_at)(const void *values, uint32_t index);

/* Whether an element is near enough; NaN and infinity belong where the reference has them. */
static int near(double actual, double expected, double absolute, double relative)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(actual) : actual == expected;
    return fabs(actual - expected) <= absolute + relative * fabs(expected);
}
"""

_ROUNDS = 2
"""How often several models run in turn, so that each follows another."""


def selftest_source(inputs: EmitInputs) -> str:
    """The C text: it prints a line per output, and why a model has no vector."""
    tested = tuple(member for member in inputs.members if member.self_test is not None)
    if not tested:
        return _ABSENT.format(names=names(inputs.members), reasons="\n".join(_absent(inputs)))
    machine = inputs.port.bare_metal is not None
    out = Emitter()
    _head(out, inputs, tested)
    for member in tested:
        lent_buffers(out, member)
        _vectors(out, inputs, member)
    outs = [one for member in tested for one in split(member)[1]]
    for dtype, c_type in sorted({one.tensor.dtype: one.c_type for one in outs}.items()):
        out.block(_HALF_AT if dtype == "float16" else _ELEMENT_AT.format(dtype=dtype, c_type=c_type))
    out.block(_NEAR)
    out.block(bare_metal.compare(inputs) if machine else host.COMPARE)
    out.block(bare_metal.failed(inputs, "2") if machine else host.failed(inputs, "2"))
    out.lines(("", *(["int main(void);"] if machine else []), "int main(void)", "{"))
    with out.indent():
        _main(out, inputs, tested)
    out.line("}")
    return out.text()


def _head(out: Emitter, inputs: EmitInputs, tested: Sequence[Member]) -> None:
    machine = inputs.port.bare_metal is not None
    references = (
        f" * Reference{f' of `{comment(member.name)}`' if inputs.several else ''}: "
        f"{comment(_test_of(member).reference)}."
        for member in tested
    )
    stdio = "" if machine else "#include <stdio.h>\n"
    about = {"names": names(tested), "references": "\n".join(references)}
    turns = _TURNS if inputs.several else ""
    out.block(_HEAD.format(**about, turns=turns, bundle=inputs.stem, stdio=stdio))
    if machine or inputs.port.hosted.complains:
        out.lines(("", inputs.port.include))
    if machine:
        out.lines(bare_metal.bundles(inputs))
        out.block(bare_metal.profile(inputs))


def _main(out: Emitter, inputs: EmitInputs, tested: Sequence[Member]) -> None:
    machine = inputs.port.bare_metal is not None
    out.line("int passed = 1;")
    out.lines(["int round;"] if inputs.several else [])
    out.lines(["uint64_t since;"] if machine else [])
    out.line(f"ta_status status = {inputs.stem}_init(&ta_port_{inputs.port.name});")
    out.lines(("if (status != TA_OK)", '    return failed("init", status);'))
    if not machine:
        out.lines(line.strip() for line in _absent(inputs))
    _rounds(out, inputs, tested)
    out.line(f"status = {inputs.stem}_stop();")
    out.lines(("if (status != TA_OK)", '    return failed("stop", status);'))
    if machine:
        out.lines(("if (!write_profile())", "    return 2;"))
    out.line("return passed ? 0 : 1;")


def _absent(inputs: EmitInputs) -> list[str]:
    """Lines that print why models have no vector."""
    return [
        f"    puts({string(f'{member.name}: no self-test: {member.no_self_test}')});"
        for member in inputs.members
        if member.self_test is None
    ]


def _rounds(out: Emitter, inputs: EmitInputs, tested: Sequence[Member]) -> None:
    """Every model once; several as often as _ROUNDS says, and on a machine the profile is of the last."""

    def given(member: Member) -> list[str]:
        return _given(inputs, member)

    def compared(member: Member) -> list[str]:
        return _compared(inputs, member)

    turn = in_turn(inputs, tested, (given, lambda member: run(inputs, member), compared))
    if not inputs.several:
        out.lines(turn)
        return
    out.line(f"for (round = 0; round < {_ROUNDS}; round++) {{")
    with out.indent():
        if inputs.port.bare_metal is not None:
            out.lines(("uint32_t word;", *bare_metal.CLEAR.split("\n")))
        out.lines(turn)
    out.line("}")


def _given(inputs: EmitInputs, member: Member) -> list[str]:
    reset = [f"{member.stem}_reset();"] if member.model.states else []
    return reset + [
        f"memcpy({one.place}, {inputs.prefix(member)}input_{one.number}, {one.macro}_BYTES);"
        for one in split(member)[0]
    ]


def _compared(inputs: EmitInputs, member: Member) -> list[str]:
    """The calls that compare each output with its array."""
    found = []
    for one, near in zip(split(member)[1], _test_of(member).tolerances, strict=True):
        label = string(inputs.qualified(member, one.tensor.name))
        expected = f"{inputs.prefix(member)}expected_{one.number}"
        size = f"{one.macro}_BYTES / {one.macro}_ELEMENTS"
        found += [
            f"passed &= compare({label}, {one.place}, {expected},",
            f"                  {one.macro}_ELEMENTS, {size},",
            f"                  {one.tensor.dtype}_at, {near.absolute!r}, {near.relative!r});",
        ]
    return found


def _vectors(out: Emitter, inputs: EmitInputs, member: Member) -> None:
    test, prefix = _test_of(member), inputs.prefix(member)
    ins, outs = split(member)
    for one, data in zip(ins, test.inputs, strict=True):
        _array(out, f"{prefix}input_{one.number}", one, data)
    for one, data in zip(outs, test.outputs, strict=True):
        _array(out, f"{prefix}expected_{one.number}", one, data)


def _array(out: Emitter, name: str, terminal: Terminal, data: bytes) -> None:
    """A static const array of the bytes of one input or output."""
    vector: Literals = literals(evolve(terminal.tensor, data=data))
    out.line()
    out.line(f"static const {vector.c_type} {name}[] = {{")
    with out.indent():
        out.wrapped(vector.items)
    out.line("};")


def _test_of(member: Member) -> SelfTest:
    assert member.self_test is not None
    return member.self_test
