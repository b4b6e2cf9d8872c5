/* A workload of two models: the inputs of the first are in its range, those of the second are not. */
#include <stdio.h>
#include <string.h>

#include <bundle.h>

static uint32_t asked, jobs[2], argument[2], other;

static ta_status begin(void *context, uint32_t task, const ta_job *job)
{
    (void)context;
    (void)job;
    asked++;
    memset(task == 0u ? m0_input_t0() : m1_input_t0(), task == 0u ? M0_INPUT_T0_LOW : M1_INPUT_T0_LOW - 1, 72);
    return TA_OK;
}

static void end(void *context, uint32_t task, const ta_job *job)
{
    (void)context;
    jobs[task]++;
    if (job->status == TA_ERROR_ARGUMENT)
        argument[task]++;
    else if (job->status != TA_OK)
        other++;
}

int main(void)
{
    const ta_workload_hooks hooks = {begin, end, NULL};
    uint32_t sleep_us;
    if (bundle_init(&ta_port_host) != TA_OK || bundle_workload_start(&hooks) != TA_OK)
        return 1;
    if (bundle_workload_start(NULL) != TA_ERROR_STATE)
        return 2;
    while (jobs[0] == 0u || jobs[1] == 0u)
        if (bundle_workload_turn(&sleep_us) != TA_OK)
            return 3;
    if (bundle_workload_stop() != TA_OK || bundle_stop() != TA_OK || other > 0u || asked < jobs[0] + jobs[1])
        return 4;
    printf("m0: %s\nm1: %s\n", argument[0] == jobs[0] ? "refused" : "run", argument[1] == jobs[1] ? "refused" : "run");
    return 0;
}
