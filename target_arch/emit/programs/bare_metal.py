"""`src/runner.c` for a machine without an operating system, and the texts in which its self-test differs.

Frames, results and the profile are files of the emulating computer.
"""

from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.programs.frames import frame_functions
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment, identifier

PROFILE_HEAD = 3
"""Words of 64 bits in a profile before those of the steps: ticks of the last run, bytes of the stack used,
bytes it has."""

_HEAD = """\
/* Runs `{name}` on frames: reads the bytes of every input from the file `frames` of the emulating computer
 * and writes the bytes of every output to `results`, until the frames end; then to `profile` what the last
 * run took. Returns the ta_status; 64 where a file cannot be read or written, or a frame is cut short. */
#include <{model}.h>

{include}
"""

_PROFILE = """
/* As little-endian words of 64 bits: ticks of the run, bytes of the stack used, bytes it has, ticks of each
 * step. */
static uint64_t profile[{head} + {steps}];

static int write_profile(void)
{{
    int file = {port}_open("profile", 1);
    profile[1] = {port}_stack_used();
    profile[2] = {port}_stack_bytes();
    if (file < 0 || {port}_write(file, profile, sizeof profile) != (int32_t)sizeof profile)
        return 0;
    return {port}_close(file) == 0;
}}"""

_COUNTED_RUN = """\
{port}_count_steps(&profile[{head}], {steps});
since = {port}_ticks();
status = {model}_run();
profile[0] = {port}_ticks() - since;
{port}_count_steps((uint64_t *)0, 0);"""

COMPARE = """
typedef double (*element_at)(const void *values, uint32_t index);

/* 1 where no element differs by more than `tolerance`; a NaN passes only where the bits agree. */
static int compare(const char *name, const void *actual, const void *expected, uint32_t count, uint32_t size,
                   element_at at, double tolerance)
{{
    uint32_t index, equal = 0, wrong = 0;
    for (index = 0; index < count; index++) {{
        const uint8_t *a = (const uint8_t *)actual + index * size;
        const uint8_t *b = (const uint8_t *)expected + index * size;
        if (memcmp(a, b, size) == 0)
            equal++;
        else if (!(fabs(at(actual, index) - at(expected, index)) <= tolerance))
            wrong++;
    }}
    {port}_say(wrong ? "FAIL " : "pass ");
    {port}_say(name);
    {port}_say(": ");
    {port}_say_number((int32_t)equal);
    {port}_say(" of ");
    {port}_say_number((int32_t)count);
    {port}_say(" bit-equal\\n");
    return wrong == 0;
}}
"""

FAILED = """
/* Says which step failed, -1 where none is to blame, and stops the model. */
static int failed(const char *what, ta_status status)
{{
    int32_t step = (int32_t){model}_runtime()->failed_step;
    {port}_say(what);
    {port}_say(": step ");
    {port}_say_number(step);
    {port}_say(": ");
    {port}_say(ta_status_name(status));
    {port}_say("\\n");
    (void){model}_stop();
    return {answer};
}}"""

_MAIN = """
int main(void);
int main(void)
{{
    int frames = {port}_open("frames", 0), results = {port}_open("results", 1), frame;
    ta_status status = {model}_init(&ta_port_{table});
    if (status != TA_OK)
        return failed("init", status);
    if (frames < 0 || results < 0)
        return 64;
    while ((frame = read_frame(frames)) == 1) {{
        uint32_t word;
        uint64_t since;
        for (word = 0; word < sizeof profile / sizeof profile[0]; word++)
            profile[word] = 0;
        {port}_count_steps(&profile[{head}], {steps});
        since = {port}_ticks();
        status = {model}_run();
        profile[0] = {port}_ticks() - since;
        {port}_count_steps((uint64_t *)0, 0);
        if (status != TA_OK)
            return failed("run", status);
        if (!write_frame(results))
            return 64;
    }}
    status = {model}_stop();
    if (frame < 0 || {port}_close(results) != 0 || !write_profile())
        return 64;
    return (int)status;
}}"""


def machine_runner(inputs: EmitInputs) -> str:
    """The C text of the runner."""
    model, steps = identifier(inputs.model.name), len(inputs.steps.steps)
    name = comment(inputs.model.name)
    out = Emitter()
    out.block(_HEAD.format(name=name, model=model, include=inputs.port.include))
    out.block(profile(inputs, steps))
    out.block(FAILED.format(model=model, port=inputs.port.prefix, answer="(int)status"))
    frame_functions(out, inputs, "frame")
    names = {"model": model, "port": inputs.port.prefix, "table": inputs.port.name}
    out.block(_MAIN.format(**names, head=PROFILE_HEAD, steps=steps))
    return out.text()


def profile(inputs: EmitInputs, steps: int) -> str:
    """The profile of so many steps, and the function that writes it to its file."""
    return _PROFILE.format(port=inputs.port.prefix, head=PROFILE_HEAD, steps=steps)


def counted_run(inputs: EmitInputs) -> str:
    """The statements of one run that fill the profile."""
    model, steps = identifier(inputs.model.name), len(inputs.steps.steps)
    return _COUNTED_RUN.format(port=inputs.port.prefix, head=PROFILE_HEAD, steps=steps, model=model)
