"""`src/<model>_<arch>_module.c`: the kernels of a target_arch whose device has a compiler of its own.

The image that its load step hands to the port is CUDA C, also written to `<model>_<arch>_module.cu` for
readers. The step table calls a launch. Only bundles for ports that take modules have these files; other
bundles have C functions in place of these kernels.
"""

import zlib

from attrs import field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, Entries, Hint, Keyword, advice
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.kernels import Kernels, entry, kernels
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.listing import Listing
from target_arch.emit.text.names import comment

PROCESS = "module"
"""The load process of a target_arch whose kernels are a module."""

_PRELUDE = """\
/* Kernels of `{model}` for {arch}. Compiled when the module is loaded, by a compiler without headers. */
#define int64_t long long
#define uint64_t unsigned long long
#define uint unsigned int
#define ushort unsigned short
#define uchar unsigned char
"""


@frozen(kw_only=True)
class Module:
    """The kernels of a target_arch as its device takes them: `text` is CUDA C, `symbol` the array that holds
    it.
    """

    kernels: Kernels
    symbol: str
    text: str = field(repr=False)

    @property
    def image(self) -> bytes:
        """The text with the zero at its end that C strings have."""
        return self.text.encode() + b"\0"

    @property
    def declaration(self) -> str:
        """Name and length of the array that holds the image."""
        return f"{self.symbol}[{len(self.image)}]"


def modules(inputs: EmitInputs) -> tuple[Module, ...]:
    """The modules of a bundle by target_arch. DiagnosticError where the port runs modules only, and another
    target_arch than the host has something else.
    """
    if not inputs.port.hosted.modules:
        return ()
    found = tuple(of for of in kernels(inputs) if all(each.device for each in of.functions))
    names = {of.arch for of in found}
    for id, partition in inputs.partitions.items():
        arch = inputs.soc.instance(partition.instance).arch
        if not arch.host and arch.name not in names:
            has = f"port `{inputs.port.name}` has the host and devices that take modules"
            message = f"{has}, `{id}` is on `{arch.name}`"
            without = Keyword("forbid", Entries((("*", arch.name),)))
            raise _refused(inputs, message, advice("plan without it: ", without, ", or take another port"))
    for of in found:
        _require_process(inputs, of.arch)
    return tuple(
        Module(kernels=of, symbol=f"{inputs.stem}_{of.arch}_module", text=_text(inputs, of)) for of in found
    )


def _require_process(inputs: EmitInputs, arch: str) -> None:
    """DiagnosticError where a target_arch gets its kernels as a module but has another load process."""
    process = inputs.soc.arch(arch).load.process
    if process != PROCESS:
        message = f"`{arch}` gets its kernels as a module, its load process is `{process}`"
        raise _refused(inputs, message, f'write `load = "{PROCESS}"` in the SoC file')


def _refused(inputs: EmitInputs, message: str, hint: Hint) -> DiagnosticError:
    place = f"port {inputs.port.name}"
    return DiagnosticError([Diagnostic(rule="no-module", place=place, message=message, hint=hint)])


def _text(inputs: EmitInputs, of: Kernels) -> str:
    out = Emitter()
    out.block(_PRELUDE.format(model=comment(inputs.name), arch=of.arch))
    for function in of.functions:
        if function.name in of.called and function.device is not None:
            out.line()
            out.block(function.device.text)
    return out.text()


def module_source(inputs: EmitInputs, module: Module) -> str:
    """The C text: the image, and a launch for each kernel that a step calls."""
    of = module.kernels
    out = Emitter()
    out.line(f"/* `{module.symbol}.cu` as an image, and how its kernels are launched. */")
    out.lines((f'#include "{inputs.stem}_internal.h"', inputs.port.include, ""))
    out.line(f"const uint8_t {module.declaration} = {{")
    with out.indent():
        out.wrapped(Listing.of(map(str, module.image)))
    out.line("};")
    for function in of.functions:
        if function.name not in of.called or function.device is None:
            continue
        shape = f"{function.device.blocks}u, {function.device.threads}u"
        out.line()
        out.line(f"ta_status {entry(inputs, of.arch, function.name)}(void *const *p)")
        out.line("{")
        with out.indent():
            count = f"{len(function.parameters)}u"
            out.line(f'return {inputs.port.prefix}_launch("{function.name}", {shape}, p, {count});')
        out.line("}")
    return out.text()


def image_fields(inputs: EmitInputs, arch: str) -> str | None:
    """The image in a row of the table of loads; None where the target_arch has no module."""
    for module in modules(inputs):
        if module.kernels.arch == arch:
            image = module.image
            return f"{module.symbol}, {len(image)}u, 0x{zlib.crc32(image):08x}u"
    return None
