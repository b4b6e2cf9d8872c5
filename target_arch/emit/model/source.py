"""`src/<model>.c` and `src/<bundle>.c`: the functions of the headers, and the one runtime they share.

The functions of a model that has the bundle's name are in the bundle's file.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from target_arch.emit.model import frames, lent, promises
from target_arch.emit.model.arenas import EmittedArena, placed
from target_arch.emit.model.header import accessor
from target_arch.emit.model.inputs import EmitInputs, Member, terminals
from target_arch.emit.model.lent import pointee, run_signature
from target_arch.emit.model.naming import (
    bundle_symbol,
    frames_seals_symbol,
    resident_seals_symbol,
    seals_symbol,
    simulation_symbol,
    soc_symbol,
)
from target_arch.emit.model.residents import sealed_residents
from target_arch.emit.model.states import reset_body, reset_signature
from target_arch.emit.model.steps import abi_guard
from target_arch.emit.model.weights import EmittedWeights, address_macros, weights_checks, weights_functions
from target_arch.emit.text.emitter import Emitter


@frozen(kw_only=True)
class _Runtime:
    """How the runtime is declared and called: `ta_runtime` of a single model, `ta_models` of several.

    `runs` are by the name of the model.
    """

    declarations: tuple[str, ...]
    init: str
    runs: Mapping[str, str]
    stop: str
    value: str


_Functions = dict[str, tuple[str, ...]]
"""The statements of functions, by signature."""


@frozen(kw_only=True)
class _Source:
    """One C file: the name of it and its header, the rest of its first line, and its definitions, `checks` of
    inputs before the other functions.
    """

    stem: str
    about: str = ""
    declarations: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    functions: Mapping[str, tuple[str, ...]]


def sources(
    inputs: EmitInputs, arenas: Sequence[EmittedArena], weights: Sequence[EmittedWeights]
) -> list[tuple[str, str]]:
    """Path and C text of every file."""
    runtime = _together(inputs) if inputs.several else _alone(inputs)
    inside = tuple(member for member in inputs.members if member.stem == inputs.stem)
    resets = {member.name: _reset(inputs, member, arenas) for member in inputs.members}
    sealed = sealed_residents(inputs, arenas)
    residents = tuple(member for member in inputs.members if member.name in sealed)
    every = [_of_bundle(inputs, runtime, inside, resets, weights, residents)]
    every += [_of_model(inputs, runtime, member, resets) for member in inputs.members if member not in inside]
    return [(f"src/{each.stem}.c", _text(inputs, each)) for each in every]


def _alone(inputs: EmitInputs) -> _Runtime:
    (member,) = inputs.members
    return _Runtime(
        declarations=("static ta_runtime runtime;", *([frames.DECLARATION] if inputs.has_frames else [])),
        init=f"ta_init(&runtime, &{bundle_symbol(member)}, &{soc_symbol(inputs)}, port)",
        runs={member.name: "ta_run(&runtime)"},
        stop="ta_stop(&runtime)",
        value="runtime",
    )


def _together(inputs: EmitInputs) -> _Runtime:
    models = f"{inputs.stem}_models"
    bundles = (f"    &{bundle_symbol(member)}," for member in inputs.members)
    return _Runtime(
        declarations=(
            f"ta_models {models};",
            "",
            "static const ta_bundle *const bundles[] = {",
            *bundles,
            "};",
        ),
        init=f"ta_models_init(&{models}, bundles, {len(inputs.members)}, &{soc_symbol(inputs)}, port)",
        runs={m.name: f"ta_models_run(&{models}, {number})" for number, m in enumerate(inputs.members)},
        stop=f"ta_models_stop(&{models})",
        value=f"{models}.runtime",
    )


def _of_bundle(
    inputs: EmitInputs,
    runtime: _Runtime,
    inside: tuple[Member, ...],
    resets: Mapping[str, _Functions],
    weights: Sequence[EmittedWeights],
    residents: Sequence[Member],
) -> _Source:
    begin = _init(inputs, runtime, weights, len(residents))
    functions = {f"ta_status {inputs.stem}_init(const ta_port *port)": begin}
    for member in inside:
        functions |= _run(inputs, runtime, member) | resets[member.name] | _frames(member)
    stop = frames.STOP if inputs.has_frames else _returning(runtime.stop)
    functions[f"ta_status {inputs.stem}_stop(void)"] = stop
    functions[f"ta_status {inputs.stem}_check(uint32_t bytes)"] = _returning(
        "ta_integrity_check(&integrity, bytes)"
    )
    functions[f"ta_runtime *{inputs.stem}_runtime(void)"] = _returning(f"&{runtime.value}")
    functions |= weights_functions(inputs, weights)
    for member in inside:
        functions |= _accessors(member)
    about = "this model, and its inputs and outputs" if inside else "all models"
    return _Source(
        stem=inputs.stem,
        about=f": the one runtime of {about}",
        declarations=(
            *address_macros(weights),
            *runtime.declarations,
            *_integrity(inputs),
            *_residents(residents),
            *(("static const char *damaged;",) if weights else ()),
        ),
        checks=tuple(line for member in inside for line in promises.check(member)),
        functions=functions,
    )


def _of_model(
    inputs: EmitInputs, runtime: _Runtime, member: Member, resets: Mapping[str, _Functions]
) -> _Source:
    own = _run(inputs, runtime, member) | resets[member.name] | _accessors(member)
    return _Source(stem=member.stem, checks=promises.check(member), functions=own)


def _init(
    inputs: EmitInputs, runtime: _Runtime, weights: Sequence[EmittedWeights], residents: int
) -> tuple[str, ...]:
    """After weights were found, and all bytes that have a CRC were read: on a port that simulates, with the
    simulation that this bundle needs; then the initial values of states. `residents` are the models of which
    later passes read what the host sees of them.
    """
    resets = [f"{member.stem}_reset();" for member in inputs.members if member.model.states]
    starts = [f"ta_host_simulate(&{simulation_symbol(inputs)})"] if inputs.port.hosted.simulates else []
    integrity = f"ta_integrity_init(&integrity, seals, {len(_sealed(inputs))}, port)"
    later = f"ta_integrity_residents(&integrity, &{runtime.value}, residents, {residents})"
    read = [integrity, later] if residents else [integrity]
    calls = [*weights_checks(inputs, weights), *read, *starts, runtime.init, *_fills(inputs)]
    begin = [f"ta_status status = {calls[0]};"]
    begin += ["if (status != TA_OK)", f"    {runtime.value}.failed_step = TA_NO_STEP;"]
    for call in calls[1:]:
        begin += ["if (status == TA_OK)", f"    status = {call};"]
    begin += [line for member in inputs.members if member.lowered.frames for line in frames.init(member)]
    failed = ("if (status != TA_OK)", "    return status;")
    return (*begin, *failed, *resets, "return TA_OK;") if resets else (*begin, "return status;")


def _fills(inputs: EmitInputs) -> list[str]:
    """The call that fills residents; `ta_models_init` makes those of several models itself."""
    return ["ta_fill(&runtime)"] if inputs.has_residents and not inputs.several else []


def _sealed(inputs: EmitInputs) -> list[str]:
    """The C names of all `ta_seals`."""
    with_frames = (member for member in inputs.members if member.lowered.frames is not None)
    return [*map(seals_symbol, inputs.members), *map(frames_seals_symbol, with_frames)]


def _integrity(inputs: EmitInputs) -> tuple[str, ...]:
    sealed = (f"    &{symbol}," for symbol in _sealed(inputs))
    return ("static ta_integrity integrity;", "", "static const ta_seals *const seals[] = {", *sealed, "};")


def _residents(members: Sequence[Member]) -> tuple[str, ...]:
    """The residents of these models; nothing where there are none."""
    if not members:
        return ()
    rows = (f"    {{&{resident_seals_symbol(member)}, &{bundle_symbol(member)}}}," for member in members)
    return ("", "static const ta_residents residents[] = {", *rows, "};")


def _run(inputs: EmitInputs, runtime: _Runtime, member: Member) -> _Functions:
    run = runtime.runs[member.name]
    if member.lends:
        return dict(lent.functions(inputs, member, run))
    return {run_signature(member): promises.run_body(member, run)}


def _frames(member: Member) -> _Functions:
    """Nothing for a model without frames in flight."""
    pipeline = member.lowered.frames
    return {} if pipeline is None else dict(frames.functions(member, pipeline))


def _reset(inputs: EmitInputs, member: Member, every: Sequence[EmittedArena]) -> _Functions:
    """Nothing for a model without states."""
    if not member.model.states:
        return {}
    return {reset_signature(member): reset_body(member, placed(inputs, member, every))}


def _returning(value: str) -> tuple[str, ...]:
    return (f"return {value};",)


def _accessors(member: Member) -> _Functions:
    """The functions that return the pointers of inputs and outputs in arenas."""
    if member.lends:
        return {}
    symbol = bundle_symbol(member)
    places = {each: f"{symbol}.{each.kind}s[{each.number}].where" for each in terminals(member)}
    return {
        accessor(each): _returning(f"({pointee(each)} *)ta_pointer(&{symbol}, {where})")
        for each, where in places.items()
    }


def _text(inputs: EmitInputs, source: _Source) -> str:
    out = Emitter()
    out.line(f"/* The functions of {source.stem}.h{source.about}. */")
    if any(line.startswith("(void)mem") for lines in source.functions.values() for line in lines):
        out.lines(("#include <string.h>", ""))
    out.line(f"#include <{inputs.soc.name}_soc.h>")
    out.line(f"#include <{source.stem}.h>")
    out.line()
    out.line(f'#include "{inputs.stem}_internal.h"')
    out.line()
    abi_guard(out, inputs)
    if source.declarations:
        out.line()
    out.lines(source.declarations)
    out.lines(source.checks)
    for signature, statements in source.functions.items():
        out.lines(("", signature, "{"))
        with out.indent():
            out.lines(statements)
        out.line("}")
    return out.text()
