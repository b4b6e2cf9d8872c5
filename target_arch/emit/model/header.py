"""The headers of a bundle: typed functions of its models.

Each model has `include/<model>.h`, with its inputs, outputs and `run`. Several models share the header of the
bundle, `include/<bundle>.h`, with `init` and `stop`; a single one has these in its own.
"""

from collections.abc import Sequence

from attrs import evolve, field, frozen

from target_arch.emit.model import frames, lent, promises
from target_arch.emit.model.deadline import deadline_declaration
from target_arch.emit.model.inputs import EmitInputs, Member, Terminal, terminals
from target_arch.emit.model.states import RESET
from target_arch.emit.model.weights import EmittedWeights, weights_header
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import float_literal
from target_arch.emit.text.names import comment
from target_arch.plan.memory import BufferKind
from target_arch.plan.model_pools import Sharing


@frozen(kw_only=True)
class _Words:
    """The texts and declarations of headers.

    Of the bundle, where it has a header beside its models': head, how arenas are shared, functions. Of each
    model: head, functions, inputs, outputs.
    """

    bundle: str = ""
    arenas: str = ""
    lifecycle: str = ""
    model: str
    functions: str
    run: str
    input: str
    output: str


_ALONE = _Words(
    model="""\
/* The model `{name}` on {soc}.
 *
 * There is one of it per program: inputs, outputs and everything between are in static memory. Calls come
 * from one thread at a time and not from interrupts. Statuses are those of target_arch/abi.h.
 */""",
    functions="""
/* Bring the system up: open `port`, load and start every instance the model uses. Blocks until all run.
 * The port stays the caller's until stop. On failure nothing is left running; see ta_init. */
ta_status {model}_init(const ta_port *port);
{run}

/* Stop every instance and close the port; see ta_stop. init works again. */
ta_status {model}_stop(void);

/* Compare up to `bytes` bytes of constants and tables with their CRC-32C, from where the last call ended,
 * around and around; init compared them all. Call it between runs or between steps, as often as there is
 * time.
 *   TA_ERROR_STATE    before init
 *   TA_ERROR_CORRUPT  something changed, so results of earlier runs may be wrong; init tells whether it
 *                     still is */
ta_status {model}_check(uint32_t bytes);

/* The model's runtime, for its `failed_step`, `run_us` and `timeout_us`. Never NULL. */
ta_runtime *{model}_runtime(void);""",
    run="""
/* Execute the model once on what the inputs hold. Blocks until the outputs are there. May overwrite the
 * inputs. On failure the outputs are undefined and the runtime's `failed_step` tells where; see ta_run. */
ta_status {model}_run(void);""",
    input="""
/* Where input {number} goes, {macro}_ELEMENTS elements. Write it before every
 * run: a run may use the bytes for something else, and writing may overwrite the last run's outputs. */""",
    output="""
/* Output {number}, {macro}_ELEMENTS elements.
 * Valid from a run that returned TA_OK until an input is written. */""",
)

_BOUNDED = """\
/* Along dimension {axis} as many are there as output `{count}` says; behind them are zeros. */"""

_TOGETHER_HEAD = """\
/* The models {names} on {soc}.
 *
 * There is one of each per program, and one runtime for all: one model runs at a time.
{arenas}
 * An instance for which two models need different programs is loaded again when the other one runs. Calls
 * come from one thread at a time and not from interrupts. Statuses are those of target_arch/abi.h.
 */"""

_LIFECYCLE = """
/* Bring the system up: open `port`, load and start every instance some model uses. Blocks until all run.
 * The port stays the caller's until stop. On failure nothing is left running; see ta_models_init. */
ta_status {bundle}_init(const ta_port *port);

/* Stop every instance and close the port; see ta_models_stop. init works again. */
ta_status {bundle}_stop(void);

/* Compare up to `bytes` bytes of constants and tables with their CRC-32C, from where the last call ended,
 * around and around; init compared them all. Call it between runs or between steps, as often as there is
 * time.
 *   TA_ERROR_STATE    before init
 *   TA_ERROR_CORRUPT  something changed, so results of earlier runs may be wrong; init tells whether it
 *                     still is */
ta_status {bundle}_check(uint32_t bytes);

/* The runtime of all models, for its `bundle` (the model that ran last), `failed_step`, `run_us` and
 * `timeout_us`. Never NULL. */
ta_runtime *{bundle}_runtime(void);"""

