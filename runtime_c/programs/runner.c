/* Runs the models of a bundle on frames, until they end. A frame is the bytes of every input of every model, which run
 * in turn; for each the bytes of every output are written. Frames and results are standard input and output of a
 * computer. A machine without an operating system has the files `frames` and `results` of the computer that emulates
 * it, and at the end writes the file `profile`: what the last frame took.
 *
 * Returns the ta_status; 64 where a file cannot be read or written, or a frame is cut short, 65 for a bad argument.
 */
#include "program_table.h"
#include "programs/turns.h"

static int frames, results;

/* Whether there is another frame for a first model without inputs: one, or as many as others have inputs for. */
static int is_another(void)
{
    static int left = 1;
#ifdef TA_PROGRAM_HOSTED
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < TA_PROGRAM_MODELS; i++)
        inputs += ta_program_bundles[i]->input_count;
    if (inputs > 0u) {
        const int next = getc(stdin);
        return ungetc(next, stdin) != EOF;
    }
#endif
    return left-- > 0;
}

/* 1: all inputs of a model were read, 0: the end, -1: cut short. */
static int read_inputs(uint32_t model, void *const *memory)
{
    const ta_bundle *bundle = ta_program_bundles[model];
    int64_t bytes = 0, count = 0;
    if (bundle->input_count == 0u)
        return model == 0u ? is_another() : 1;
    for (uint32_t i = 0; i < bundle->input_count; i++) {
        bytes += (int64_t)bundle->inputs[i].bytes;
        count += ta_read(frames, ta_place(bundle, memory, i), bundle->inputs[i].bytes);
    }
    return count == bytes ? 1 : count == 0 ? 0 : -1;
}

/* 0, or the exit code where not all was written. */
static int write_outputs(uint32_t model, void *const *memory)
{
    const ta_bundle *bundle = ta_program_bundles[model];
    int64_t bytes = 0, count = 0;
    for (uint32_t i = 0; i < bundle->output_count; i++) {
        bytes += (int64_t)bundle->outputs[i].bytes;
        count += ta_write(results, ta_place(bundle, memory, bundle->input_count + i), bundle->outputs[i].bytes);
    }
    return count == bytes ? 0 : 64;
}

static int failed(const char *what, ta_status status)
{
    ta_failed(what, status);
    return (int)status;
}

static int run_model(uint32_t model)
{
    const ta_status status = ta_counted_run(model);
    return status == TA_OK ? 0 : failed("run", status);
}

/* A round of all models, of which the first one's inputs were read. 0, or the exit code. */
static int run_frame(void)
{
    int code = 0;
    ta_clear_profile();
    for (uint32_t part = 0; part < TA_PHASES * TA_PROGRAM_MODELS && code == 0; part++) {
        const ta_turn turn = ta_turn_of(part, TA_PROGRAM_MODELS);
        void *const *memory = ta_program_lent[turn.number];
        if (turn.phase == TA_PHASE_INPUTS)
            code = part == 0u || read_inputs(turn.number, memory) == 1 ? 0 : 64;
        else
            code = turn.phase == TA_PHASE_RUN ? run_model(turn.number) : write_outputs(turn.number, memory);
    }
    return code;
}

/* One frame after the other. 0, -1 where one is cut short, or the exit code. */
static int run_frames(void)
{
    int more;
    while ((more = read_inputs(0, ta_program_lent[0])) == 1) {
        const int code = run_frame();
        if (code != 0)
            return code;
    }
    return more;
}

#ifdef TA_PROGRAM_IN_FLIGHT
static int in_flight;

/* Take all results that are there. 0, or the exit code. */
static int take_results(int *left)
{
    uint32_t frame, step;
    ta_status status;
    while ((status = ta_program_result(&frame, &step)) == TA_OK) {
        --*left;
        if (write_outputs(0, ta_program_flying[frame % TA_PROGRAM_IN_FLIGHT]) != 0)
            return 64;
    }
    if (status == TA_ERROR_BUSY || *left == 0)
        return 0;
    ta_say("frame ");
    ta_say_number((int32_t)frame);
    ta_say(": ");
    ta_program_runtime()->failed_step = step;
    return failed("result", status);
}

/* All frames, as many in flight as there may be. 0, -1 where one is cut short, or the exit code. */
static int stream_frames(void)
{
    int more = read_inputs(0, ta_program_flying[0]), left = 0;
    uint32_t set = 0;
    while (more == 1 || left > 0) {
        ta_status status = more == 1 ? ta_program_submit(set) : TA_ERROR_BUSY;
        const int full = status == TA_ERROR_BUSY;
        int code;
        if (status == TA_OK) {
            left++;
            set = (set + 1u) % TA_PROGRAM_IN_FLIGHT;
            more = read_inputs(0, ta_program_flying[set]);
        } else if (!full)
            return failed("submit", status);
        status = full ? ta_program_wait() : ta_program_poll();
        if (status != TA_OK && status != TA_ERROR_BUSY)
            return failed("frames", status);
        code = take_results(&left);
        if (code != 0)
            return code;
    }
    return more;
}
#endif

static int take_frames(void)
{
#ifdef TA_PROGRAM_IN_FLIGHT
    if (in_flight)
        return stream_frames();
#endif
    return run_frames();
}

static int run_program(void)
{
    int code;
    ta_status status = ta_program_init();
    if (status != TA_OK)
        return failed("init", status);
    frames = ta_open("frames", 0);
    results = ta_open("results", 1);
    if (frames < 0 || results < 0)
        return 64;
    code = take_frames();
    if (code > 0)
        return code;
    status = ta_program_stop();
    if (code < 0 || ta_close(results) != 0 || !ta_write_profile())
        return 64;
    return (int)status;
}

#ifdef TA_PROGRAM_SIMULATES
#include <stdlib.h>
#include <string.h>

#ifdef TA_PROGRAM_IN_FLIGHT
#define ALSO " [--in-flight]"
#else
#define ALSO ""
#endif

/* --lazy: devices do nothing before they are waited for. --jitter SEED: they take random time.
 * --in-flight: frames are submitted while others are at work. 1, or 0 for anything else. */
static int read_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--lazy") == 0)
            TA_PROGRAM_PORT(set_lazy)(1);
        else if (strcmp(argv[i], "--jitter") == 0 && i + 1 < argc)
            TA_PROGRAM_PORT(set_jitter)((uint32_t)strtoul(argv[++i], NULL, 10));
#ifdef TA_PROGRAM_IN_FLIGHT
        else if (strcmp(argv[i], "--in-flight") == 0)
            in_flight = 1;
#endif
        else {
            ta_say("usage: runner [--lazy] [--jitter SEED]" ALSO " < frames > results\n");
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    return read_arguments(argc, argv) ? run_program() : 65;
}
#else
int main(void);
int main(void)
{
    return run_program();
}
#endif
