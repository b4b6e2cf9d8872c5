"""`include/<model>.h` and `src/<model>.c`: the model as its user sees it, typed."""

from collections.abc import Mapping

from attrs import frozen

from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.steps import abi_guard, bundle_symbol
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import c_type
from target_arch.emit.text.names import comment, identifier, identifiers
from target_arch.plan.memory import BufferKind
from target_arch.plan.model import DTYPE_BYTES, Tensor

_HEAD = """\
/* The model `{name}` on {soc}.
 *
 * There is one of it per program: inputs, outputs and everything between lie in static memory. Calls come
 * from one thread at a time and not from interrupts. Statuses are those of target_arch/abi.h.
 */"""

_LIFECYCLE = """
/* Bring the system up: open `port`, load and start every instance the model uses. Blocks until all run.
 * The port stays the caller's until stop. On failure nothing is left running; see ta_init. */
ta_status {model}_init(const ta_port *port);

/* Execute the model once on what the inputs hold. Blocks until the outputs are there. May overwrite the
 * inputs. On failure the outputs are undefined and the runtime's `failed_step` tells where; see ta_run. */
ta_status {model}_run(void);

/* Stop every instance and close the port; see ta_stop. init works again. */
ta_status {model}_stop(void);

/* The model's runtime, for its `failed_step`, `run_us` and `timeout_us`. Never NULL. */
ta_runtime *{model}_runtime(void);"""

_INPUT = """
/* Where input {number} goes, {macro}_ELEMENTS elements. Write it before every
 * run: a run may use the bytes for something else, and writing may overwrite the last run's outputs. */"""

_OUTPUT = """
/* Output {number}, {macro}_ELEMENTS elements.
 * Valid from a run that returned TA_OK until an input is written. */"""


@frozen(kw_only=True)
class Prose:
    """What a header says and declares: its head, the model's functions, each input, each output."""

    head: str
    functions: str
    input: str
    output: str


@frozen(kw_only=True)
class Terminal:
    """A model input or output: its C function, how its macros start, and its number among its like."""

    function: str
    macro: str
    kind: BufferKind
    number: int
    tensor: Tensor

    @property
    def elements(self) -> int:
        return self.tensor.bytes // DTYPE_BYTES[self.tensor.dtype]

    @property
    def c_type(self) -> str:
        return c_type(self.tensor.dtype)


def terminals(inputs: EmitInputs) -> tuple[Terminal, ...]:
    """All inputs, then all outputs, each in the model's order."""
    model = identifier(inputs.model.name)
    pairs = {BufferKind.INPUT: inputs.steps.inputs, BufferKind.OUTPUT: inputs.steps.outputs}
    return tuple(
        Terminal(
            function=f"{model}_{kind}_{name}",
            macro=f"{model}_{kind}_{name}".upper(),
            kind=kind,
            number=number,
            tensor=inputs.model.tensors[tensor],
        )
        for kind, held in pairs.items()
        for number, (tensor, name) in enumerate(identifiers(tensor for tensor, _ in held).items())
    )


def model_header(inputs: EmitInputs, prose: Prose | None = None) -> str:
    """The C text of the header."""
    prose = prose or Prose(head=_HEAD, functions=_LIFECYCLE, input=_INPUT, output=_OUTPUT)
    model = identifier(inputs.model.name)
    guard = f"{model.upper()}_H"
    out = Emitter()
    about = {"name": comment(inputs.model.name), "soc": inputs.soc.name, "bundle": inputs.stem}
    out.block(prose.head.format(**about))
    out.lines((f"#ifndef {guard}", f"#define {guard}", ""))
    out.line('#include "target_arch/runtime.h"')
    for terminal in terminals(inputs):
        out.line()
        _macros(out, terminal)
    out.line()
    out.lines(("#ifdef __cplusplus", 'extern "C" {', "#endif"))
    if inputs.whole is None:
        declare_port(out, inputs)
    out.block(prose.functions.format(model=model, bundle=inputs.stem))
    for terminal in terminals(inputs):
        said = prose.input if terminal.kind == BufferKind.INPUT else prose.output
        out.block(said.format(number=terminal.number, macro=terminal.macro))
        out.line(f"{_accessor(terminal)};")
    out.line()
    out.lines(("#ifdef __cplusplus", "}", "#endif", "", "#endif"))
    return out.text()


def declare_port(out: Emitter, inputs: EmitInputs) -> None:
    """The declaration of the port that the bundle carries."""
    out.lines(("", "/* The port that this bundle carries. */"))
    out.line(f"extern const ta_port ta_port_{inputs.port.name};")


def model_source(inputs: EmitInputs) -> str:
    """The C text of the source."""
    model = identifier(inputs.model.name)
    out = Emitter()
    out.line(f"/* The functions of {model}.h: the one runtime of this model, and its inputs and outputs. */")
    out.line(f"#include <{inputs.soc.name}_soc.h>")
    out.line(f"#include <{model}.h>")
    out.line()
    out.line(f'#include "{model}_internal.h"')
    out.line()
    abi_guard(out, inputs)
    out.line()
    out.line("static ta_runtime runtime;")
    calls = {
        f"ta_status {model}_init(const ta_port *port)": (
            f"return ta_init(&runtime, &{bundle_symbol(inputs)}, &{soc_symbol(inputs)}, port);"
        ),
        f"ta_status {model}_run(void)": "return ta_run(&runtime);",
        f"ta_status {model}_stop(void)": "return ta_stop(&runtime);",
        f"ta_runtime *{model}_runtime(void)": "return &runtime;",
    }
    define(out, {**calls, **accessors(inputs)})
    return out.text()


def accessors(inputs: EmitInputs) -> dict[str, str]:
    """The body of the function of each input and output, by its signature."""
    symbol = bundle_symbol(inputs)
    return {
        _accessor(terminal): (
            f"return ({_pointee(terminal)} *)ta_pointer(&{symbol}, "
            f"{symbol}.{terminal.kind}s[{terminal.number}].where);"
        )
        for terminal in terminals(inputs)
    }


def define(out: Emitter, functions: Mapping[str, str]) -> None:
    """Functions of one statement, by their signatures."""
    for signature, body in functions.items():
        out.line()
        out.line(signature)
        out.line("{")
        with out.indent():
            out.line(body)
        out.line("}")


def soc_symbol(inputs: EmitInputs) -> str:
    """The C name of the `ta_soc`."""
    return f"{inputs.soc.name}_soc"


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
        out.line(f"#define {terminal.macro}_SCALE {_decimal(scale)}f")
        out.line(f"#define {terminal.macro}_ZERO_POINT ({quantization.zero_point[0]})")


def _pointee(terminal: Terminal) -> str:
    return terminal.c_type if terminal.kind == BufferKind.INPUT else f"const {terminal.c_type}"


def _accessor(terminal: Terminal) -> str:
    return f"{_pointee(terminal)} *{terminal.function}(void)"


def _decimal(scale: float) -> str:
    """Nine digits carry a float32; C++ before 2017 has no hexadecimal ones."""
    text = f"{scale:.9g}"
    return text if set(text) & {".", "e"} else f"{text}.0"