_MEMBER_HEAD = """\
/* The model `{name}` on {soc}, one of those of {bundle}.h, which has init and stop.
 *
 * Calls come from one thread at a time and not from interrupts. Statuses are those of target_arch/abi.h.
 */"""

_RUN = """
/* Execute the model once on what the inputs hold. Blocks until the outputs are there. May overwrite the
 * inputs. On failure the outputs are undefined and `failed_step` of the runtime tells where; see
 * ta_models_run. The bundle must have been initialised: {bundle}_init. */
ta_status {model}_run(void);"""

_SHARED = _Words(
    bundle=_TOGETHER_HEAD,
    arenas="""\
 * They share their arenas: the inputs and outputs of a model are lost when another model runs, or when an
 * input of another one is written.""",
    lifecycle=_LIFECYCLE,
    model=_MEMBER_HEAD,
    functions="{run}",
    run=_RUN,
    input="""
/* Where input {number} goes, {macro}_ELEMENTS elements. Write it before every
 * run, when the last other model has run and its outputs are no longer needed: the bytes are those of all
 * models. */""",
    output="""
/* Output {number}, {macro}_ELEMENTS elements.
 * Valid from a run that returned TA_OK until an input of any model is written or another model runs. */""",
)

_SEPARATE = evolve(
    _SHARED,
    arenas="""\
 * Their arenas are separate: the inputs and outputs of a model stay while others run.""",
    input=_ALONE.input,
    output="""
/* Output {number}, {macro}_ELEMENTS elements.
 * Valid from a run that returned TA_OK until an input of this model is written; other models leave it. */""",
)

_TOGETHER = {Sharing.SHARED: _SHARED, Sharing.SEPARATE: _SEPARATE}


@frozen(kw_only=True)
class _Header:
    """One header: how its file and its guard are called, its includes, texts and declarations; the `port`
    where it has `init`, which takes one.
    """

    stem: str
    port: str = ""
    includes: tuple[str, ...] = ()
    head: str
    functions: str
    terminals: tuple[Terminal, ...] = ()
    words: _Words = field(repr=False)
    inputs: EmitInputs = field(repr=False)


def headers(inputs: EmitInputs, weights: Sequence[EmittedWeights]) -> list[tuple[str, str]]:
    """Path and C text of every header but that of the SoC."""
    words = _TOGETHER[inputs.pools.arenas] if inputs.several else _ALONE
    if inputs.lends:
        arenas = lent.SHARED if inputs.pools.arenas == Sharing.SHARED else lent.SEPARATE
        words = evolve(words, arenas=arenas, model=words.model if inputs.several else lent.HEAD)
    every = [_of_model(inputs, words, member) for member in inputs.members]
    if words.bundle:
        every.append(_of_bundle(inputs, words))
    about = weights_header(inputs, weights)
    every = [evolve(one, functions="\n".join((one.functions, *about))) if one.port else one for one in every]
    return [(f"include/{each.stem}.h", _text(each)) for each in every]


def _workload(inputs: EmitInputs) -> str:
    if inputs.timed is None:
        return ""
    from target_arch.emit.model.workload import workload_declarations

    return workload_declarations(inputs, inputs.timed)


def _of_bundle(inputs: EmitInputs, words: _Words) -> _Header:
    names = ", ".join(f"`{comment(member.name)}`" for member in inputs.members)
    return _Header(
        stem=inputs.stem,
        port=inputs.port.name,
        includes=(
            *(("target_arch/workload.h",) if inputs.timed is not None else ()),
            *(f"{member.stem}.h" for member in inputs.members),
        ),
        head=words.bundle.format(names=names, soc=inputs.soc.name, arenas=words.arenas),
        functions=words.lifecycle.format(bundle=inputs.stem)
        + deadline_declaration(inputs)
        + _workload(inputs),
        words=words,
        inputs=inputs,
    )


