"""`src/<model>_steps.c`: the arenas, the step table and the tables it points into, and the `ta_bundle` over
them.

Every entry stands on a line of its own with a comment that says which step it belongs to, so that a person
can read the table, and remove a step by hand.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from struct import pack

from attrs import evolve

from target_arch.emit.model.arenas import Arenas, EmittedArena
from target_arch.emit.model.device_modules import image_fields
from target_arch.emit.model.dispatches import dispatch_tables
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.lent import lent_tables
from target_arch.emit.model.naming import bundle_symbol, describe, frames_seals_symbol, macro, pipeline_symbol
from target_arch.emit.model.residents import resident_seals
from target_arch.emit.model.seals import sealed_tables, seals
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.listing import Listing
from target_arch.emit.text.names import comment, identifier, string
from target_arch.emit.text.sections import define_section, section_macro
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.frames import FramePipeline
from target_arch.plan.kernels import Slice
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Load, Step, StepOrder, Wait, event_of
from target_arch.soc import numbering
from target_arch.soc.words import CacheDuty

_CACHE = {
    CacheDuty.NONE: "TA_CACHE_NONE",
    CacheDuty.CLEAN_SOURCE: "TA_CACHE_CLEAN_SOURCE",
    CacheDuty.INVALIDATE_DESTINATION: "TA_CACHE_INVALIDATE_TARGET",
    CacheDuty.CLEAN_AND_INVALIDATE: "TA_CACHE_CLEAN_SOURCE | TA_CACHE_INVALIDATE_TARGET",
}

_CACHE_BITS = {
    CacheDuty.NONE: 0,
    CacheDuty.CLEAN_SOURCE: 1,
    CacheDuty.INVALIDATE_DESTINATION: 2,
    CacheDuty.CLEAN_AND_INVALIDATE: 3,
}
_NO_TIMELINE = 0xFFFFFFFF

_TABLES: Mapping[type[Step], str] = {
    Load: "loads",
    Copy: "copies",
    Dispatch: "dispatches",
    Wait: "",
    Fill: "copies",
}
"""Kinds of steps in the order of `ta_step_kind`, with the table that each has its index into."""


def arenas_symbol(inputs: EmitInputs) -> str:
    """The C name of the table of arenas: of the bundle where several tables of steps use it, else of the
    steps.
    """
    return f"{inputs.stem}_arenas" if inputs.shares_arenas else "arenas"


def steps_source(inputs: EmitInputs, member: Member, arenas: Arenas) -> str:
    """The C text; with the table of arenas, where no other table needs it."""
    out = Emitter()
    _head(out, inputs, f"The steps of `{comment(member.name)}` on {inputs.soc.name}.")
    if not inputs.shares_arenas:
        _arena_table(out, inputs, arenas.all, f"static const ta_arena {arenas_symbol(inputs)}")
        resident_seals(out, inputs, arenas.all)
    _loads(out, inputs, member)
    fixed, linked = step_tables(out, inputs, member, member.lowered.steps, arenas, bundle_symbol(member))
    seals(out, member, arenas.all, fixed, linked, inputs.constants)
    return out.text()


def frames_source(inputs: EmitInputs, member: Member, pipeline: FramePipeline, arenas: Arenas) -> str:
    """`src/<model>_frames.c`: the rounds of steps for frames in flight."""
    out = Emitter()
    _head(out, inputs, f"The steps of `{comment(member.name)}` on {inputs.soc.name}, with frames in flight.")
    rounds = evolve(pipeline.order, steps=pipeline.order.steps[pipeline.loads :])
    symbol = pipeline_symbol(member)
    fixed, linked = step_tables(out, inputs, member, rounds, arenas, f"{symbol}_bundle", pipeline.cores)
    out.line()
    out.line("static const uint8_t stages[] = {")
    with out.indent():
        out.wrapped(Listing.of(map(str, pipeline.stages)))
    out.line("};")
    out.line()
    out.line(f"const ta_pipeline {symbol} = {{")
    with out.indent():
        out.line(f"&{symbol}_bundle,")
        out.line("stages,")
        for name in ("round_steps", "rounds", "frames", "done", "states"):
            out.line(f"{_FACTS[name](pipeline)}, /* {name.replace('_', ' ')} */")
        out.line(f"{pipeline.kinds}, /* kinds of rounds */")
        out.line("&ta_lending_of_caller," if member.lends else "NULL,")
    out.line("};")
    sealed_tables(out, frames_seals_symbol(member), {**fixed, "stages": bytes(pipeline.stages)}, linked)
    return out.text()


_FACTS: Mapping[str, Callable[[FramePipeline], int]] = {
    "round_steps": lambda pipeline: pipeline.round_steps,
    "rounds": lambda pipeline: pipeline.rounds,
    "frames": lambda pipeline: pipeline.frames,
    "done": lambda pipeline: pipeline.done,
    "states": lambda pipeline: int(bool(pipeline.order.states)),
}


def _head(out: Emitter, inputs: EmitInputs, about: str) -> None:
    out.line(f"/* {about} */")
    out.line(f"#include <{inputs.soc.name}_soc.h>")
    out.line()
    out.line(f'#include "{inputs.stem}_internal.h"')
    out.line()
    abi_guard(out, inputs)


def step_tables(
    out: Emitter,
    inputs: EmitInputs,
    member: Member,
    steps: StepOrder,
    arenas: Arenas,
    symbol: str,
    turns: Sequence[str] = (),
) -> tuple[Mapping[str, bytes], tuple[str, ...]]:
    """Steps with the tables they point into, and the `ta_bundle` of that symbol over them. Returns the bytes
    of the tables without addresses, and where those with addresses start. `turns` are equal cores on which
    frames take turns.
    """
    fixed = {"copies": _copies(out, steps, arenas)}
    fixed |= dispatch_tables(out, inputs, steps, arenas, turns)
    fixed |= {"steps": _steps(out, inputs, steps)}
    _tensors(out, "inputs", member, steps.inputs, arenas)
    _tensors(out, "outputs", member, steps.outputs, arenas)
    return fixed, _bundle(out, inputs, member, steps, arenas, symbol)


def arenas_source(inputs: EmitInputs, every: Sequence[EmittedArena]) -> str:
    """`src/<bundle>_arenas.c`: the bytes and the table that several tables of steps use."""
    out = Emitter()
    whose = ", all models'" if inputs.several else ""
    _head(out, inputs, f"The arenas of `{comment(inputs.name)}`{whose}.")
    _arena_table(out, inputs, every, f"const ta_arena {arenas_symbol(inputs)}")
    resident_seals(out, inputs, every)
    return out.text()


def abi_guard(out: Emitter, inputs: EmitInputs) -> None:
    """Refuse to compile against the header of another SoC description."""
    macro = f"{numbering.c_prefix(inputs.soc)}_ABI_HASH"
    out.line(f"#if {macro} != 0x{numbering.abi_hash(inputs.soc):016x}ULL")
    out.line(f'#error "{inputs.soc.name}_soc.h is the header of another description of the SoC"')
    out.line("#endif")


def copy_shape(copy: Copy) -> tuple[int, int, int, int]:
    """`row_bytes`, `rows`, source stride and target stride of a copy, as `ta_copy` has them.

    ValueError where the two ends do not have the same rows and neither is contiguous.
    """
    source, target = copy.source, copy.target
    if source.bytes != target.bytes:
        raise ValueError(f"a copy has ends of different size: {source} -> {target}")
    if source.rows == target.rows:
        return source.row_bytes, source.rows, source.stride, target.stride
    if _contiguous(target):
        return source.row_bytes, source.rows, source.stride, source.row_bytes
    if _contiguous(source):
        return target.row_bytes, target.rows, target.row_bytes, target.stride
    raise ValueError(f"a copy has ends of different shape: {source} -> {target}")


def _contiguous(slice: Slice) -> bool:
    return slice.rows == 1 or slice.stride == slice.row_bytes


def _arena_table(out: Emitter, inputs: EmitInputs, every: Sequence[EmittedArena], declaration: str) -> None:
    """The bytes of every arena that the host sees, and the table of all; `declaration` is its beginning."""
    backed = [a for a in every if a.visible and not (a.pool.constant or a.pool.caller)]
    for arena in backed:
        out.line()
        define_section(out, arena.pool)
        place = f"{section_macro(arena.pool)} TA_ALIGNED({arena.alignment})"
        out.line(f"static uint8_t arena_{arena.symbol}[{arena.bytes}] {place};")
    lent_tables(out, inputs, every)
    lent = [arena.name for arena in every if arena.pool.caller]
    bases = [_bases(arena, lent, inputs.constants) for arena in every]
    rows = [
        f"{{{macro(inputs, 'MEMORY', arena.pool.memory)}, {arena.start}, {arena.bytes}, {bases[number]}}},"
        f" /* {number}: {comment(arena.name)} */"
        for number, arena in enumerate(every)
    ]
    out.table(declaration, rows)


def _bases(arena: EmittedArena, lent: Sequence[str], constants: ConstantsForm) -> str:
    if arena.pool.caller:
        return f"NULL, NULL, &lent[{lent.index(arena.name)}]"
    if arena.pool.constant and constants is ConstantsForm.FILE:
        return f"NULL, NULL, &{arena.symbol}_lent"
    if arena.pool.constant:
        return f"NULL, (const uint8_t *)&{arena.symbol}, NULL"
    return f"arena_{arena.symbol}, NULL, NULL" if arena.visible else "NULL, NULL, NULL"


def _loads(out: Emitter, inputs: EmitInputs, member: Member) -> None:
    steps = member.lowered.steps.steps
    loads = [(number, step) for number, step in enumerate(steps) if isinstance(step, Load)]
    macros = {number: _image_macro(inputs, member, step) for number, step in loads}
    for number, step in loads:
        if step.image is not None:
            _image(out, step, macros[number])
    rows = [
        f"{{{macro(inputs, 'INSTANCE', step.instance)}, {_image_fields(inputs, step, macros[number])}}},"
        f" /* step {number}: {comment(describe(step))} */"
        for number, step in loads
    ]
    out.table("static const ta_load loads", rows)


def _image(out: Emitter, step: Load, macro: str) -> None:
    """A stand-in that the host port's devices accept; a build for the chip names the real image."""
    instance, image = step.instance, str(step.image)
    stand_in = f"stand-in for {image}".encode()
    out.line()
    out.line(f"/* `{comment(image)}` of {instance}. A build for the chip defines {macro} (an address),")
    out.line(f" * {macro}_BYTES and {macro}_CRC32; simulated devices need only something to check. */")
    out.line(f"#ifdef {macro}")
    out.line(f"extern const uint8_t {macro}[];")
    out.line("#else")
    out.line(f"#define {macro} image_{identifier(instance)}")
    out.line(f"#define {macro}_BYTES {len(stand_in)}u")
    out.line(f"#define {macro}_CRC32 0x{zlib.crc32(stand_in):08x}u")
    out.line(f"static const uint8_t image_{identifier(instance)}[] = {{")
    with out.indent():
        out.wrapped(Listing.of(map(str, stand_in)))
    out.line("};")
    out.line("#endif")


