"""`src/selftest.c` and `src/runner.c`: the two programs a bundle brings."""

from attrs import evolve

from target_arch.emit.emitter import Emitter
from target_arch.emit.inputs import EmitInputs, SelfTest
from target_arch.emit.literals import Literals, literals
from target_arch.emit.model_header import Terminal, terminals
from target_arch.emit.names import comment, identifier, string


def selftest_source(inputs: EmitInputs, test: SelfTest) -> str:
    """A program that runs the vector, prints a line per output, and returns 0 where all pass, 1 where one
    does not, 2 where the model did not run.
    """
    model = identifier(inputs.model.name)
    ins, outs = _split(inputs)
    expected = tuple(_vector(terminal, data) for terminal, data in zip(outs, test.outputs, strict=True))
    out = Emitter()
    out.line(
        f"/* Self-test of `{comment(inputs.model.name)}`: one input, and what {comment(test.reference)} makes of it. */"
    )
    out.lines(("#include <math.h>", "#include <stdio.h>", "#include <string.h>", "", f"#include <{model}.h>"))
    for terminal, data in zip(ins, test.inputs, strict=True):
        _array(out, f"input_{terminal.number}", _vector(terminal, data))
    for terminal, vector in zip(outs, expected, strict=True):
        _array(out, f"expected_{terminal.number}", vector)
    for dtype, element in sorted({terminal.tensor.dtype: terminal.c_type for terminal in outs}.items()):
        out.line()
        out.line(f"static double {dtype}_at(const void *values, uint32_t index)")
        out.line("{")
        with out.indent():
            out.line(f"{element} value;")
            out.line("memcpy(&value, (const uint8_t *)values + index * sizeof value, sizeof value);")
            out.line("return (double)value;")
        out.line("}")
    out.block(_COMPARE)
    out.line()
    out.line("int main(void)")
    out.line("{")
    with out.indent():
        out.line("int passed = 1;")
        _bring_up(out, inputs, model, "2")
        for terminal in ins:
            out.line(f"memcpy({terminal.function}(), input_{terminal.number}, {terminal.macro}_BYTES);")
        _run(out, model, "2")
        for terminal, tolerance in zip(outs, test.tolerances, strict=True):
            arguments = (
                string(terminal.tensor.name),
                f"{terminal.function}()",
                f"expected_{terminal.number}",
                f"{terminal.macro}_ELEMENTS",
                f"{terminal.macro}_BYTES / {terminal.macro}_ELEMENTS",
                f"{terminal.tensor.dtype}_at",
                repr(float(tolerance)),
            )
            out.line(f"passed &= compare({', '.join(arguments)});")
        out.line(f"status = {model}_stop();")
        out.line("return status != TA_OK ? 2 : passed ? 0 : 1;")
    out.line("}")
    return out.text()


def runner_source(inputs: EmitInputs) -> str:
    """A program that reads frames from its standard input until it ends, and writes the outputs of each."""
    model = identifier(inputs.model.name)
    ins, outs = _split(inputs)
    host = inputs.port == "host"
    out = Emitter()
    out.line(
        f"/* Runs `{comment(inputs.model.name)}` on frames: reads the bytes of every input from standard input, writes the"
    )
    out.line(
        " * bytes of every output to standard output, until the input ends. Returns the ta_status; 64 for a frame that"
    )
    out.line(" * is cut short or cannot be written, 65 for a bad argument." + (" */" if not host else ""))
    if host:
        out.line(
            " * --lazy: devices do nothing before they are waited for; --jitter SEED: they take random time. */"
        )
    out.lines(("#include <stdio.h>", *(("#include <stdlib.h>", "#include <string.h>") if host else ())))
    out.lines(("", f"#include <{model}.h>"))
    if host:
        out.lines(("", '#include "ports/host/host.h"'))
        out.block(_ARGUMENTS)
    out.line()
    out.line("/* 1: all read, 0: the end, -1: cut short. */")
    out.line("static int read_frame(void)")
    out.line("{")
    with out.indent():
        out.line("size_t got = 0;")
        for terminal in ins:
            out.line(f"got += fread({terminal.function}(), 1, {terminal.macro}_BYTES, stdin);")
        total = " + ".join(f"{terminal.macro}_BYTES" for terminal in ins)
        out.line(f"return got == {total} ? 1 : got == 0 ? 0 : -1;")
    out.line("}")
    out.line()
    out.line("static int write_frame(void)")
    out.line("{")
    with out.indent():
        out.line("size_t put = 0;")
        for terminal in outs:
            out.line(f"put += fwrite({terminal.function}(), 1, {terminal.macro}_BYTES, stdout);")
        out.line(f"return put == {' + '.join(f'{terminal.macro}_BYTES' for terminal in outs)};")
    out.line("}")
    out.line()
    out.line(f"int main({'int argc, char **argv' if host else 'void'})")
    out.line("{")
    with out.indent():
        out.line("int frame;")
        if host:
            out.lines(("if (!arguments(argc, argv))", "    return 65;"))
        _bring_up(out, inputs, model, "(int)status")
        out.line("while ((frame = read_frame()) == 1) {")
        with out.indent():
            _run(out, model, "(int)status")
            out.lines(("if (!write_frame())", "    return 64;"))
        out.line("}")
        out.line(f"status = {model}_stop();")
        out.line("return frame < 0 || fflush(stdout) != 0 ? 64 : (int)status;")
    out.line("}")
    return out.text()


