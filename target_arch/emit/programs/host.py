"""The texts of the two programs for a computer: frames and results are its standard input and output."""

from target_arch.emit.model.inputs import EmitInputs
from target_arch.plan.constants_form import ConstantsForm

RUNNER_HEAD = """\
/* Runs {names} on frames: reads the bytes of every input from standard input and writes the bytes of
 * every output to standard output, until the input ends. Returns the ta_status; 64 where a frame is cut short
 * or cannot be written, 65 for a bad argument."""

COMPARE = """
/* 1 where every element is near enough, or equal in every bit. */
static int compare(const char *name, const void *actual, const void *expected, uint32_t count, uint32_t size,
                   element_at at, double absolute, double relative)
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
        if (!near(at(actual, index), at(expected, index), absolute, relative))
            wrong++;
        if (!(difference <= largest))
            largest = difference;
    }
    printf("%s %s: %lu of %lu bit-equal, largest difference %g, allowed %g", wrong ? "FAIL" : "pass", name,
           (unsigned long)equal, (unsigned long)count, largest, absolute);
    if (relative > 0.0)
        printf(" + %g of the magnitude", relative);
    printf("\\n");
    return wrong == 0;
}
"""

_ARGUMENTS = """
/* --lazy: devices do nothing before they are waited for. --jitter SEED: they take random time.{about} */
{declarations}static int arguments(int argc, char **argv)
{{
    int index;
    for (index = 1; index < argc; index++) {{
        if (strcmp(argv[index], "--lazy") == 0)
            {prefix}_set_lazy(1);
        else if (strcmp(argv[index], "--jitter") == 0 && index + 1 < argc)
            {prefix}_set_jitter((uint32_t)strtoul(argv[++index], NULL, 10));
{in_flight}        else {{
            fprintf(stderr, "usage: runner [--lazy] [--jitter SEED]{usage} < frames > results\\n");
            return 0;
        }}
    }}
    return 1;
}}
"""

_IN_FLIGHT = {
    "about": "\n * --in-flight: frames are submitted while others are at work.",
    "declarations": "static int in_flight;\n\n",
    "in_flight": """\
        else if (strcmp(argv[index], "--in-flight") == 0)
            in_flight = 1;
""",
    "usage": " [--in-flight]",
}

_FAILED = """
/* Says which step failed, -1 where none is to blame, and stops the model. */
static int failed(const char *what, ta_status status)
{{
    long step = (long)(int32_t){bundle}_runtime()->failed_step;
    fprintf(stderr, "%s: step %ld: %s\\n", what, step, ta_status_name(status));
{complaint}    (void){bundle}_stop();
    return {answer};
}}"""

_FAILED_OF_SEVERAL = """
/* Says which step of which model failed, -1 where none is to blame, and stops everything. */
static int failed(const char *what, ta_status status)
{{
    const ta_runtime *runtime = {bundle}_runtime();
    const char *model = runtime->bundle == NULL ? "-" : runtime->bundle->name;
    fprintf(stderr, "%s %s: step %ld: %s\\n", what, model, (long)(int32_t)runtime->failed_step,
            ta_status_name(status));
{complaint}    (void){bundle}_stop();
    return {answer};
}}"""


_DAMAGED = """\
    if ({damaged} != NULL)
        fprintf(stderr, "weights: `%s` is missing, truncated or altered\\n", {damaged});
"""


def arguments(inputs: EmitInputs) -> str:
    """The function that reads the arguments of a runner, where the port simulates."""
    texts = _IN_FLIGHT if inputs.has_frames else dict.fromkeys(_IN_FLIGHT, "")
    return _ARGUMENTS.format(prefix=inputs.port.prefix, **texts)


def failed(inputs: EmitInputs, answer: str) -> str:
    """The C function that reports a failure; `answer` is its callers' return value."""
    text = _FAILED_OF_SEVERAL if inputs.several else _FAILED
    return text.format(bundle=inputs.stem, answer=answer, complaint=_complaint(inputs))


def _complaint(inputs: EmitInputs) -> str:
    """Lines with details of a failure: of the port, where it has them, and of weights."""
    lines = ""
    if inputs.constants is not ConstantsForm.TEXT:
        lines = _DAMAGED.format(damaged=f"{inputs.stem}_damaged_weights()")
    if not inputs.port.hosted.complains:
        return lines
    said = f"{inputs.port.prefix}_complaint()"
    return lines + f'    if ({said}[0] != 0)\n        fprintf(stderr, "port: %s\\n", {said});\n'
