"""`include/<bundle>.h`, `src/<bundle>.c` and the files like them of every model in a bundle of several."""

from collections.abc import Sequence

from target_arch.emit.model.header import Prose, accessors, declare_port, define, soc_symbol
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.steps import abi_guard, bundle_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment, identifier
from target_arch.plan.model_pools import ModelPools, Sharing

_HEAD = """\
/* The models {names} on {soc}.
 *
 * There is one of each per program, and one runtime for all: one model runs at a time.
{arenas}
 * An instance that two models want different programs for gets them anew when the other one runs. Calls come
 * from one thread at a time and not from interrupts. Statuses are those of target_arch/abi.h.
 */"""

_SHARED = """\
 * They share their arenas: what a model's inputs and outputs hold is lost when another model runs, or when
 * an input of another one is written."""

_SEPARATE = """\
 * Their arenas are separate: what a model's inputs and outputs hold stays while others run."""

_LIFECYCLE = """
/* Bring the system up: open `port`, load and start every instance some model uses. Blocks until all run.
 * The port stays the caller's until stop. On failure nothing is left running; see ta_models_init. */
ta_status {bundle}_init(const ta_port *port);

/* Stop every instance and close the port; see ta_models_stop. init works again. */
ta_status {bundle}_stop(void);

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

_INPUTS = {
    True: """
/* Where input {number} goes, {macro}_ELEMENTS elements. Write it before every
 * run, when the last other model has run and its outputs are no longer needed: the bytes are those of all
 * models. */""",
    False: """
/* Where input {number} goes, {macro}_ELEMENTS elements. Write it before every
 * run: a run may use the bytes for something else, and writing may overwrite the last run's outputs. */""",
}

_OUTPUTS = {
    True: """
/* Output {number}, {macro}_ELEMENTS elements.
 * Valid from a run that returned TA_OK until an input of any model is written or another model runs. */""",
    False: """
/* Output {number}, {macro}_ELEMENTS elements.
 * Valid from a run that returned TA_OK until an input of this model is written; other models leave it. */""",
}


def models_header(whole: EmitInputs, members: Sequence[EmitInputs], pools: ModelPools) -> str:
    """The C text of the bundle's header."""
    guard = f"{whole.stem.upper()}_H"
    names = ", ".join(f"`{comment(member.model.name)}`" for member in members)
    out = Emitter()
    arenas = _SHARED if pools.arenas == Sharing.SHARED else _SEPARATE
    out.block(_HEAD.format(names=names, soc=whole.soc.name, arenas=arenas))
    out.lines((f"#ifndef {guard}", f"#define {guard}", "", '#include "target_arch/runtime.h"'))
    out.lines(f'#include "{identifier(member.model.name)}.h"' for member in members)
    out.lines(("", "#ifdef __cplusplus", 'extern "C" {', "#endif"))
    declare_port(out, whole)
    out.block(_LIFECYCLE.format(bundle=whole.stem))
    out.lines(("", "#ifdef __cplusplus", "}", "#endif", "", "#endif"))
    return out.text()


def models_source(whole: EmitInputs, members: Sequence[EmitInputs]) -> str:
    """The C text of the bundle's source."""
    bundle = whole.stem
    out = Emitter()
    out.line(f"/* The functions of {bundle}.h: the one runtime of all models. */")
    out.lines((f"#include <{whole.soc.name}_soc.h>", f"#include <{bundle}.h>", ""))
    out.lines((f'#include "{bundle}_internal.h"', ""))
    abi_guard(out, whole)
    out.lines(("", f"ta_models {bundle}_models;", "", "static const ta_bundle *const bundles[] = {"))
    with out.indent():
        out.lines(f"&{bundle_symbol(member)}," for member in members)
    out.line("};")
    models, soc = f"&{bundle}_models", soc_symbol(whole)
    start = f"return ta_models_init({models}, bundles, {len(members)}, &{soc}, port);"
    define(
        out,
        {
            f"ta_status {bundle}_init(const ta_port *port)": start,
            f"ta_status {bundle}_stop(void)": f"return ta_models_stop({models});",
            f"ta_runtime *{bundle}_runtime(void)": f"return {models}.runtime;",
        },
    )
    return out.text()


def member_prose(pools: ModelPools) -> Prose:
    """What the header of each model says."""
    shared = pools.arenas == Sharing.SHARED
    return Prose(head=_MEMBER_HEAD, functions=_RUN, input=_INPUTS[shared], output=_OUTPUTS[shared])


def member_source(inputs: EmitInputs, number: int) -> str:
    """The C text of the source of one model, by its number in the bundle."""
    model = identifier(inputs.model.name)
    out = Emitter()
    out.line(f"/* The functions of {model}.h. */")
    out.lines((f"#include <{inputs.soc.name}_soc.h>", f"#include <{model}.h>", ""))
    out.lines((f'#include "{inputs.stem}_internal.h"', ""))
    abi_guard(out, inputs)
    run = f"return ta_models_run(&{inputs.stem}_models, {number});"
    define(out, {f"ta_status {model}_run(void)": run, **accessors(inputs)})
    return out.text()
