"""`src/<model>_<arch>_module.c`: the kernels of a target_arch whose device has a compiler of its own.

The image that its load step hands to the port is CUDA C, also written to `<model>_<arch>_module.cu` for
readers. What the step table calls is a launch. Only the port `cuda` takes these files; the others carry the
C functions that stand for the kernels.
"""

import zlib

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.emitter import Emitter
from target_arch.emit.inputs import EmitInputs
from target_arch.emit.kernels import Kernels, entry, kernels
from target_arch.emit.names import comment

PORT = "cuda"

_PRELUDE = """\
/* Kernels of `{model}` for {arch}. Compiled when the module is loaded, by a compiler without headers. */
#define int64_t long long
#define uint64_t unsigned long long
#define uint unsigned int
#define ushort unsigned short
#define uchar unsigned char
"""


def modules(inputs: EmitInputs) -> tuple[Kernels, ...]:
    """The target_archs of a bundle whose kernels are a module, by name. DiagnosticError where the port runs
    modules only, and another target_arch than the host has something else.
    """
    if inputs.port != PORT:
        return ()
    found = tuple(of for of in kernels(inputs) if all(each.device for each in of.functions))
    names = {of.arch for of in found}
    for partition in inputs.graph.partitions:
        arch = inputs.soc.instance(partition.instance).arch
        if not arch.host and arch.name not in names:
            message = f"port `{PORT}` has the host and CUDA devices, `{partition.id}` is on `{arch.name}`"
            hint = f"plan without it: `--forbid '*={arch.name}'`, or take another port"
            place = "command line"
            raise DiagnosticError([Diagnostic(rule="no-module", place=place, message=message, hint=hint)])
    return found


def module_text(inputs: EmitInputs, of: Kernels) -> str:
    """The CUDA C of a target_arch."""
    out = Emitter()
    out.block(_PRELUDE.format(model=comment(inputs.model.name), arch=of.arch))
    for function in of.functions:
        if function.name in of.called and function.device is not None:
            out.line()
            out.block(function.device.text)
    return out.text()


def module_source(inputs: EmitInputs, of: Kernels) -> str:
    """The C text: the image, and a launch for each kernel that a step calls."""
    model = inputs.stem
    out = Emitter()
    out.line(f"/* `{model}_{of.arch}_module.cu` as an image, and how its kernels are launched. */")
    out.lines((f'#include "{model}_internal.h"', '#include "ports/cuda/cuda.h"', ""))
    out.line(f"const uint8_t {declaration(inputs, of)} = {{")
    with out.indent():
        out.wrapped(str(byte) for byte in _image(inputs, of))
    out.line("};")
    for function in of.functions:
        if function.name not in of.called or function.device is None:
            continue
        shape = f"{function.device.blocks}u, {function.device.threads}u"
        out.line()
        out.line(f"ta_status {entry(inputs, of.arch, function.name)}(void *const *p)")
        out.line("{")
        with out.indent():
            out.line(f'return ta_cuda_launch("{function.name}", {shape}, p, {len(function.parameters)}u);')
        out.line("}")
    return out.text()


def declaration(inputs: EmitInputs, of: Kernels) -> str:
    """Name and length of the array that holds the image."""
    return f"{_symbol(inputs, of.arch)}[{len(_image(inputs, of))}]"


def image_fields(inputs: EmitInputs, arch: str) -> str | None:
    """The image in a row of the table of loads; None where the target_arch has no module."""
    for of in modules(inputs):
        if of.arch == arch:
            image = _image(inputs, of)
            return f"{_symbol(inputs, arch)}, {len(image)}u, 0x{zlib.crc32(image):08x}u"
    return None


def _symbol(inputs: EmitInputs, arch: str) -> str:
    return f"{inputs.stem}_{arch}_module"


def _image(inputs: EmitInputs, of: Kernels) -> bytes:
    """The text with the zero at its end that C strings have."""
    return module_text(inputs, of).encode() + b"\0"