def _image_fields(inputs: EmitInputs, step: Load, macro: str) -> str:
    own = image_fields(inputs, inputs.soc.instance(step.instance).arch.name)
    if own is not None:
        return own
    return "NULL, 0, 0" if step.image is None else f"{macro}, {macro}_BYTES, {macro}_CRC32"


def _image_macro(inputs: EmitInputs, member: Member, step: Load) -> str:
    """The macro that names the image of an instance; the model's own if no other model uses that image."""
    described = inputs.soc.instance(step.instance).arch.load.image
    if not inputs.several or step.image == described:
        return macro(inputs, "IMAGE", step.instance)
    return macro(inputs, f"IMAGE_{member.stem.upper()}", step.instance)


def _copies(out: Emitter, steps: StepOrder, arenas: Arenas) -> bytes:
    """The table, and the bytes that it has."""
    rows, packed = [], b""
    for number, step in enumerate(steps.steps):
        copy = step.copy if isinstance(step, Fill) else step
        if isinstance(copy, Copy):
            source = arenas.ref(copy.source.of, copy.source.offset)
            target = arenas.ref(copy.target.of, copy.target.offset)
            numbers = copy_shape(copy)
            packed += arenas.packed(copy.source.of, copy.source.offset)
            packed += arenas.packed(copy.target.of, copy.target.offset)
            packed += pack("<5I", *numbers, _CACHE_BITS[copy.cache])
            shape = ", ".join(map(str, numbers))
            note = comment(f"step {number}: {describe(step)}")
            rows.append(f"{{{source}, {target}, {shape}, {_CACHE[copy.cache]}}}, /* {note} */")
    out.table("static const ta_copy copies", rows)
    return packed


