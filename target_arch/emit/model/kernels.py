"""`src/<model>_<target_arch>_kernels.c`: the C functions of one target_arch, and their entries.

A function is defined once per target_arch however many partitions use it. The step table calls its entry,
which takes the operands as an array and casts each to the type of the parameter.
"""

import re
from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.shared_bodies import SIZES, SharedBody, shared_bodies
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import Call, CFunction, Kernel
from target_arch.plan.steps import Dispatch

HEADERS = ("float.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "string.h")

CARRIED = "kernels/"
"""The folder of headers that the bundle brings for its kernels, below that of the runtime."""


_CHOSEN = f"{CARRIED}s8_"
"""How the names of those headers begin whose code macros leave out."""


@frozen(kw_only=True)
class Kernels:
    """The C functions of one target_arch, by name, less those for copies that no step makes; `called` are
    those that some step dispatches.
    """

    arch: str
    functions: tuple[CFunction, ...]
    called: frozenset[str]


def kernels(inputs: EmitInputs) -> tuple[Kernels, ...]:
    """Every target_arch that has C functions, by name.

    ValueError where two functions share a name but not their code.
    """
    found: dict[str, dict[str, CFunction]] = {}
    called = _called(inputs)
    for partition in sorted(inputs.kernels):
        kernel = inputs.kernels[partition]
        arch = inputs.soc.instance(kernel.instance).arch.name
        known = found.setdefault(arch, {})
        unused = _copying(kernel) - called.get(arch, frozenset())
        for function in (each for each in kernel.functions if each.name not in unused):
            if _code(known.setdefault(function.name, function)) != _code(function):
                raise ValueError(f"two C functions are named `{function.name}` and differ")
    _check_in_place(inputs, found)
    return tuple(
        Kernels(arch=arch, functions=tuple(known.values()), called=called.get(arch, frozenset()))
        for arch, known in sorted(found.items())
        if known
    )


def _code(function: CFunction) -> tuple[object, ...]:
    """A function without the comment in front of it, which shows shapes that its code need not depend on."""
    comment, end, code = function.text.partition("*/\n")
    text = code if end and comment.startswith("/*") else function.text
    return function.parameters, text, function.in_place


def _copying(kernel: Kernel) -> frozenset[str]:
    """The functions that a kernel calls to copy bytes."""
    calls = (action for action in kernel.actions if isinstance(action, Call))
    return frozenset(call.function for call in calls if call.copies)


def _check_in_place(inputs: EmitInputs, found: Mapping[str, Mapping[str, CFunction]]) -> None:
    """ValueError where a call gets the same bytes twice and its function does not allow that."""
    for member in inputs.members:
        planned = set(member.lowered.plan.in_place)
        for step in member.lowered.steps.steps:
            arch = inputs.soc.instance(step.instance).arch.name if isinstance(step, Dispatch) else ""
            if isinstance(step, Dispatch) and step.function in found.get(arch, {}):
                _check_call(step, found[arch][step.function], planned)


def _check_call(step: Dispatch, function: CFunction, planned: set[tuple[str, str]]) -> None:
    for written, one in enumerate(step.operands):
        for read, other in enumerate(step.operands):
            same = one.access.writes and (one.of, other.of) in planned
            if same and (written, read) not in function.in_place:
                raise ValueError(f"`{step.function}` cannot write `{one.of}` over `{other.of}`")


def left_out(functions: Sequence[CFunction]) -> list[str]:
    """The macros that leave out what no function reaches of the headers that the bundle brings."""
    users = [each for each in functions if any(header.startswith(_CHOSEN) for header in each.headers)]
    return sorted(frozenset[str].intersection(*(each.without for each in users))) if users else []


def entry(inputs: EmitInputs, arch: str, function: str) -> str:
    """The C name of the entry of a function of a target_arch."""
    return f"{inputs.stem}_{arch}_{function}"


def kernels_source(inputs: EmitInputs, of: Kernels) -> str:
    """The C text of one target_arch."""
    out = Emitter()
    out.line(f"/* Kernels of `{comment(inputs.name)}` for {of.arch}. */")
    own = dict.fromkeys(header for function in of.functions for header in function.headers)
    carried = [header for header in own if header.startswith(CARRIED)]
    out.lines(f"#include <{header}>" for header in (*HEADERS, *sorted(own.keys() - set(carried))))
    out.line()
    out.lines(f"#define {macro}" for macro in left_out(of.functions))
    out.lines(f'#include "{header}"' for header in carried)
    out.line(f'#include "{inputs.stem}_internal.h"')
    shared = _shared(inputs, of)
    for text in dict.fromkeys(_text(function, shared) for function in of.functions):
        out.line()
        out.block(text)
    out.line()
    out.line("/* Called by the step table: `p` holds the operands in the order of the parameters. */")
    for function in of.functions:
        if function.name in of.called:
            out.line()
            _entry(out, entry(inputs, of.arch, function.name), function, shared.get(function.name))
    return out.text()


def _shared(inputs: EmitInputs, of: Kernels) -> Mapping[str, SharedBody]:
    """The bodies that stand for several functions, by the names of these: where few bytes matter most."""
    if inputs.goal is not Goal.SIZE:
        return {}
    bodies = shared_bodies([function for function in of.functions if function.name in of.called])
    return {name: body for body in bodies for name in body.numbers}


def _text(function: CFunction, shared: Mapping[str, SharedBody]) -> str:
    """The definition of a function, or of the body that stands for it, with how entries call that."""
    body = shared.get(function.name)
    if body is None:
        return definition(function)
    out = Emitter()
    out.block(definition(evolve(function, name=body.name, text=body.text)))
    out.line()
    call = f"{body.name}({', '.join((*_casts(function), SIZES))})"
    _status(out, f"static ta_status {body.name}_call(void *const *p, const int32_t *{SIZES})", call, function)
    return out.text()


def _called(inputs: EmitInputs) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for step in (step for member in inputs.members for step in member.lowered.steps.steps):
        if isinstance(step, Dispatch):
            found.setdefault(inputs.soc.instance(step.instance).arch.name, set()).add(step.function)
    return {arch: frozenset(names) for arch, names in found.items()}


def definition(function: CFunction) -> str:
    """The definition with internal linkage: two target_archs may use the same function."""
    kind = "int" if function.fails else "void"
    pattern = rf"^(?:static\s+)?{kind}\s+{re.escape(function.name)}\s*\("
    text, count = re.subn(
        pattern, f"static {kind} {function.name}(", function.text, count=1, flags=re.MULTILINE
    )
    if count == 0:
        raise ValueError(f"the text of C function `{function.name}` does not define it")
    return text


def _entry(out: Emitter, name: str, function: CFunction, shared: SharedBody | None) -> None:
    signature = f"ta_status {name}(void *const *p)"
    if shared is None:
        _status(out, signature, f"{function.name}({', '.join(_casts(function))})", function)
        return
    numbers = ", ".join(map(str, shared.numbers[function.name]))
    out.lines((signature, "{"))
    with out.indent():
        out.line(f"static const int32_t {SIZES}[] = {{{numbers}}};")
        out.line(f"return {shared.name}_call(p, {SIZES});")
    out.line("}")


def _casts(function: CFunction) -> list[str]:
    return [f"({kind})p[{number}]" for number, kind in enumerate(function.parameters)]


def _status(out: Emitter, signature: str, call: str, function: CFunction) -> None:
    """A function that makes the call and returns its status."""
    out.lines((signature, "{"))
    with out.indent():
        if not function.parameters:
            out.line("(void)p;")
        if function.fails:
            out.line(f"return {call} == 0 ? TA_OK : TA_ERROR_DEVICE;")
        else:
            out.lines((f"{call};", "return TA_OK;"))
    out.line("}")
