/* What an arbiter answers where something goes wrong: two periodic models and one on demand, whose jobs are compared.
 * Prints the number of failures. */
#include <stdio.h>
#include <string.h>

#include <bundle.h>
#include <zynq_edge_soc.h>

#include "ports/host/host.h"
#include "src/bundle_internal.h"
#include "workload_move.h"

#define CHECK(condition)                                           \
    do {                                                           \
        if (!(condition)) {                                        \
            printf("line %d: %s\n", __LINE__, #condition);         \
            return 0;                                              \
        }                                                          \
    } while (0)

enum { TASKS = 3, LARGEST = 4096, ASKED = 2 };

static uint8_t ins[LARGEST], right[LARGEST], answer[LARGEST];
static uint32_t wrong, begun, refused, slow_us;
static ta_job failed;

static uint64_t now(void)
{
    uint64_t time = 0;
    (void)ta_port_host.now_us(&ta_port_host, &time);
    return time;
}

static ta_status begin(void *context, uint32_t task, const ta_job *job)
{
    const ta_bundle *bundle = bundle_models.bundles[task];
    (void)context;
    (void)job;
    begun++;
    for (const uint64_t until = now() + slow_us; now() < until;)
        ;
    (void)move(bundle, bundle->inputs, bundle->input_count, ins, 1);
    return begun == refused ? TA_ERROR_UNSUPPORTED : TA_OK;
}

static void end(void *context, uint32_t task, const ta_job *job)
{
    const ta_bundle *bundle = bundle_models.bundles[task];
    (void)context;
    if (job->status != TA_OK)
        failed = *job;
    else if (memcmp(answer, right, move(bundle, bundle->outputs, bundle->output_count, answer, 0)) != 0)
        wrong++;
}

static int start(void)
{
    static const ta_workload_hooks hooks = {begin, end, NULL};
    const ta_job none = {0};
    wrong = begun = refused = slow_us = 0;
    failed = none;
    CHECK(bundle_init(&ta_port_host) == TA_OK);
    CHECK(bundle_workload_request(ASKED) == TA_ERROR_STATE);
    for (uint32_t i = 0; i < LARGEST; i++)
        ins[i] = (uint8_t)(i * 2654435761u >> 24);
    const ta_bundle *bundle = bundle_models.bundles[0];
    (void)move(bundle, bundle->inputs, bundle->input_count, ins, 1);
    CHECK(ta_models_run(&bundle_models, 0) == TA_OK);
    (void)move(bundle, bundle->outputs, bundle->output_count, right, 0);
    return bundle_workload_start(&hooks) == TA_OK;
}

static int stop(void)
{
    return bundle_workload_stop() == TA_OK && bundle_stop() == TA_OK;
}

/* So many jobs of the first task come to an end. */
static int go_on(uint32_t jobs)
{
    uint32_t sleep_us;
    const ta_task_counts *counts = bundle_workload_counts(0);
    while (counts->done + counts->failed < jobs)
        CHECK(bundle_workload_turn(&sleep_us) == TA_OK);
    return 1;
}

static uint32_t sum_of(const char *what)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < TASKS; i++) {
        const ta_task_counts *counts = bundle_workload_counts(i);
        sum += strcmp(what, "failed") == 0 ? counts->failed : strcmp(what, "late") == 0 ? counts->late : counts->dropped;
    }
    return sum;
}

static int one_fails(void)
{
    const uint32_t timelines[] = {ZYNQ_EDGE_TIMELINE_DSP_CPU, ZYNQ_EDGE_TIMELINE_FPGA_CONV2D, ZYNQ_EDGE_TIMELINE_AXI_DMA_0};
    for (uint32_t t = 0; t < 3; t++) {
        const ta_status status = t == 2 ? TA_ERROR_DMA : TA_ERROR_DEVICE;
        CHECK(start());
        ta_host_fail(timelines[t], 29, status);
        CHECK(go_on(60));
        CHECK(sum_of("failed") == 1 && failed.status == status && failed.failed_step != TA_NO_STEP && wrong == 0);
        CHECK(stop());
    }
    return 1;
}

