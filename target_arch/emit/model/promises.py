"""The C text about ranges that are promised of inputs: macros, and checks for debug builds.

A check is a function of one input that says whether its elements are as promised. Compiled without
`TA_INPUTS_CHECK` it always does.
"""

from collections.abc import Sequence
from typing import cast

from target_arch.emit.model.inputs import Member, Terminal, terminals
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import float_literal, integer_literal
from target_arch.plan.input_range import InputRange, limits

_REFUSED = "TA_ERROR_ARGUMENT"


def macros(out: Emitter, terminal: Terminal) -> None:
    """The ends of the range, and what they mean; nothing for a terminal without one."""
    if terminal.promised is None:
        return
    low, high = _ends(terminal, terminal.promised)
    out.lines(
        (
            "/* It was promised that every element is from _LOW to _HIGH: results are right for such inputs",
            f" * alone. Compiled with -DTA_INPUTS_CHECK, a run with others answers {_REFUSED}. */",
            f"#define {terminal.macro}_LOW {low}",
            f"#define {terminal.macro}_HIGH {high}",
        )
    )


def check(member: Member) -> tuple[str, ...]:
    """The definition of the function that checks a model's inputs; nothing where nothing is promised."""
    every = _promised(member)
    unread = (f"    (void){one.member};" for one in every)
    body = ("#ifdef TA_INPUTS_CHECK", *_loops(every), "#else", *unread, "    return TA_OK;", "#endif")
    return _definition(member, body) if every else ()


def _definition(member: Member, body: Sequence[str]) -> tuple[str, ...]:
    given = ", ".join(f"const {one.c_type} *{one.member}" for one in _promised(member))
    return (
        "",
        f"/* {_REFUSED} where an element is not as was promised; a missing input is refused elsewhere. */",
        f"static ta_status {_function(member)}({given})",
        "{",
        *body,
        "}",
    )


def _loops(every: Sequence[Terminal]) -> tuple[str, ...]:
    """The statements of the function in a debug build."""
    loops = (line for one in every for line in _loop(one))
    return ("    ta_status status = TA_OK;", *loops, "    return status;")


def _loop(one: Terminal) -> tuple[str, ...]:
    """The loop over the elements of an input. A comparison with an end of the type would always hold."""
    value, promise = f"{one.member}[i]", cast(InputRange, one.promised)
    low, high = _limits(one)
    tests = [f"{value} >= {one.macro}_LOW"] if promise.low != low else []
    tests += [f"{value} <= {one.macro}_HIGH"] if promise.high != high else []
    return (
        f"    if ({one.member} != NULL)",
        f"        for (uint32_t i = 0; i < {one.macro}_ELEMENTS; i++)",
        f"            if (!({' && '.join(tests)}))",
        f"                status = {_REFUSED};",
    )


def run_body(member: Member, run: str) -> tuple[str, ...]:
    """The statements of the function that runs a model whose inputs are in arenas."""
    return _checked(member, [f"{one.function}()" for one in _promised(member)], run)


def given_body(member: Member, value: str, call: str) -> tuple[str, ...]:
    """The last statements of a function that takes inputs, which `value` points to."""
    return _checked(member, [f"{value}->{one.member}" for one in _promised(member)], call)


def _checked(member: Member, inputs: Sequence[str], call: str) -> tuple[str, ...]:
    """The statements that return what `call` answers, if the promised inputs are as they should be."""
    if not inputs:
        return (f"return {call};",)
    return (
        f"const ta_status promised = {_function(member)}({', '.join(inputs)});",
        f"return promised == TA_OK ? {call} : promised;",
    )


def lent_check(member: Member) -> tuple[str, ...]:
    """The statements between lending memory and a run."""
    if not _promised(member):
        return ()
    inputs = ", ".join(f"io->{one.member}" for one in _promised(member))
    return ("if (status == TA_OK)", f"    status = {_function(member)}({inputs});")


def hooks_check(members: Sequence[Member]) -> tuple[str, ...]:
    """The definitions for debug builds of the hook of a workload that checks inputs when the caller's has
    written them, and of the functions that do; nothing where no model has a promise of inputs in arenas.
    """
    every = [
        (number, member) for number, member in enumerate(members) if _promised(member) and not member.lends
    ]
    if not every:
        return ()
    return (
        "",
        "#ifdef TA_INPUTS_CHECK",
        "/* What the program does at both ends of a job. */",
        "static ta_workload_hooks callers;",
        *(line for _, member in every for line in _definition(member, _loops(_promised(member)))),
        "",
        "static ta_status begin(void *context, uint32_t task, const ta_job *job)",
        "{",
        "    ta_status status = callers.begin == NULL ? TA_OK : callers.begin(context, task, job);",
        *(line for number, member in every for line in _task(number, member)),
        "    return status;",
        "}",
        "#endif",
    )


def _task(number: int, member: Member) -> tuple[str, ...]:
    inputs = ", ".join(f"{one.function}()" for one in _promised(member))
    return (
        f"    if (status == TA_OK && task == {number}u)",
        f"        status = {_function(member)}({inputs});",
    )


def _promised(member: Member) -> tuple[Terminal, ...]:
    """The inputs of which something is promised."""
    return tuple(one for one in terminals(member) if one.promised is not None)


def _function(member: Member) -> str:
    return f"{member.stem}_check_inputs"


def _ends(terminal: Terminal, promise: InputRange) -> tuple[str, str]:
    """The macros' values, in parentheses where they are negative."""
    dtype = terminal.tensor.dtype
    if dtype.startswith("float"):
        texts = float_literal(promise.low), float_literal(promise.high)
    else:
        texts = integer_literal(int(promise.low), dtype), integer_literal(int(promise.high), dtype)
    low, high = (f"({text})" if text.startswith("-") else text for text in texts)
    return low, high


def _limits(terminal: Terminal) -> tuple[int | None, int | None]:
    """The least and the greatest value of an integer type; None of floats."""
    dtype = terminal.tensor.dtype
    return (None, None) if dtype.startswith("float") else limits(dtype)
