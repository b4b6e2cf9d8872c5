"""A C program that measures one kernel: seconds of a call, and a hash of its results.

The program stands alone and prints both. The same text built as a shared object offers them to TVM's RPC
server, as functions of its C calling convention: so a server needs nothing but TVM, or its C++ runtime.
"""

from collections.abc import Sequence

from attrs import frozen

from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.listing import Listing
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import C_TYPES
from target_arch.soc.rounding import ceil_div

_HEAD = """\
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
"""

_MEASURE = """\
static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of processor time of one call: the least of `rounds`, each long enough for the clock. */
static double seconds(int rounds)
{
    double best = 1e30;
    long calls = 1;
    for (int round = 0; round < rounds; round++) {
        double each;
        for (;;) {
            const double start = now();
            for (long i = 0; i < calls; i++)
                call();
            each = now() - start;
            if (each >= 2e-3 || calls >= 1000000)
                break;
            calls *= 2;
        }
        each /= (double)calls;
        best = each < best ? each : best;
    }
    return best;
}

static int64_t hash(void)
{
    const unsigned char *bytes = (const unsigned char *)RESULT;
    uint64_t found = 0xcbf29ce484222325u;
    call();
    for (size_t i = 0; i < sizeof RESULT; i++)
        found = (found ^ bytes[i]) * 0x100000001b3u;
    return (int64_t)(found >> 1);
}

/* TVM's calling convention: a tagged value of 16 bytes; tag 1 is an integer, 3 a float. */
typedef struct {
    int32_t tag;
    uint32_t zero;
    union {
        int64_t integer;
        double real;
    } value;
} any;

int __tvm_ffi_seconds(void *self, const any *arguments, int32_t count, any *result)
{
    (void)self;
    if (count != 1 || arguments[0].tag != 1)
        return -1;
    fill();
    result->tag = 3;
    result->zero = 0;
    result->value.real = seconds((int)arguments[0].value.integer);
    return 0;
}

static int answer(any *result, int64_t value)
{
    result->tag = 1;
    result->zero = 0;
    result->value.integer = value;
    return 0;
}

int __tvm_ffi_hash(void *self, const any *arguments, int32_t count, any *result)
{
    (void)self;
    (void)arguments;
    (void)count;
    fill();
    return answer(result, hash());
}

/* The process that started this one: a server starts a process per session. */
int __tvm_ffi_server(void *self, const any *arguments, int32_t count, any *result)
{
    (void)self;
    (void)arguments;
    (void)count;
    return answer(result, (int64_t)getppid());
}

int main(void)
{
    fill();
    printf("%lld %.9e\\n", (long long)hash(), seconds(ROUNDS));
    return 0;
}"""


@frozen(kw_only=True)
class Argument:
    """A parameter of a kernel: its element type, how many elements, and their values where they matter."""

    dtype: str
    count: int
    values: tuple[int, ...] = ()


def harness(function: CFunction, arguments: Sequence[Argument], scratch: Sequence[int], rounds: int) -> str:
    """The program. The last argument is the result, scratch parameters come after it."""
    out = Emitter()
    out.block(_HEAD)
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
    out.line()
    _fill(out, names[:-1], arguments[:-1])
    out.block(_MEASURE)
    return out.text()


def _fill(out: Emitter, names: Sequence[str], arguments: Sequence[Argument]) -> None:
    """Pseudo-random bytes, and sums of biases small enough to overflow nothing."""
    out.lines(("static void fill(void)", "{"))
    with out.indent():
        out.line("uint32_t state = 12345u;")
        for name, each in zip(names, arguments, strict=True):
            if each.values:
                out.line(f"memcpy({name}, given_{name}, sizeof {name});")
                continue
            value = "(int32_t)(state >> 20) - 2048" if each.dtype == "int32" else "(state >> 24) & 0xffu"
            out.line(f"for (size_t i = 0; i < {each.count}; i++) {{")
            with out.indent():
                out.line("state = state * 1664525u + 1013904223u;")
                out.line(f"{name}[i] = ({C_TYPES[each.dtype]})({value});")
            out.line("}")
        out.line("(void)state;")
    out.lines(("}", ""))