def _steps(out: Emitter, inputs: EmitInputs, steps: StepOrder) -> bytes:
    """The table, and the bytes that it has."""
    counts, kinds = {"loads": 0, "copies": 0, "dispatches": 0, "": 0}, [*_TABLES]
    rows, packed = [], b""
    for number, step in enumerate(steps.steps):
        kind, table = type(step).__name__.upper(), _TABLES[type(step)]
        event = event_of(step)
        index = counts[table] if table else 0
        counts[table] += 1
        note = comment(f"{number}: {describe(step)}")
        rows.append(f"{{TA_STEP_{kind}, {index}, {_event(inputs, event)}}}, /* {note} */")
        timeline = numbering.timeline_number(inputs.soc, event.timeline) if event else _NO_TIMELINE
        packed += pack("<4I", kinds.index(type(step)), index, timeline, event.value if event else 0)
    out.table("static const ta_step steps", rows)
    return packed


def _event(inputs: EmitInputs, event: Event | None) -> str:
    if event is None:
        return "{TA_TIMELINE_NONE, 0}"
    return f"{{{macro(inputs, 'TIMELINE', event.timeline)}, {event.value}}}"


def _tensors(
    out: Emitter, name: str, member: Member, pairs: Sequence[tuple[str, str]], arenas: Arenas
) -> None:
    for tensor, buffer in pairs:
        if not arenas.all[arenas.places[buffer].arena].visible:
            raise ValueError(f"`{tensor}` of the {name} is where the host cannot see it: {buffer}")
    rows = [
        f"{{{string(tensor)}, {arenas.ref(buffer)}, {member.model.tensors[tensor].bytes}}},"
        for tensor, buffer in pairs
    ]
    out.table(f"static const ta_tensor {name}", rows)


