"""The table of `runtime_c/programs/kernel_timer.c`: a program that measures one kernel."""

from collections.abc import Mapping, Sequence

from attrs import frozen

from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.listing import Listing
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import C_TYPES
from target_arch.soc.rounding import ceil_div

TIMED_KERNEL = "timed_kernel.h"


@frozen(kw_only=True)
class Argument:
    """A parameter of a kernel: its element type, how many elements, and their values where they matter."""

    dtype: str
    count: int
    values: tuple[int, ...] = ()


def timed_kernel(
    function: CFunction, arguments: Sequence[Argument], scratch: Sequence[int], rounds: int
) -> str:
    """The C text. The last argument is the result, scratch parameters come after it."""
    out = Emitter()
    out.lines(f'#include "{header}"' for header in function.headers)
    out.block(function.text)
    names = [f"a{number}" for number in range(len(arguments))]
    for name, each in zip(names, arguments, strict=True):
        out.line(f"static {C_TYPES[each.dtype]} {name}[{each.count}];")
        if each.values:
            out.line(f"static const {C_TYPES[each.dtype]} given_{name}[{each.count}] = {{")
            with out.indent():
                out.wrapped(Listing.of(map(str, each.values)))
            out.line("};")
    for number, size in enumerate(scratch):
        out.line(f"static int64_t s{number}[{ceil_div(size, 8)}];")
    every = [*names, *(f"(void *)s{number}" for number in range(len(scratch)))]
    out.lines(("", f"#define ROUNDS {rounds}", f"#define RESULT {names[-1]}", ""))
    out.line("/* Through a pointer that may change: nothing is known of its operands, as in a bundle. */")
    out.line(f"static void (*volatile kernel)({', '.join(function.parameters)}) = {function.name};")
    out.line(f"static void call(void) {{ kernel({', '.join(every)}); }}")
    _fill(out, dict(zip(names[:-1], arguments[:-1], strict=True)))
    return out.text()


def _fill(out: Emitter, operands: Mapping[str, Argument]) -> None:
    """The function that gives operands their values."""
    out.lines(("", "static void fill(void)", "{"))
    with out.indent():
        out.line("uint32_t state = 12345u;")
        for name, operand in operands.items():
            if operand.values:
                out.line(f"memcpy({name}, given_{name}, sizeof {name});")
            else:
                out.line(f"{'FILL_SUMS' if operand.dtype == 'int32' else 'FILL'}({name});")
        out.line("(void)state;")
    out.line("}")
