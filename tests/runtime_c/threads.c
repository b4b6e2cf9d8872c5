/* Two threads that run one runtime, which is forbidden: at any time one of them runs, the other is refused. */
#include <pthread.h>
#include <stdio.h>

#include "conformance/conformance.h"
#include "ports/host/host.h"

enum { RUNS = 2000 };

ta_runtime rt;
static workload w;
static uint32_t kernels; /* touched by whoever runs: a race, if two do */

const char *failed(const char *condition)
{
    return condition;
}

static ta_status counting_kernel(void *const *operands)
{
    kernels++;
    return conformance_add(operands);
}

static void *run_often(void *counts)
{
    uint32_t *statuses = counts; /* TA_OK, TA_ERROR_STATE, others */
    while (statuses[0] < RUNS) {
        const ta_status status = ta_run(&rt);
        statuses[status == TA_OK ? 0 : status == TA_ERROR_STATE ? 1 : 2]++;
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    uint32_t here[3] = {0}, there[3] = {0};
    under_test.set_mode(under_test.modes[0]);
    begin(&w);
    const uint32_t call = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    w.kernels[w.steps[call].index].function = counting_kernel;
    fill(0, 128, 3);
    if (ta_init(&rt, &w.bundle, &conformance_soc, &ta_port_host) != TA_OK)
        return 2;
    if (pthread_create(&thread, NULL, run_often, there) != 0)
        return 2;
    (void)run_often(here);
    if (pthread_join(thread, NULL) != 0 || ta_stop(&rt) != TA_OK)
        return 2;
    printf("%u runs, %u kernels, %u other answers\n", (unsigned)(here[0] + there[0]), (unsigned)kernels,
           (unsigned)(here[2] + there[2]));
    return here[0] + there[0] != kernels || here[2] + there[2] != 0;
}
