/* Runs a small bundle on the host port, again and again, while random faults happen: `soak RUNS SEED`.
 *
 * One run in fifty suffers: a transfer fails, a core fails, or a transfer never ends. It has to be told, with the step; the
 * next run has to be right. Ten times prints how many runs there were, how many faults of each kind, and what the
 * process holds: KiB of memory and file descriptors. Exit code 1 where anything was not as it has to be.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>

#include "conformance/conformance.h"
#include "ports/host/host.h"
#include "soaking.h"

enum { ONE_IN = 50, KINDS = 4, SHORT_US = 2000, LONG_US = 60000000 };

ta_runtime rt;
static workload w;
static uint32_t faults[KINDS];

const char *failed(const char *condition)
{
    return condition;
}

static void build(uint32_t *steps)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    steps[0] = add_copy(&w, CHANNEL_0, sram(0), tcm(0), 128);
    (void)add_wait(&w, CHANNEL_0);
    steps[1] = add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(128));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_DSP));
    (void)add_copy(&w, CHANNEL_0, tcm(128), sram(1024), 64);
    (void)add_wait(&w, CHANNEL_0);
}

static int start(void)
{
    const int started = ta_init(&rt, &w.bundle, &conformance_soc, &ta_port_host) == TA_OK;
    rt.timeout_us = LONG_US;
    return started;
}

/* A run with a fault, and what has to come of it. */
static int suffer(const uint32_t *steps)
{
    const uint32_t kind = next() % KINDS;
    const uint32_t core = kind == 1;
    const ta_status status = kind == 0 ? TA_ERROR_DMA : kind == 1 ? TA_ERROR_DEVICE : TA_ERROR_TIMEOUT;
    faults[kind]++;
    if (kind == 3)
        ta_host_lose(CHANNEL_0, 0);
    else
        ta_host_fail(core ? TIMELINE_OF(INSTANCE_DSP) : CHANNEL_0, 0, status);
    if (status == TA_ERROR_TIMEOUT)
        rt.timeout_us = SHORT_US;
    if (ta_run(&rt) != status || rt.failed_step != steps[core])
        return 0;
    rt.timeout_us = LONG_US;
    return status != TA_ERROR_TIMEOUT || (ta_stop(&rt) == TA_OK && start());
}

static int right(uint32_t seed)
{
    fill(0, 128, seed);
    return ta_run(&rt) == TA_OK && is_sum(0, 64, 1024, ADD_BYTES);
}

int main(int argc, char **argv)
{
    uint32_t steps[2], wrong = 0;
    if (argc != 3)
        return 2;
    const uint32_t runs = (uint32_t)strtoul(argv[1], NULL, 0);
    state = (uint32_t)strtoul(argv[2], NULL, 0) | 1u;
    under_test.set_mode("eager"); /* gives the port its simulation, without which it does not open */
    build(steps);
    if (!start())
        return 1;
    for (uint32_t i = 1; i <= runs; i++) {
        wrong += next() % ONE_IN == 0 ? !suffer(steps) : !right(i);
        if (i % (runs / 10u != 0 ? runs / 10u : 1u) == 0) {
            printf("%u runs, %u wrong, %u failed transfers, %u failed calls, %u endless and %u unheard transfers, "
                   "%lu KiB, %u descriptors\n",
                   (unsigned)i, (unsigned)wrong, (unsigned)faults[0], (unsigned)faults[1], (unsigned)faults[2],
                   (unsigned)faults[3], resident_kib(), descriptors());
            (void)fflush(stdout);
        }
    }
    return ta_stop(&rt) != TA_OK || wrong != 0;
}
