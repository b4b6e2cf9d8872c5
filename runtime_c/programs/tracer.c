/* Runs the one model of a bundle step by step on a port of this computer, and shows the tensors on the way where that
 * is the host port. It is no part of the bundle. Each step is a run of its own of the same tables, so nothing overlaps:
 * its time is its own, and the bytes that it leaves can be read, and replaced, before the next one begins.
 *
 * Arguments: the number of frames, then --replace, --orders or nothing. Standard input has the inputs of a frame, then,
 * with --replace, the bytes that replace those of probes that are `replaced`, in the order of the probes. Standard
 * output gets the bytes of each probe that is `observed`, in that order, then the outputs, then the nanoseconds of each
 * step as uint64. With --orders each frame is run three times, there are no probes, and three more such tables follow
 * with what asynchronous steps take of the host: to start each in a whole run, to start it alone, and to see that it is
 * over when it has been so for a while. Returns the ta_status; 64 without memory or where results cannot be written, 65
 * for bad arguments.
 *
 * `trace_table.h` is written beside this file. It includes the header of the bundle, and defines PROBES and STEPS, how
 * many there are; PORT, the port; BYTE(where), the address of a ta_ref, or NULL on a port that shows none; TRACED(name),
 * the function of the bundle with that name; and `probes`, in the order of their steps.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "target_arch/runtime.h"

/* `bytes` of a tensor, complete after `step`: `skip` bytes before the operand, or before the target of the copy. */
typedef struct probe {
    uint32_t step;
    uint32_t operand;
    int32_t skip;
    uint32_t bytes;
    uint32_t observed;
    uint32_t replaced;
} probe;

#include "trace_table.h"

static uint64_t times[STEPS], in_run[STEPS], alone[STEPS], ends[STEPS];
static int replacing, ordering;

static uint8_t *place(const ta_bundle *bundle, const probe *at)
{
    const ta_step *step = &bundle->steps[at->step];
    ta_ref where = step->kind == TA_STEP_COPY ? bundle->copies[step->index].target
                                              : bundle->dispatches[step->index].refs[at->operand];
    where.offset = (uint32_t)((int64_t)where.offset - at->skip);
    return BYTE(where);
}