def _of_model(inputs: EmitInputs, words: _Words, member: Member) -> _Header:
    name = comment(member.name)
    return _Header(
        stem=member.stem,
        port="" if words.bundle else inputs.port.name,
        head=words.model.format(name=name, soc=inputs.soc.name, bundle=inputs.stem),
        includes=("target_arch/frames.h",) if inputs.has_frames else (),
        functions=_functions(inputs, words, member) + _reset(member) + _frames(member),
        terminals=terminals(member),
        words=words,
        inputs=inputs,
    )


def _functions(inputs: EmitInputs, words: _Words, member: Member) -> str:
    run = words.run.format(model=member.stem, bundle=inputs.stem)
    run = lent.declaration(inputs, member) if member.lends else run
    own = "" if words.bundle else deadline_declaration(inputs)
    return words.functions.format(model=member.stem, run=run) + own


def _reset(member: Member) -> str:
    """The declaration of the model's reset, and its states; nothing where it has none."""
    if not member.model.states:
        return ""
    held = (comment(f"{member.model.tensors[each.tensor]}") for each in member.model.states)
    listed = "".join(f"\n *   {each}" for each in held)
    return "\n" + RESET.format(model=member.stem, states=listed)


def _frames(member: Member) -> str:
    """The declarations of frames in flight; nothing without them."""
    pipeline = member.lowered.frames
    return "" if pipeline is None else "\n" + frames.declarations(member, pipeline)


def _text(header: _Header) -> str:
    guard = f"{header.stem.upper()}_H"
    out = Emitter()
    out.block(header.head)
    out.lines((f"#ifndef {guard}", f"#define {guard}", ""))
    out.lines(f'#include "{path}"' for path in ("target_arch/runtime.h", *header.includes))
    for terminal in header.terminals:
        out.line()
        _macros(out, terminal)
        lent.macros(out, header.inputs, terminal)
        promises.macros(out, terminal)
    out.line()
    out.lines(("#ifdef __cplusplus", 'extern "C" {', "#endif"))
    if header.port:
        out.lines(("", "/* The port that this bundle carries. */"))
        out.line(f"extern const ta_port ta_port_{header.port};")
    out.block(header.functions)
    for terminal in header.terminals:
        if terminal.buffer.caller:
            continue
        said = header.words.input if terminal.kind == BufferKind.INPUT else header.words.output
        out.block(said.format(number=terminal.number, macro=terminal.macro))
        bound = terminal.tensor.bounded
        if bound is not None:
            out.block(_BOUNDED.format(axis=bound.axis, count=comment(bound.count)))
        out.line(f"{accessor(terminal)};")
    out.line()
    out.lines(("#ifdef __cplusplus", "}", "#endif", "", "#endif"))
    return out.text()


def accessor(terminal: Terminal) -> str:
    """The signature of its function."""
    return f"{lent.pointee(terminal)} *{terminal.function}(void)"


def _macros(out: Emitter, terminal: Terminal) -> None:
    tensor = terminal.tensor
    out.line(f"/* {terminal.kind} {terminal.number}: {comment(str(tensor))} */")
    out.line(f"#define {terminal.macro}_RANK {len(tensor.shape)}")
    if tensor.shape:
        out.line(f"#define {terminal.macro}_SHAPE {{{', '.join(map(str, tensor.shape))}}}")
    out.line(f"#define {terminal.macro}_ELEMENTS {terminal.elements}u")
    out.line(f"#define {terminal.macro}_BYTES {tensor.bytes}u")
    quantization = tensor.quantization
    if quantization is not None and len(quantization.scale) == 1:
        scale = quantization.scale[0]
        out.line("/* real = scale * (stored - zero point) */")
        out.line(f"#define {terminal.macro}_SCALE {float_literal(scale)}")
        out.line(f"#define {terminal.macro}_ZERO_POINT ({quantization.zero_point[0]})")
