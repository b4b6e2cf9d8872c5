"""`src/selftest.c` and `src/runner.c`: the two programs a bundle brings."""

from attrs import evolve

from target_arch.emit.model.header import Terminal
from target_arch.emit.model.inputs import EmitInputs, SelfTest
from target_arch.emit.programs import bare_metal as machine_programs
from target_arch.emit.programs.frames import frame_functions, split
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import Literals, literals
from target_arch.emit.text.names import comment, identifier, string

_SELFTEST_HEAD = """\
/* Self-test of `{name}`: one input, and what the reference makes of it.
 * Reference: {reference}.
 * Returns 0 where every output passes, 1 where one does not, 2 where the model did not run. */
#include <math.h>
{stdio}#include <string.h>

#include <{model}.h>"""

_RUNNER_HEAD = """\
/* Runs `{name}` on frames: reads the bytes of every input from standard input and writes the bytes of
 * every output to standard output, until the input ends. Returns the ta_status; 64 where a frame is cut short
 * or cannot be written, 65 for a bad argument. */
#include <stdio.h>"""

ELEMENT_AT = """
static double {dtype}_at(const void *values, uint32_t index)
{{
    {c_type} value;
    memcpy(&value, (const uint8_t *)values + index * sizeof value, sizeof value);
    return (double)value;
}}"""

COMPARE = """
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
        if (!(difference <= largest))
            largest = difference;
    }
    printf("%s %s: %lu of %lu bit-equal, largest difference %g, allowed %g\\n", wrong ? "FAIL" : "pass", name,
           (unsigned long)equal, (unsigned long)count, largest, tolerance);
    return wrong == 0;
}
"""

ARGUMENTS = """
/* --lazy: devices do nothing before they are waited for. --jitter SEED: they take random time. */
static int arguments(int argc, char **argv)
{{
    int index;
    for (index = 1; index < argc; index++) {{
        if (strcmp(argv[index], "--lazy") == 0)
            {prefix}_set_lazy(1);
        else if (strcmp(argv[index], "--jitter") == 0 && index + 1 < argc)
            {prefix}_set_jitter((uint32_t)strtoul(argv[++index], NULL, 10));
        else {{
            fprintf(stderr, "usage: runner [--lazy] [--jitter SEED] < frames > results\\n");
            return 0;
        }}
    }}
    return 1;
}}
"""

_LOOP = """\
while ((frame = read_frame()) == 1) {{
    status = {model}_run();
    if (status != TA_OK)
        return failed("run", status);
    if (!write_frame())
        return 64;
}}
status = {model}_stop();
return frame < 0 || fflush(stdout) != 0 ? 64 : (int)status;"""

_FAILED = """
/* Says which step failed, -1 where none is to blame, and stops the model. */
static int failed(const char *what, ta_status status)
{{
    long step = (long)(int32_t){model}_runtime()->failed_step;
    fprintf(stderr, "%s: step %ld: %s\\n", what, step, ta_status_name(status));
{complaint}    (void){model}_stop();
    return {answer};
}}"""


def selftest_source(inputs: EmitInputs, test: SelfTest) -> str:
    """A program that runs the vector and prints a line per output."""
    model = identifier(inputs.model.name)
    ins, outs = split(inputs)
    machine = inputs.port.bare_metal is not None
    out = Emitter()
    name, reference = comment(inputs.model.name), comment(test.reference)
    stdio = "" if machine else "#include <stdio.h>\n"
    out.block(_SELFTEST_HEAD.format(name=name, reference=reference, model=model, stdio=stdio))
    if inputs.port.hosted.complains:
        out.lines(("", inputs.port.include))
    if machine:
        out.lines(("", inputs.port.include))
        out.block(machine_programs.profile(inputs, len(inputs.steps.steps)))
    for terminal, data in zip(ins, test.inputs, strict=True):
        write_array(out, f"input_{terminal.number}", terminal, data)
    for terminal, data in zip(outs, test.outputs, strict=True):
        write_array(out, f"expected_{terminal.number}", terminal, data)
    for dtype, c_type in sorted({terminal.tensor.dtype: terminal.c_type for terminal in outs}.items()):
        out.block(ELEMENT_AT.format(dtype=dtype, c_type=c_type))
    out.block(comparison(inputs))
    out.block(
        (machine_programs.FAILED if machine else _FAILED).format(
            model=model, port=inputs.port.prefix, answer="2", complaint=complaint(inputs)
        )
    )
    out.lines(("", *(["int main(void);"] if machine else []), "int main(void)", "{"))
    with out.indent():
        _selftest_main(out, inputs, test)
    out.line("}")
    return out.text()