def _split(inputs: EmitInputs) -> tuple[tuple[Terminal, ...], tuple[Terminal, ...]]:
    every = terminals(inputs)
    ins = tuple(terminal for terminal in every if terminal.kind == "input")
    return ins, every[len(ins) :]


def _vector(terminal: Terminal, data: bytes) -> Literals:
    return literals(evolve(terminal.tensor, data=data))


def _array(out: Emitter, name: str, vector: Literals) -> None:
    out.line()
    out.line(f"static const {vector.c_type} {name}[] = {{")
    with out.indent():
        out.wrapped(vector.items)
    out.line("};")


def _bring_up(out: Emitter, inputs: EmitInputs, model: str, answer: str) -> None:
    out.line(f"ta_status status = {model}_init(&ta_port_{inputs.port});")
    _fail(out, model, "init", answer)


def _run(out: Emitter, model: str, answer: str) -> None:
    out.line(f"status = {model}_run();")
    _fail(out, model, "run", answer)


def _fail(out: Emitter, model: str, what: str, answer: str) -> None:
    """Say which step failed; a step number of -1 says that none is to blame."""
    out.line("if (status != TA_OK) {")
    with out.indent():
        out.line(f'fprintf(stderr, "{what}: step %ld: %s\\n", (long)(int32_t){model}_runtime()->failed_step,')
        out.line("        ta_status_name(status));")
        out.line(f"(void){model}_stop();")
        out.line(f"return {answer};")
    out.line("}")


_COMPARE = """
typedef double (*element_at)(const void *values, uint32_t index);

/* 1 where no element differs by more than `tolerance`; a NaN passes only where the bits agree. */
static int compare(const char *name, const void *actual, const void *expected, uint32_t count, uint32_t size,
                   element_at at, double tolerance)
{
    uint32_t index, equal = 0, wrong = 0;
    double largest = 0.0;
    for (index = 0; index < count; index++) {
        const uint8_t *a = (const uint8_t *)actual + index * size;
        const uint8_t *b = (const uint8_t *)expected + index * size;
        double difference = fabs(at(actual, index) - at(expected, index));
        if (memcmp(a, b, size) == 0) {
            equal++;
            continue;
        }
        if (!(difference <= tolerance))
            wrong++;
        if (difference > largest)
            largest = difference;
    }
    printf("%s %s: %lu of %lu bit-equal, largest difference %g, allowed %g\\n", wrong ? "FAIL" : "pass", name,
           (unsigned long)equal, (unsigned long)count, largest, tolerance);
    return wrong == 0;
}
"""

_ARGUMENTS = """
static int arguments(int argc, char **argv)
{
    int index;
    for (index = 1; index < argc; index++) {
        if (strcmp(argv[index], "--lazy") == 0)
            ta_host_set_lazy(1);
        else if (strcmp(argv[index], "--jitter") == 0 && index + 1 < argc)
            ta_host_set_jitter((uint32_t)strtoul(argv[++index], NULL, 10));
        else {
            fprintf(stderr, "usage: runner [--lazy] [--jitter SEED] < frames > results\\n");
            return 0;
        }
    }
    return 1;
}
"""
