/* A workload on a board without an operating system: its main loop is the arbiter's, and the outputs of every job have
 * to be those of a run of the model alone. A line for each task: jobs done, longest response, run and step in us. Exit
 * code 0 where all jobs of some time are right, one was preempted, and none was late.
 */
#include <string.h>

#include HEADER
#include INTERNAL

#include "place.h"
#include "workload_move.h"

enum { TASKS = 4, LARGEST = 4096, JOBS = 20 };

static uint8_t ins[TASKS][LARGEST], outs[TASKS][LARGEST], answer[LARGEST];
static uint32_t wrong;

static ta_status begin(void *context, uint32_t task, const ta_job *job)
{
    const ta_bundle *bundle = BUNDLE(_models).bundles[task];
    (void)context;
    (void)job;
    (void)move(bundle, bundle->inputs, bundle->input_count, ins[task], 1);
    return TA_OK;
}

static void end(void *context, uint32_t task, const ta_job *job)
{
    const ta_bundle *bundle = BUNDLE(_models).bundles[task];
    const uint32_t bytes = move(bundle, bundle->outputs, bundle->output_count, answer, 0);
    (void)context;
    if (job->status != TA_OK || memcmp(answer, outs[task], bytes) != 0)
        wrong++;
}

int main(void)
{
    static const ta_workload_hooks hooks = {begin, end, NULL};
    uint32_t sleep_us = 0, preempted = 0;
    place_begin();
    if (BUNDLE(_init)(PORT) != TA_OK)
        return 2;
    for (uint32_t i = 0; i < BUNDLE(_models).count; i++) {
        const ta_bundle *bundle = BUNDLE(_models).bundles[i];
        for (uint32_t k = 0; k < (uint32_t)LARGEST; k++)
            ins[i][k] = (uint8_t)((k + 31u * i) * 2654435761u >> 24);
        (void)move(bundle, bundle->inputs, bundle->input_count, ins[i], 1);
        if (ta_models_run(&BUNDLE(_models), i) != TA_OK)
            return 3;
        (void)move(bundle, bundle->outputs, bundle->output_count, outs[i], 0);
    }
    if (BUNDLE(_workload_start)(&hooks) != TA_OK)
        return 4;
    while (BUNDLE(_workload_counts)(0)->done < (uint32_t)JOBS) {
        if (BUNDLE(_workload_turn)(&sleep_us) != TA_OK)
            return 5;
    }
    for (uint32_t i = 0; i < BUNDLE(_models).count; i++) {
        const ta_task_counts *counts = BUNDLE(_workload_counts)(i);
        ta_mps2_say_number((int32_t)counts->done);
        ta_mps2_say(" ");
        ta_mps2_say_number((int32_t)counts->longest_response_us);
        ta_mps2_say(" ");
        ta_mps2_say_number((int32_t)counts->longest_run_us);
        ta_mps2_say(" ");
        ta_mps2_say_number((int32_t)counts->longest_step_us);
        ta_mps2_say("\n");
        wrong += counts->late + counts->failed + counts->dropped;
        preempted += counts->longest_response_us > counts->longest_run_us;
    }
    if (BUNDLE(_workload_stop)() != TA_OK || BUNDLE(_stop)() != TA_OK)
        return 6;
    place_exit(wrong != 0u ? 1 : preempted != 0u ? 0 : 7);
    return 0;
}