def _selftest_main(out: Emitter, inputs: EmitInputs, test: SelfTest) -> None:
    model, machine = identifier(inputs.model.name), inputs.port.bare_metal is not None
    ins, outs = split(inputs)
    out.line("int passed = 1;")
    out.lines(["uint64_t since;"] if machine else [])
    out.line(f"ta_status status = {model}_init(&ta_port_{inputs.port.name});")
    out.lines(("if (status != TA_OK)", '    return failed("init", status);'))
    for terminal in ins:
        out.line(f"memcpy({terminal.function}(), input_{terminal.number}, {terminal.macro}_BYTES);")
    run = machine_programs.counted_run(inputs) if machine else f"status = {model}_run();"
    out.lines(run.split("\n"))
    out.lines(("if (status != TA_OK)", '    return failed("run", status);'))
    for terminal, tolerance in zip(outs, test.tolerances, strict=True):
        write_comparison(out, terminal, terminal.tensor.name, f"expected_{terminal.number}", tolerance)
    out.line(f"status = {model}_stop();")
    out.lines(("if (status != TA_OK)", '    return failed("stop", status);'))
    if machine:
        out.lines(("if (!write_profile())", "    return 2;"))
    out.line("return passed ? 0 : 1;")


def runner_source(inputs: EmitInputs) -> str:
    """A program that reads frames from its standard input until it ends, and writes the outputs of each."""
    if inputs.port.bare_metal is not None:
        return machine_programs.machine_runner(inputs)
    model = identifier(inputs.model.name)
    host = inputs.port.hosted.simulates
    out = Emitter()
    out.block(_RUNNER_HEAD.format(name=comment(inputs.model.name)))
    if host:
        out.lines(("#include <stdlib.h>", "#include <string.h>"))
    out.lines(("", f"#include <{model}.h>"))
    if host or inputs.port.hosted.complains:
        out.lines(("", inputs.port.include))
    if host:
        out.block(ARGUMENTS.format(prefix=inputs.port.prefix))
    out.block(_FAILED.format(model=model, answer="(int)status", complaint=complaint(inputs)))
    frame_functions(out, inputs, "frame")
    out.lines(("", f"int main({'int argc, char **argv' if host else 'void'})", "{"))
    with out.indent():
        out.lines(("int frame;", "ta_status status;"))
        if host:
            out.lines(("if (!arguments(argc, argv))", "    return 65;"))
        out.line(f"status = {model}_init(&ta_port_{inputs.port.name});")
        out.lines(("if (status != TA_OK)", '    return failed("init", status);'))
        out.lines(_LOOP.format(model=model).split("\n"))
    out.line("}")
    return out.text()


def complaint(inputs: EmitInputs) -> str:
    """A line that says more about a failure, where the port can."""
    if not inputs.port.hosted.complains:
        return ""
    said = f"{inputs.port.prefix}_complaint()"
    return f'    if ({said}[0] != 0)\n        fprintf(stderr, "port: %s\\n", {said});\n'


def comparison(inputs: EmitInputs) -> str:
    """The function `compare` of a self-test."""
    if inputs.port.bare_metal is None:
        return COMPARE
    return machine_programs.COMPARE.format(port=inputs.port.prefix)


def write_array(out: Emitter, name: str, terminal: Terminal, data: bytes) -> None:
    """A static const array of the bytes of one input or output."""
    vector: Literals = literals(evolve(terminal.tensor, data=data))
    out.line()
    out.line(f"static const {vector.c_type} {name}[] = {{")
    with out.indent():
        out.wrapped(vector.items)
    out.line("};")


def write_comparison(out: Emitter, terminal: Terminal, label: str, expected: str, tolerance: float) -> None:
    """The call that compares one output with the array `expected`."""
    macro = terminal.macro
    size = f"{macro}_BYTES / {macro}_ELEMENTS"
    out.line(f"passed &= compare({string(label)}, {terminal.function}(), {expected},")
    out.line(f"                  {macro}_ELEMENTS, {size},")
    out.line(f"                  {terminal.tensor.dtype}_at, {float(tolerance)!r});")