def _bundle(
    out: Emitter, inputs: EmitInputs, member: Member, steps: StepOrder, arenas: Arenas, symbol: str
) -> tuple[str, ...]:
    """The `ta_bundle`; where the tables with addresses start that this file defines."""
    tables = [_TABLES[type(step)] for step in steps.steps]
    counts = {
        "arenas": len(arenas.all),
        **{table: tables.count(table) for table in ("loads", "copies", "dispatches")},
        "steps": len(steps.steps),
        "inputs": len(steps.inputs),
        "outputs": len(steps.outputs),
    }
    symbols = {"arenas": arenas_symbol(inputs)}
    out.line()
    out.line(f"const ta_bundle {symbol} = {{")
    with out.indent():
        out.line("TA_ABI_VERSION,")
        out.line("0,")
        out.line(f"{numbering.c_prefix(inputs.soc)}_ABI_HASH,")
        out.line(f"{string(member.name)},")
        out.lines(f"{symbols.get(table, table) if count else 'NULL'}," for table, count in counts.items())
        out.lines(f"{count}, /* {table} */" for table, count in counts.items())
    out.line("};")
    own = {} if inputs.shares_arenas else {"arenas": counts["arenas"]}
    own |= {name: counts[name] for name in ("loads", "dispatches", "inputs", "outputs")}
    kernels = ("kernels",) if counts["dispatches"] else ()
    return (*(name for name, count in own.items() if count), *kernels, f"&{symbol}")
