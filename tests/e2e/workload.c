/* Runs the workload of a bundle, and compares the outputs of every job with a run of its model alone.
 *
 * Arguments: seconds; `demand` requests jobs of all tasks on demand from a second thread, `threads` runs the arbiter in
 * a thread of its own. A line for each task: its counts and longest times. Exit code 1 where outputs differ or jobs
 * come in another order than they were due. Compile with BUNDLE(name), which joins the bundle's name and another.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include HEADER
#include INTERNAL

#include "workload_move.h"

enum { TASKS = 16, VECTORS = 3, LARGEST = 1 << 16 };

static uint8_t ins[TASKS][VECTORS][LARGEST], outs[TASKS][VECTORS][LARGEST];
static uint32_t vectors[TASKS], ended[TASKS], wrong, disordered;
static uint64_t last_due[TASKS];
static int stopping;

static ta_status begin(void *context, uint32_t task, const ta_job *job)
{
    const ta_bundle *bundle = BUNDLE(_models).bundles[task];
    (void)context;
    vectors[task] = job->number % VECTORS;
    (void)move(bundle, bundle->inputs, bundle->input_count, ins[task][vectors[task]], 1);
    return TA_OK;
}

static void end(void *context, uint32_t task, const ta_job *job)
{
    static uint8_t answer[LARGEST];
    const ta_bundle *bundle = BUNDLE(_models).bundles[task];
    const uint32_t bytes = move(bundle, bundle->outputs, bundle->output_count, answer, 0);
    (void)context;
    if (job->status != TA_OK || memcmp(answer, outs[task][vectors[task]], bytes) != 0)
        wrong++;
    if (ended[task]++ > 0u && job->due_us <= last_due[task])
        disordered++;
    last_due[task] = job->due_us;
}

static void nap(uint32_t us)
{
    const struct timespec time = {us / 1000000u, (long)(us % 1000000u) * 1000};
    (void)nanosleep(&time, NULL);
}

static uint64_t now(void)
{
    uint64_t time = 0;
    (void)ta_port_host.now_us(&ta_port_host, &time);
    return time;
}

static int stopped(void)
{
    return __atomic_load_n(&stopping, __ATOMIC_ACQUIRE);
}

static void *arbitrate(void *unused)
{
    uint32_t sleep_us;
    (void)unused;
    while (!stopped()) {
        if (BUNDLE(_workload_turn)(&sleep_us) != TA_OK)
            exit(3);
        if (sleep_us > 0u)
            nap(sleep_us < 500u ? sleep_us : 500u);
    }
    return NULL;
}

static void *request(void *unused)
{
    (void)unused;
    while (!stopped()) {
        for (uint32_t i = 0; i < BUNDLE(_models).count; i++)
            (void)BUNDLE(_workload_request)(i);
        nap(3000);
    }
    return NULL;
}

static void alone(uint32_t task, uint32_t vector)
{
    const ta_bundle *bundle = BUNDLE(_models).bundles[task];
    for (uint32_t i = 0; i < LARGEST; i++)
        ins[task][vector][i] = (uint8_t)(rand() >> 7);
    (void)move(bundle, bundle->inputs, bundle->input_count, ins[task][vector], 1);
    if (ta_models_run(&BUNDLE(_models), task) != TA_OK)
        exit(4);
    (void)move(bundle, bundle->outputs, bundle->output_count, outs[task][vector], 0);
}

int main(int argc, char **argv)
{
    const ta_workload_hooks hooks = {begin, end, NULL};
    const double seconds = argc > 1 ? atof(argv[1]) : 1.0;
    const int demand = argc > 2 && strstr(argv[2], "demand") != NULL, own = argc > 2 && strstr(argv[2], "threads");
    pthread_t arbiter, source;
    if (BUNDLE(_init)(&ta_port_host) != TA_OK)
        return 2;
    for (uint32_t i = 0; i < BUNDLE(_models).count; i++)
        for (uint32_t k = 0; k < VECTORS; k++)
            alone(i, k);
    if (BUNDLE(_workload_start)(&hooks) != TA_OK)
        return 5;
    if (ta_models_run(&BUNDLE(_models), 0) != TA_ERROR_STATE)
        return 6;
    if (demand && pthread_create(&source, NULL, request, NULL) != 0)
        return 7;
    if (own && pthread_create(&arbiter, NULL, arbitrate, NULL) != 0)
        return 7;
    const uint64_t until = now() + (uint64_t)(seconds * 1e6);
    for (int over = 0; !over;) { /* the last turn sees all that was due until then, however late it comes */
        uint32_t sleep_us = 1000;
        over = now() >= until;
        if (!own && BUNDLE(_workload_turn)(&sleep_us) != TA_OK)
            return 3;
        if (sleep_us > 0u && !over)
            nap(sleep_us < 500u ? sleep_us : 500u);
    }
    __atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
    if (demand)
        (void)pthread_join(source, NULL);
    if (own)
        (void)pthread_join(arbiter, NULL);
    for (uint32_t i = 0; i < BUNDLE(_models).count; i++) {
        const ta_task_counts *c = BUNDLE(_workload_counts)(i);
        printf("%u %u %u %u %u %u %u %u %u\n", (unsigned)i, (unsigned)c->released, (unsigned)c->done,
               (unsigned)c->late, (unsigned)c->dropped, (unsigned)c->failed, (unsigned)c->longest_response_us,
               (unsigned)c->longest_run_us, (unsigned)c->longest_step_us);
    }
    if (BUNDLE(_workload_stop)() != TA_OK || BUNDLE(_stop)() != TA_OK)
        return 8;
    if (wrong || disordered)
        fprintf(stderr, "%u wrong, %u out of order\n", (unsigned)wrong, (unsigned)disordered);
    return wrong || disordered ? 1 : 0;
}