static int look(const ta_bundle *bundle, const probe *at)
{
    uint8_t *bytes = place(bundle, at);
    if (bytes == NULL)
        return 0;
    if (at->observed && fwrite(bytes, 1, at->bytes, stdout) != at->bytes)
        return 0;
    return !replacing || !at->replaced || fread(bytes, 1, at->bytes, stdin) == at->bytes;
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum { PATIENCE = 3 }; /* times what a step takes, after which it is surely over */

/* The hook of a run that is timed: `at` gets the nanoseconds of the host for each step. After the last one, before the
 * runtime settles what is in flight, it stands still for `pause`, so that all of that is over and only to be seen. */
static struct timed {
    ta_watch watch;
    void *context;
    uint64_t *at;
    uint64_t pause;
    uint64_t last;
    uint32_t steps;
} timed;

static ta_status note(void *unused, uint32_t step)
{
    const uint64_t reached = nanoseconds();
    const ta_status status = timed.watch == NULL ? TA_OK : timed.watch(timed.context, step);
    (void)unused;
    if (step > 0)
        timed.at[step - 1u] = reached - timed.last;
    if (step == timed.steps)
        while (nanoseconds() - reached < timed.pause)
            ;
    timed.last = nanoseconds();
    return status;
}

/* A run that is timed. Returns what it took after the last hook: to settle what was in flight. */
static ta_status run_timed(ta_runtime *runtime, uint64_t *at, uint64_t pause, uint64_t *settling)
{
    ta_status status;
    timed = (struct timed){runtime->watch, runtime->watch_context, at, pause, 0, runtime->bundle->step_count};
    runtime->watch = note;
    status = ta_run(runtime);
    *settling = nanoseconds() - timed.last;
    runtime->watch = timed.watch;
    return status;
}

/* What a run without a step takes, with reading the clock: the least of some. No step's time has it. */
static uint64_t idle;

static void measure_idle(ta_runtime *runtime, const ta_bundle *whole)
{
    enum { RUNS = 64 };
    ta_bundle none = *whole;
    int i;
    none.step_count = 0;
    runtime->bundle = &none;
    for (i = 0; i < RUNS; i++) {
        const uint64_t since = nanoseconds();
        const ta_status status = ta_run(runtime);
        const uint64_t taken = nanoseconds() - since;
        if (status == TA_OK && (i == 0 || taken < idle))
            idle = taken;
    }
    runtime->bundle = whole;
}

/* One step as a run of its own: when it returns, nothing is in flight. */
static ta_status run_step(ta_runtime *runtime, const ta_bundle *whole, uint32_t number, int delayed)
{
    ta_bundle part = *whole;
    ta_step step = whole->steps[number];
    ta_status status;
    if (step.kind == TA_STEP_LOAD || step.kind == TA_STEP_FILL || step.kind == TA_STEP_WAIT)
        return TA_OK;
    step.event.value = 1;
    part.steps = &step;
    part.step_count = 1;
    runtime->bundle = &part;
    status = delayed ? run_timed(runtime, &alone[number], PATIENCE * times[number], &ends[number]) : ta_run(runtime);
    runtime->bundle = whole;
    return status;
}

static ta_status failed(uint32_t step, ta_status status)
{
    fprintf(stderr, "run: step %lu: %s\n", (unsigned long)step, ta_status_name(status));
    return status;
}

static ta_status run_frame(ta_runtime *runtime, const ta_bundle *bundle)
{
    const probe *at = probes;
    uint32_t step;
    for (step = 0; step < bundle->step_count; step++) {
        const uint64_t since = nanoseconds();
        const ta_status status = run_step(runtime, bundle, step, 0);
        const uint64_t taken = nanoseconds() - since;
        times[step] = taken > idle ? taken - idle : 1u;
        if (status != TA_OK)
            return failed(step, status);
        for (; at < probes + PROBES && at->step == step; at++)
            if (!look(bundle, at))
                return TA_ERROR_ARGUMENT;
    }
    return TA_OK;
}

/* The frame twice more, for what it takes of the host: as a whole, then each asynchronous step alone. Inputs may have
 * been overwritten: results mean nothing. */
static ta_status run_for_host(ta_runtime *runtime, const ta_bundle *bundle)
{
    uint64_t settling;
    uint32_t step;
    ta_status status = run_timed(runtime, in_run, 0, &settling);
    if (status != TA_OK)
        return failed(runtime->failed_step, status);
    for (step = 0; step < bundle->step_count; step++) {
        if (bundle->steps[step].event.timeline != TA_TIMELINE_NONE)
            status = run_step(runtime, bundle, step, 1);
        if (status != TA_OK)
            return failed(step, status);
    }
    return TA_OK;
}

static size_t transfer(const ta_bundle *bundle, int writes)
{
    const uint32_t count = writes ? bundle->output_count : bundle->input_count;
    size_t moved = 0;
    uint32_t i;
    for (i = 0; i < count; i++) {
        const ta_tensor *tensor = writes ? &bundle->outputs[i] : &bundle->inputs[i];
        void *at = ta_pointer(bundle, tensor->where);
        moved += writes ? fwrite(at, 1, tensor->bytes, stdout) : fread(at, 1, tensor->bytes, stdin);
    }
    return moved;
}

/* Memory of this program, for as long as it runs, where inputs and outputs are the caller's. */
static int lend(const ta_bundle *bundle)
{
    uint32_t i;
    for (i = 0; i < bundle->arena_count; i++) {
        const ta_arena *arena = &bundle->arenas[i];
        if (arena->lent != NULL) {
            const size_t line = arena->lent->alignment;
            const uintptr_t at = (uintptr_t)malloc(arena->bytes + line);
            if (at == 0)
                return 0;
            *arena->lent->start = (const void *)((at + line - 1) / line * line);
        }
    }
    return 1;
}

static ta_status run_frames(ta_runtime *runtime, const ta_bundle *bundle, unsigned long count)
{
    ta_status status = TA_OK;
    while (count-- > 0 && status == TA_OK) {
        (void)transfer(bundle, 0);
        status = run_frame(runtime, bundle);
        if (status == TA_OK) {
            (void)transfer(bundle, 1);
            (void)fwrite(times, sizeof times[0], bundle->step_count, stdout);
        }
        if (status == TA_OK && ordering) {
            status = run_for_host(runtime, bundle);
            (void)fwrite(in_run, sizeof in_run[0], bundle->step_count, stdout);
            (void)fwrite(alone, sizeof alone[0], bundle->step_count, stdout);
            (void)fwrite(ends, sizeof ends[0], bundle->step_count, stdout);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    unsigned long frames = 0;
    ta_status status;
    ta_runtime *runtime = TRACED(runtime)();
    if (argc < 2 || sscanf(argv[1], "%lu", &frames) != 1)
        return 65;
    replacing = argc > 2 && strcmp(argv[2], "--replace") == 0;
    ordering = argc > 2 && strcmp(argv[2], "--orders") == 0;
    status = TRACED(init)(&PORT);
    if (status != TA_OK) {
        fprintf(stderr, "init: step %ld: %s\n", (long)(int32_t)runtime->failed_step, ta_status_name(status));
        return (int)status;
    }
    if (!lend(runtime->bundle))
        return 64;
    measure_idle(runtime, runtime->bundle);
    status = run_frames(runtime, runtime->bundle, frames);
    (void)TRACED(stop)();
    return fflush(stdout) != 0 ? 64 : (int)status;
}
