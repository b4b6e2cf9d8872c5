"""The texts of the two programs for a machine without an operating system.

Frames, results and the profile are files of the emulating computer.
"""

from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.naming import bundle_symbol
from target_arch.emit.programs.buffers import run_call

PROFILE_HEAD = 3
"""Words of 64 bits in a profile before those of the steps: ticks of the last run, bytes of the stack used,
bytes it has."""

RUNNER_HEAD = """\
/* Runs {names} on frames: reads the bytes of every input from the file `frames` of the emulating computer
 * and writes the bytes of every output to `results`, until the frames end; then to `profile` what the last
 * run took. Returns the ta_status; 64 where a file cannot be read or written, or a frame is cut short."""

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
{count}&profile[{first}], {steps});
since = {port}_ticks();
status = {run};
profile[0] {add} {port}_ticks() - since;
{port}_count_steps((uint64_t *)0, 0);"""

CLEAR = """\
for (word = 0; word < sizeof profile / sizeof profile[0]; word++)
    profile[word] = 0;"""

_COMPARE = """
/* 1 where every element is near enough, or equal in every bit. */
static int compare(const char *name, const void *actual, const void *expected, uint32_t count, uint32_t size,
                   element_at at, double absolute, double relative)
{{
    uint32_t index, equal = 0, wrong = 0;
    for (index = 0; index < count; index++) {{
        const uint8_t *a = (const uint8_t *)actual + index * size;
        const uint8_t *b = (const uint8_t *)expected + index * size;
        if (memcmp(a, b, size) == 0)
            equal++;
        else if (!near(at(actual, index), at(expected, index), absolute, relative))
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

_FAILED = """
/* Says which step failed, -1 where none is to blame, and stops the model. */
static int failed(const char *what, ta_status status)
{{
    int32_t step = (int32_t){bundle}_runtime()->failed_step;
    {port}_say(what);
    {port}_say(": step ");
    {port}_say_number(step);
    {port}_say(": ");
    {port}_say(ta_status_name(status));
    {port}_say("\\n");
    (void){bundle}_stop();
    return {answer};
}}"""

_FAILED_OF_SEVERAL = """
/* Says which step of which model failed, -1 where none is to blame, and stops everything. */
static int failed(const char *what, ta_status status)
{{
    const ta_runtime *runtime = {bundle}_runtime();
    {port}_say(what);
    {port}_say(" ");
    {port}_say(runtime->bundle == NULL ? "-" : runtime->bundle->name);
    {port}_say(": step ");
    {port}_say_number((int32_t)runtime->failed_step);
    {port}_say(": ");
    {port}_say(ta_status_name(status));
    {port}_say("\\n");
    (void){bundle}_stop();
    return {answer};
}}"""


def bundles(inputs: EmitInputs) -> list[str]:
    """Declarations of the bundles whose steps are counted apart: those of several models."""
    if not inputs.several:
        return []
    return ["", *(f"extern const ta_bundle {bundle_symbol(member)};" for member in inputs.members)]


def profile(inputs: EmitInputs) -> str:
    """The profile of the steps of all models, and the function that writes it to its file."""
    steps = sum(len(member.lowered.steps.steps) for member in inputs.members)
    return _PROFILE.format(port=inputs.port.prefix, head=PROFILE_HEAD, steps=steps)


def counted_run(inputs: EmitInputs, member: Member) -> str:
    """The statements of one run that fill the model's part of the profile."""
    before = inputs.members[: inputs.members.index(member)]
    port = inputs.port.prefix
    one_of = f"{port}_count_steps_of(&{bundle_symbol(member)}, "
    return _COUNTED_RUN.format(
        port=port,
        count=one_of if inputs.several else f"{port}_count_steps(",
        first=PROFILE_HEAD + sum(len(each.lowered.steps.steps) for each in before),
        steps=len(member.lowered.steps.steps),
        run=run_call(member),
        add="+=" if inputs.several else "=",
    )


def compare(inputs: EmitInputs) -> str:
    """The function `compare` of a self-test."""
    return _COMPARE.format(port=inputs.port.prefix)


def failed(inputs: EmitInputs, answer: str) -> str:
    """The C function that reports a failure; `answer` is its callers' return value."""
    text = _FAILED_OF_SEVERAL if inputs.several else _FAILED
    return text.format(bundle=inputs.stem, port=inputs.port.prefix, answer=answer)
