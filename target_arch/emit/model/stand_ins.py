"""`src/<model>_stand_ins.c`: the commands of some devices in C, for their simulators.

Only bundles for the host port have it. A command's intermediate values and its constants, in the layout that
the C needs, are arrays of this file; they do not count in the memory plan.
"""

from collections.abc import Mapping, Sequence

from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.kernels import HEADERS, definition
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import c_type, literals
from target_arch.emit.text.names import comment, identifier
from target_arch.plan.kernels import CFunction, Kernel, Operand, StandIn
from target_arch.plan.model import Tensor


def stand_ins_source(inputs: EmitInputs) -> str:
    """The C text; a table without entries where no kernel has a stand-in."""
    found = [
        (member, identifier(inputs.qualified(member, partition)), kernel, kernel.stand_in)
        for member in inputs.members
        for partition, kernel in sorted(member.lowered.kernels.items())
        if kernel.stand_in is not None
    ]
    out = Emitter()
    out.line(f"/* The commands of `{comment(inputs.name)}` in C, for simulators that look them up. */")
    out.lines(f"#include <{header}>" for header in HEADERS)
    out.line()
    out.line('#include "ports/host/simulator.h"')
    functions = {function.name: function for *_, stand_in in found for function in stand_in.functions}
    for function in functions.values():
        out.line()
        out.block(definition(function))
    for member, name, kernel, stand_in in found:
        _Writer(member, name, kernel, stand_in, functions).write(out)
    out.line()
    if found:
        out.line("static const ta_stand_in entries[] = {")
        with out.indent():
            for _, name, _, stand_in in found:
                out.line(f"{{0x{stand_in.key:08x}u, {len(stand_in.operands)}, bytes_{name}, run_{name}}},")
        out.line("};")
    entries = f"entries, {len(found)}" if found else "NULL, 0"
    out.line(f"const ta_stand_ins ta_host_stand_ins = {{{entries}}};")
    return out.text()


class _Writer:
    """One stand-in: its constants, its own buffers, and the function that makes its calls."""

    def __init__(
        self,
        member: Member,
        name: str,
        kernel: Kernel,
        stand_in: StandIn,
        functions: Mapping[str, CFunction],
    ) -> None:
        self._name, self._stand_in, self._functions = name, stand_in, functions
        self._tensors = member.model.tensors
        self._packed = {tensor.name: tensor for tensor in stand_in.constants}
        self._sizes = {buffer.name: buffer.bytes for buffer in (*kernel.buffers, *stand_in.buffers)}
        self._sizes |= {tensor.name: tensor.bytes for tensor in kernel.constants}
        self._places = {name: f"p[{number}]" for number, name in enumerate(stand_in.operands)}

    def write(self, out: Emitter) -> None:
        for number, name in enumerate(self._inside()):
            self._places[name] = self._declare(out, number, name)
        sizes = (str(self._bytes(name)) for name in self._stand_in.operands)
        out.line()
        out.line(f"static const uint32_t bytes_{self._name}[] = {{{', '.join(sizes)}}};")
        out.line()
        out.line(f"static ta_status run_{self._name}(void *const *p)")
        out.line("{")
        with out.indent():
            for call in self._stand_in.calls:
                arguments = [self._place(operand) for operand in call.operands]
                self._call(out, self._functions[call.function], arguments)
            out.line("return TA_OK;")
        out.line("}")

    def _place(self, operand: Operand) -> str:
        """The address of what a call touches, which for a part of a tensor is behind its first byte."""
        place = self._places[operand.of]
        if operand.offset == 0:
            return place
        kind = "uint8_t" if operand.access.writes else "const uint8_t"
        return f"(({kind} *){place} + {operand.offset})"

    def _bytes(self, name: str) -> int:
        return self._tensors[name].bytes if name in self._tensors else self._sizes[name]

    def _inside(self) -> Sequence[str]:
        """The tensors and buffers that the calls touch and that are no operands of the command."""
        names = (operand.of for call in self._stand_in.calls for operand in call.operands)
        return tuple(dict.fromkeys(name for name in names if name not in self._places))

    def _declare(self, out: Emitter, number: int, name: str) -> str:
        tensor: Tensor | None = self._packed.get(name) or self._tensors.get(name)
        symbol = f"{self._name}_{number}"
        out.line()
        if tensor is not None and tensor.data is not None:
            written = literals(tensor)
            out.line(f"static const {written.c_type} {symbol}[] = {{ /* {comment(str(tensor))} */")
            with out.indent():
                out.wrapped(written.items)
            out.line("};")
            return symbol
        if tensor is not None:
            kind, size = c_type(tensor.dtype), tensor.bytes
            out.line(f"static {kind} {symbol}[{size} / sizeof({kind})]; /* {comment(str(tensor))} */")
        else:
            out.line(f"static uint8_t {symbol}[{self._sizes[name]}] TA_ALIGNED(16); /* {comment(name)} */")
        return symbol

    def _call(self, out: Emitter, function: CFunction, arguments: Sequence[str]) -> None:
        pairs = zip(function.parameters, arguments, strict=True)
        call = f"{function.name}({', '.join(f'({kind}){argument}' for kind, argument in pairs)})"
        if function.fails:
            out.lines((f"if ({call} != 0)", "    return TA_ERROR_DEVICE;"))
        else:
            out.line(f"{call};")