static int never_completes(void)
{
    uint32_t sleep_us;
    ta_status status = TA_OK;
    CHECK(start());
    bundle_runtime()->timeout_us = 100000;
    ta_host_fail(ZYNQ_EDGE_TIMELINE_DSP_CPU, 9, TA_ERROR_TIMEOUT);
    while (status == TA_OK)
        status = bundle_workload_turn(&sleep_us);
    CHECK(status == TA_ERROR_TIMEOUT && failed.status == TA_ERROR_TIMEOUT && failed.failed_step != TA_NO_STEP);
    CHECK(bundle_workload_turn(&sleep_us) == TA_ERROR_TIMEOUT);
    (void)bundle_workload_stop();
    CHECK(ta_models_run(&bundle_models, 0) == TA_ERROR_STATE);
    (void)bundle_stop();
    CHECK(start() && go_on(5) && wrong == 0);
    return stop();
}

static int begin_refuses(void)
{
    CHECK(start());
    refused = 3;
    CHECK(go_on(20));
    CHECK(sum_of("failed") == 1 && failed.status == TA_ERROR_UNSUPPORTED && failed.failed_step == TA_NO_STEP);
    CHECK(wrong == 0);
    return stop();
}

static int overload(void)
{
    CHECK(start());
    slow_us = 20000; /* longer than every period */
    CHECK(go_on(10));
    CHECK(sum_of("dropped") > 5 && sum_of("late") > 5 && sum_of("failed") == 0 && wrong == 0);
    CHECK(bundle_workload_counts(0)->longest_response_us >= 20000);
    return stop();
}

static int calls(void)
{
    uint32_t sleep_us;
    CHECK(bundle_workload_turn(&sleep_us) == TA_ERROR_STATE);
    CHECK(bundle_workload_turn(NULL) == TA_ERROR_ARGUMENT);
    CHECK(bundle_workload_stop() == TA_OK);
    CHECK(start());
    CHECK(bundle_workload_start(NULL) == TA_ERROR_STATE);
    CHECK(ta_models_run(&bundle_models, 0) == TA_ERROR_STATE && bundle_stop() == TA_ERROR_STATE);
    CHECK(bundle_workload_request(0) == TA_ERROR_ARGUMENT && bundle_workload_request(TASKS) == TA_ERROR_ARGUMENT);
    CHECK(bundle_workload_counts(TASKS) == NULL);
    for (uint32_t i = 0; i < TA_MOST_JOBS; i++)
        CHECK(bundle_workload_request(ASKED) == TA_OK);
    CHECK(bundle_workload_request(ASKED) == TA_ERROR_BUSY);
    CHECK(go_on(30));
    CHECK(bundle_workload_counts(ASKED)->released == TA_MOST_JOBS && wrong == 0);
    return stop();
}

/* Stop in the middle of a job, with steps in flight; then models run alone, and jobs again. */
static int stop_early(void)
{
    uint32_t sleep_us;
    for (uint32_t turns = 1; turns < 30; turns++) {
        CHECK(start());
        for (uint32_t i = 0; i < turns; i++)
            CHECK(bundle_workload_turn(&sleep_us) == TA_OK);
        CHECK(bundle_workload_stop() == TA_OK);
        CHECK(ta_models_run(&bundle_models, 0) == TA_OK);
        CHECK(bundle_stop() == TA_OK);
    }
    return 1;
}

int main(void)
{
    int failures = 0;
    failures += !one_fails();
    failures += !never_completes();
    failures += !begin_refuses();
    failures += !overload();
    failures += !calls();
    failures += !stop_early();
    ta_host_set_counters(0xfffffff0u);
    failures += !(start() && go_on(20) && wrong == 0 && stop());
    printf("%d failures\n", failures);
    return failures;
}
